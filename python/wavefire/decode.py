"""Attention of one new token per request over its KV cache (FlashInfer's ``flashinfer.decode``)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ._attention import Batch, kv_layout_is_hnd, single, split_paged_cache
from ._hints import require_backend, require_neutral
from ._tensors import dtype_name, host_int32

_POSITIONAL = (
    "pos_encoding_mode", "window_left", "logits_soft_cap", "q_data_type", "kv_data_type",
    "o_data_type", "data_type", "sm_scale", "rope_scale", "rope_theta", "non_blocking",
    "block_tables", "seq_lens", "fixed_split_size", "disable_split_kv", "q_len_per_req",
)  # fmt: skip


def single_decode_with_kv_cache(
    q: Any,
    k: Any,
    v: Any,
    kv_layout: str = "NHD",
    pos_encoding_mode: str = "NONE",
    use_tensor_cores: bool = False,
    q_scale: float | None = None,
    k_scale: float | None = None,
    v_scale: float | None = None,
    window_left: int = -1,
    logits_soft_cap: float | None = None,
    sm_scale: float | None = None,
    rope_scale: float | None = None,
    rope_theta: float | None = None,
    return_lse: bool = False,
) -> Any:
    """One query token ``q [num_qo_heads, head_dim]`` over ``k, v [kv_len, num_kv_heads,
    head_dim]``.

    Returns ``out`` like ``q``, and with ``return_lse`` the base-2 log-sum-exp ``[num_qo_heads]`` in
    float32. HND: ``k, v [num_kv_heads, kv_len, head_dim]``.
    """
    result = single(
        "single_decode_with_kv_cache", q[None], k, v,
        kv_layout=kv_layout, return_lse=return_lse, scales=(q_scale, k_scale, v_scale),
        pos_encoding_mode=pos_encoding_mode, window_left=window_left,
        logits_soft_cap=logits_soft_cap, sm_scale=sm_scale, rope_scale=rope_scale,
        rope_theta=rope_theta,
    )  # fmt: skip
    return (result[0][0], result[1][0]) if return_lse else result[0]


class BatchDecodeWithPagedKVCacheWrapper:
    """Decode attention over a paged KV cache: plan once for a batch, run once a layer.

    The workspace buffer is optional and may have any size. With ``use_cuda_graph`` the index
    buffers are kept up to date and the batch size is fixed.
    """

    _operation = "BatchDecodeWithPagedKVCacheWrapper"

    def __init__(
        self,
        float_workspace_buffer: Any = None,
        kv_layout: str = "NHD",
        use_cuda_graph: bool = False,
        use_tensor_cores: bool = False,
        paged_kv_indptr_buffer: Any = None,
        paged_kv_indices_buffer: Any = None,
        paged_kv_last_page_len_buffer: Any = None,
        backend: str = "auto",
        jit_args: list[Any] | None = None,
    ) -> None:
        require_neutral(self._operation, jit_args=jit_args)
        self._backend = require_backend(self._operation, backend)
        self._hnd = kv_layout_is_hnd(kv_layout)
        self._kv_layout = kv_layout
        self._float_workspace_buffer = float_workspace_buffer
        self._int_workspace_buffer: Any = None
        self._use_tensor_cores = use_tensor_cores
        self._use_cuda_graph = use_cuda_graph
        self._batch = Batch()
        buffers = {
            "paged_kv_indptr_buffer": paged_kv_indptr_buffer,
            "paged_kv_indices_buffer": paged_kv_indices_buffer,
            "paged_kv_last_page_len_buffer": paged_kv_last_page_len_buffer,
        }
        self._fixed_batch_size = 0
        if use_cuda_graph:
            for name, buffer in buffers.items():
                if buffer is None:
                    raise ValueError(f"{name} should be a torch.Tensor in cudagraph mode")
            self._fixed_batch_size = len(paged_kv_last_page_len_buffer)
            if len(paged_kv_indptr_buffer) != self._fixed_batch_size + 1:
                raise ValueError(
                    f"{self._operation}: 'paged_kv_indptr_buffer' has "
                    f"{len(paged_kv_indptr_buffer)} "
                    f"entries; accepted: batch_size + 1 = {self._fixed_batch_size + 1}"
                )
        self._paged_kv_indptr_buf = paged_kv_indptr_buffer
        self._paged_kv_indices_buf = paged_kv_indices_buffer
        self._paged_kv_last_page_len_buf = paged_kv_last_page_len_buffer

    @property
    def use_tensor_cores(self) -> bool:
        return self._use_tensor_cores

    @property
    def is_cuda_graph_enabled(self) -> bool:
        return self._use_cuda_graph

    @property
    def backend(self) -> str:
        """The backend that runs: the portable kernels."""
        return "native" if self._backend == "auto" else self._backend

    def reset_workspace_buffer(
        self, float_workspace_buffer: Any, int_workspace_buffer: Any
    ) -> None:
        """Takes other buffers; they are not needed."""
        self._float_workspace_buffer = float_workspace_buffer
        self._int_workspace_buffer = int_workspace_buffer

    def _store_tables(self, indptr: Any, indices: Any, last_page_len: Any) -> None:
        if not self._use_cuda_graph:
            self._paged_kv_indptr_buf = indptr
            self._paged_kv_indices_buf = indices
            self._paged_kv_last_page_len_buf = last_page_len
            return
        if len(last_page_len) != self._fixed_batch_size:
            raise ValueError(
                "The batch size should be fixed in cudagraph mode, the runtime batch size "
                f"{len(last_page_len)} mismatches the batch size set during initialization "
                f"{self._fixed_batch_size}"
            )
        if len(indices) > len(self._paged_kv_indices_buf):
            raise ValueError(
                f"{self._operation}: {len(indices)} page indices; accepted: up to "
                f"{len(self._paged_kv_indices_buf)}, the size of paged_kv_indices_buffer"
            )
        self._paged_kv_indptr_buf[:] = indptr
        self._paged_kv_indices_buf[: len(indices)] = indices
        self._paged_kv_last_page_len_buf[:] = last_page_len

    def plan(
        self,
        indptr: Any,
        indices: Any,
        last_page_len: Any,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim: int,
        page_size: int,
        *deprecated_positional_args: Any,
        **kwargs: Any,
    ) -> None:
        """Plans for requests with page tables ``indices[indptr[b] : indptr[b + 1]]``.

        ``indptr [batch + 1]``, ``indices``, ``last_page_len [batch]``: int32. Keywords, in the
        order in which they may be positional too: ``pos_encoding_mode="NONE"``, ``window_left=-1``,
        ``logits_soft_cap=None``, ``q_data_type="float16"``, ``kv_data_type=None``,
        ``o_data_type=None``, ``data_type=None``, ``sm_scale=None``, ``rope_scale=None``,
        ``rope_theta=None``, ``non_blocking``, ``block_tables``, ``seq_lens``,
        ``fixed_split_size=None`` (pages), ``disable_split_kv=False``, ``q_len_per_req=1``.
        """
        if len(deprecated_positional_args) > len(_POSITIONAL):
            raise TypeError(f"plan() takes at most {7 + len(_POSITIONAL)} positional arguments")
        for name, value in zip(_POSITIONAL, deprecated_positional_args, strict=False):
            if name in kwargs:
                raise TypeError(f"plan() got multiple values for argument '{name}'")
            kwargs[name] = value
        self._plan(
            indptr,
            indices,
            last_page_len,
            num_qo_heads,
            num_kv_heads,
            head_dim,
            page_size,
            **kwargs,
        )

    def _plan(
        self,
        indptr: Any,
        indices: Any,
        last_page_len: Any,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim: int,
        page_size: int,
        pos_encoding_mode: str = "NONE",
        window_left: int = -1,
        logits_soft_cap: float | None = None,
        q_data_type: object = "float16",
        kv_data_type: object = None,
        o_data_type: object = None,
        data_type: object = None,
        sm_scale: float | None = None,
        rope_scale: float | None = None,
        rope_theta: float | None = None,
        non_blocking: bool = True,
        block_tables: Any = None,
        seq_lens: Any = None,
        fixed_split_size: int | None = None,
        disable_split_kv: bool = False,
        q_len_per_req: int = 1,
        window_right: int = 0,
    ) -> None:
        require_neutral(self._operation, window_right=window_right)
        if data_type is not None:
            q_data_type = data_type
            kv_data_type = data_type if kv_data_type is None else kv_data_type
        indptr_host = host_int32(self._operation, "indptr", indptr)
        indices_host = host_int32(self._operation, "indices", indices)
        last_host = host_int32(self._operation, "last_page_len", last_page_len)
        if q_len_per_req < 1:
            raise ValueError(
                f"{self._operation}: 'q_len_per_req' is {q_len_per_req}; accepted: 1 or more"
            )
        batch_size = len(last_host)
        self._store_tables(indptr, indices, last_page_len)
        self._batch.plan(
            qo_indptr=np.arange(batch_size + 1, dtype=np.int32) * np.int32(q_len_per_req),
            kv_indptr=indptr_host,
            kv_indices=indices_host,
            kv_last_page_len=last_host,
            page_size=page_size,
            num_qo_heads=num_qo_heads,
            num_kv_heads=num_kv_heads,
            head_dim_qk=head_dim,
            hnd=self._hnd,
            causal=q_len_per_req > 1,
            pos_encoding_mode=pos_encoding_mode,
            window_left=window_left,
            logits_soft_cap=logits_soft_cap,
            sm_scale=sm_scale,
            rope_scale=rope_scale,
            rope_theta=rope_theta,
            q_dtype=q_data_type,
            kv_dtype=kv_data_type,
            o_dtype=o_data_type,
            fixed_split_kv=0 if fixed_split_size is None else fixed_split_size * page_size,
            allow_split=not disable_split_kv,
        )
        self._q_len_per_req = q_len_per_req
        self._batch_size = batch_size
        self._cached_q_data_type = dtype_name(q_data_type)
        self._cached_kv_data_type = dtype_name(
            q_data_type if kv_data_type is None else kv_data_type
        )
        self._num_qo_heads, self._num_kv_heads = num_qo_heads, num_kv_heads
        self._page_size = page_size
        self._window_left = window_left
        self._sm_scale, self._logits_soft_cap = sm_scale, logits_soft_cap
        self._pos_encoding_mode = pos_encoding_mode
        self._rope_scale, self._rope_theta = rope_scale, rope_theta
        self._plan_arguments = (
            indptr,
            indices,
            last_page_len,
            num_qo_heads,
            num_kv_heads,
            head_dim,
            page_size,
        )

    begin_forward = plan

    def workspace_size(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """Bytes that a plan with these arguments uses, all of it Wavefire's own: ``(bytes, 0)``."""
        probe = type(self)(kv_layout=self._kv_layout)
        probe.plan(*args, **kwargs)
        return probe._batch.workspace_bytes(), 0

    def run(
        self,
        q: Any,
        paged_kv_cache: Any,
        *args: Any,
        q_scale: Any = None,
        k_scale: Any = None,
        v_scale: Any = None,
        out: Any = None,
        lse: Any = None,
        return_lse: bool = False,
        enable_pdl: bool | None = None,
        window_left: int | None = None,
        sinks: Any = None,
        q_len_per_req: int | None = None,
        skip_softmax_threshold_scale_factor: float | None = None,
        kv_cache_sf: Any = None,
    ) -> Any:
        """``q [batch * q_len_per_req, num_qo_heads, head_dim]``; returns ``out`` like it, and with
        ``return_lse`` the base-2 LSE ``[batch * q_len_per_req, num_qo_heads]``, float32.

        Scales are numbers, tensors of one element, or tensors with one value per head.
        """
        if args:
            raise NotImplementedError(
                f"{self._operation}: {len(args)} additional arguments; accepted: none"
            )
        require_neutral(
            self._operation,
            skip_softmax_threshold_scale_factor=skip_softmax_threshold_scale_factor,
            kv_cache_sf=kv_cache_sf,
        )
        if q_len_per_req not in (None, 1) and q_len_per_req != getattr(
            self, "_q_len_per_req", None
        ):
            raise ValueError(
                f"{self._operation}: 'q_len_per_req' is {q_len_per_req}; accepted: the planned one"
            )
        k, v = split_paged_cache(paged_kv_cache, self._hnd)
        return self._batch.run(
            self._operation, q, k, v, q_scale=q_scale, k_scale=k_scale, v_scale=v_scale, out=out,
            lse=lse, return_lse=return_lse, sinks=sinks, window_left=window_left,
        )  # fmt: skip

    run_return_lse = functools.partialmethod(run, return_lse=True)

    def forward(
        self,
        q: Any,
        paged_kv_cache: Any,
        pos_encoding_mode: str = "NONE",
        q_scale: float | None = None,
        k_scale: float | None = None,
        v_scale: float | None = None,
        window_left: int = -1,
        logits_soft_cap: float | None = None,
        sm_scale: float | None = None,
        rope_scale: float | None = None,
        rope_theta: float | None = None,
        *,
        return_lse: bool = False,
    ) -> Any:
        """Deprecated: sets parameters of the plan, then runs. Plans again when they differ."""
        self._replan(
            pos_encoding_mode=pos_encoding_mode, window_left=window_left,
            logits_soft_cap=logits_soft_cap, sm_scale=sm_scale, rope_scale=rope_scale,
            rope_theta=rope_theta,
        )  # fmt: skip
        return self.run(
            q,
            paged_kv_cache,
            q_scale=q_scale,
            k_scale=k_scale,
            v_scale=v_scale,
            return_lse=return_lse,
        )

    forward_return_lse = functools.partialmethod(forward, return_lse=True)

    def _replan(self, **parameters: Any) -> None:
        planned = {name: getattr(self, f"_{name}") for name in parameters}
        if planned != parameters:
            self._plan(
                *self._plan_arguments, **parameters, q_data_type=self._cached_q_data_type,
                kv_data_type=self._cached_kv_data_type, q_len_per_req=self._q_len_per_req,
            )  # fmt: skip

    def end_forward(self) -> None:
        """Deprecated; does nothing."""


class CUDAGraphBatchDecodeWithPagedKVCacheWrapper(BatchDecodeWithPagedKVCacheWrapper):
    """The decode wrapper with the index buffers that a captured graph reads."""

    def __init__(
        self,
        workspace_buffer: Any,
        indptr_buffer: Any,
        indices_buffer: Any,
        last_page_len_buffer: Any,
        kv_layout: str = "NHD",
        use_tensor_cores: bool = False,
    ) -> None:
        super().__init__(
            workspace_buffer, kv_layout, use_cuda_graph=True, use_tensor_cores=use_tensor_cores,
            paged_kv_indptr_buffer=indptr_buffer, paged_kv_indices_buffer=indices_buffer,
            paged_kv_last_page_len_buffer=last_page_len_buffer,
        )  # fmt: skip


def fast_decode_plan(
    self: BatchDecodeWithPagedKVCacheWrapper,
    indptr: Any,
    indices: Any,
    last_page_len: Any,
    num_qo_heads: int,
    num_kv_heads: int,
    head_dim: int,
    page_size: int,
    pos_encoding_mode: str = "NONE",
    window_left: int = -1,
    logits_soft_cap: float | None = None,
    q_data_type: object = None,
    kv_data_type: object = None,
    data_type: object = None,
    sm_scale: float | None = None,
    rope_scale: float | None = None,
    rope_theta: float | None = None,
    non_blocking: bool = True,
    fixed_split_size: int | None = None,
    disable_split_kv: bool = False,
    q_len_per_req: int = 1,
    global_override_indptr_cpu: Any = None,
) -> None:
    """``plan()`` under the name that engines bind to a wrapper; every plan is fast here."""
    self.plan(
        indptr if global_override_indptr_cpu is None else global_override_indptr_cpu,
        indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size,
        pos_encoding_mode=pos_encoding_mode, window_left=window_left,
        logits_soft_cap=logits_soft_cap,
        q_data_type="float16" if q_data_type is None else q_data_type,
        kv_data_type=kv_data_type, data_type=data_type, sm_scale=sm_scale, rope_scale=rope_scale,
        rope_theta=rope_theta, fixed_split_size=fixed_split_size,
        disable_split_kv=disable_split_kv, q_len_per_req=q_len_per_req,
    )  # fmt: skip
