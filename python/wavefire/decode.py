"""Attention of one new token per request over its KV cache (FlashInfer's ``flashinfer.decode``)."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from ._attention import single, split_paged_cache
from ._errors import message, whole
from ._hints import require_neutral
from ._tensors import host_int32, require_tensor
from ._wrapper import AttentionWrapper, split_tokens

_MOST = 2**31 - 1  # of the library's numbers


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
    operation = "single_decode_with_kv_cache"
    require_tensor(operation, "q", q, 2)
    result = single(
        operation, q[None], k, v,
        kv_layout=kv_layout, return_lse=return_lse, scales=(q_scale, k_scale, v_scale),
        pos_encoding_mode=pos_encoding_mode, window_left=window_left,
        logits_soft_cap=logits_soft_cap, sm_scale=sm_scale, rope_scale=rope_scale,
        rope_theta=rope_theta,
    )  # fmt: skip
    return (result[0][0], result[1][0]) if return_lse else result[0]


class BatchDecodeWithPagedKVCacheWrapper(AttentionWrapper):
    """Decode attention over a paged KV cache: plan once for a batch, run once a layer.

    The workspace buffer is optional and may have any size. With ``use_cuda_graph`` the index
    buffers are kept up to date and the batch size is fixed.
    """

    _operation = "BatchDecodeWithPagedKVCacheWrapper"
    _argument_suffix = "fer"

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
        self._use_tensor_cores = use_tensor_cores
        self._q_len_per_req: int | None = None
        buffers = {
            "paged_kv_indptr_buf": paged_kv_indptr_buffer,
            "paged_kv_indices_buf": paged_kv_indices_buffer,
            "paged_kv_last_page_len_buf": paged_kv_last_page_len_buffer,
        }
        self._setup(
            float_workspace_buffer, kv_layout, use_cuda_graph, backend, buffers, jit_args=jit_args
        )
        if use_cuda_graph and len(paged_kv_indptr_buffer) != self._fixed_batch_size() + 1:
            raise ValueError(
                f"{self._operation}: 'paged_kv_indptr_buffer' has {len(paged_kv_indptr_buffer)} "
                f"entries; accepted: batch_size + 1 = {self._fixed_batch_size() + 1}"
            )

    def _fixed_batch_size(self) -> int:
        return len(self._paged_kv_last_page_len_buf)

    @property
    def use_tensor_cores(self) -> bool:
        return self._use_tensor_cores

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
        pos_encoding_mode: str = "NONE",
        window_left: int = -1,
        logits_soft_cap: float | None = None,
        q_data_type: object = None,
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
        """Plans for requests with page tables ``indices[indptr[b] : indptr[b + 1]]``.

        ``indptr [batch + 1]``, ``indices``, ``last_page_len [batch]``: int32. The keywords may be
        positional too, in their order. ``q_data_type`` is float16 unless it or ``data_type`` is
        given, ``kv_data_type`` that of ``data_type`` or the queries. ``fixed_split_size`` is in
        pages.
        """
        if deprecated_positional_args:
            return self._plan_positional(
                locals(), deprecated_positional_args,
                (indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size),
            )  # fmt: skip
        require_neutral(self._operation, window_right=window_right)
        if q_data_type is None:
            q_data_type = "float16" if data_type is None else data_type
        if kv_data_type is None:
            kv_data_type = q_data_type if data_type is None else data_type
        tables = {"indptr": indptr, "indices": indices, "last_page_len": last_page_len}
        on_host = {name: host_int32(self._operation, name, x) for name, x in tables.items()}
        q_len_per_req = whole(self._operation, "q_len_per_req", q_len_per_req, 1, _MOST)
        page_size = whole(self._operation, "page_size", page_size, 1, _MOST)
        head_dim = whole(self._operation, "head_dim", head_dim, 1, _MOST)
        batch_size = len(on_host["last_page_len"])
        stored = {f"paged_kv_{name}_buf": x for name, x in tables.items()}
        self._check_tables(batch_size, stored)
        parameters = {
            "pos_encoding_mode": pos_encoding_mode, "window_left": window_left,
            "logits_soft_cap": logits_soft_cap, "sm_scale": sm_scale, "rope_scale": rope_scale,
            "rope_theta": rope_theta,
        }  # fmt: skip
        if batch_size * q_len_per_req > _MOST:
            accepted = "fewer than 2**31 query rows in the batch"
            raise ValueError(
                message(self._operation, "q_len_per_req", str(q_len_per_req), accepted)
            )
        rows = np.arange(batch_size + 1, dtype=np.int32) * np.int32(q_len_per_req)
        self._batch.plan(
            self._operation, qo_indptr=rows, kv_indptr=on_host["indptr"],
            kv_indices=on_host["indices"], kv_last_page_len=on_host["last_page_len"],
            page_size=page_size, num_qo_heads=num_qo_heads, num_kv_heads=num_kv_heads,
            head_dim_qk=head_dim, hnd=self._hnd, causal=q_len_per_req > 1, q_dtype=q_data_type,
            kv_dtype=kv_data_type, o_dtype=o_data_type, allow_split=not disable_split_kv,
            fixed_split_kv=split_tokens(self._operation, fixed_split_size, page_size), **parameters,
            **self._placement(),
        )  # fmt: skip
        self._store_tables(stored)
        self._batch_size = batch_size
        self._page_size, self._q_len_per_req = page_size, q_len_per_req
        self._remember(
            {
                **tables, "num_qo_heads": num_qo_heads, "num_kv_heads": num_kv_heads,
                "head_dim": head_dim, "page_size": page_size, "q_len_per_req": q_len_per_req,
                "fixed_split_size": fixed_split_size, "disable_split_kv": disable_split_kv,
            },
            {
                **parameters, "q_data_type": q_data_type, "kv_data_type": kv_data_type,
                "o_data_type": o_data_type,
            },
        )  # fmt: skip
        return None

    def _plan_positional(
        self, given: dict[str, Any], positional: tuple[Any, ...], required: tuple[Any, ...]
    ) -> None:
        """`plan` with keywords that came as positional arguments."""
        keywords = {
            name: p.default
            for name, p in inspect.signature(type(self).plan).parameters.items()
            if p.kind is p.KEYWORD_ONLY
        }
        if len(positional) > len(keywords) - 1:  # window_right is newer than this way to call
            raise TypeError(f"plan() takes at most {len(required) + len(keywords)} arguments")
        arguments = {name: given[name] for name in keywords}
        for name, value in zip(keywords, positional, strict=False):
            if given[name] is not keywords[name]:
                raise TypeError(f"plan() got multiple values for argument '{name}'")
            arguments[name] = value
        self.plan(*required, **arguments)

    begin_forward = plan

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
        self._require_planned("run")
        if args:
            self._reject_arguments(args)
        if skip_softmax_threshold_scale_factor is not None or kv_cache_sf is not None:
            require_neutral(
                self._operation,
                skip_softmax_threshold_scale_factor=skip_softmax_threshold_scale_factor,
                kv_cache_sf=kv_cache_sf,
            )
        if q_len_per_req not in (None, 1, self._q_len_per_req):
            raise ValueError(
                f"{self._operation}: 'q_len_per_req' is {q_len_per_req}; accepted: the planned "
                f"{self._q_len_per_req}"
            )
        k, v = split_paged_cache(self._operation, paged_kv_cache, self._hnd)
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
            q, paged_kv_cache, q_scale=q_scale, k_scale=k_scale, v_scale=v_scale,
            return_lse=return_lse,
        )  # fmt: skip

    forward_return_lse = functools.partialmethod(forward, return_lse=True)


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
        logits_soft_cap=logits_soft_cap, q_data_type=q_data_type, kv_data_type=kv_data_type,
        data_type=data_type, sm_scale=sm_scale, rope_scale=rope_scale, rope_theta=rope_theta,
        non_blocking=non_blocking, fixed_split_size=fixed_split_size,
        disable_split_kv=disable_split_kv, q_len_per_req=q_len_per_req,
    )  # fmt: skip
