"""Attention of several query tokens per request (FlashInfer's ``flashinfer.prefill``).

A custom mask replaces ``causal``, as in FlashInfer: combine them yourself. (The C++ API combines
them.)
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ._attention import Batch, kv_layout_is_hnd, single, split_paged_cache
from ._hints import require_backend, require_neutral
from ._tensors import dtype_name, host_int32


def single_prefill_with_kv_cache(
    q: Any,
    k: Any,
    v: Any,
    scale_q: Any = None,
    scale_k: Any = None,
    scale_v: Any = None,
    o_dtype: object = None,
    custom_mask: Any = None,
    packed_custom_mask: Any = None,
    causal: bool = False,
    kv_layout: str = "NHD",
    pos_encoding_mode: str = "NONE",
    use_fp16_qk_reduction: bool = False,
    sm_scale: float | None = None,
    window_left: int = -1,
    logits_soft_cap: float | None = None,
    rope_scale: float | None = None,
    rope_theta: float | None = None,
    backend: str = "auto",
    return_lse: bool = False,
    kv_cache_sf: Any = None,
    k_scale: float | None = None,
    v_scale: float | None = None,
) -> Any:
    """One request: ``q [qo_len, num_qo_heads, head_dim_qk]``, ``k [kv_len, num_kv_heads,
    head_dim_qk]``, ``v [kv_len, num_kv_heads, head_dim_vo]`` (HND swaps the first two of k and v).

    Returns ``out [qo_len, num_qo_heads, head_dim_vo]`` and with ``return_lse`` the base-2 LSE
    ``[qo_len, num_qo_heads]``. ``custom_mask [qo_len, kv_len]`` (True: attend) or
    ``packed_custom_mask`` (uint8, little-endian bits) replace ``causal``. ``scale_q/k/v`` hold one
    value per head.
    """
    operation = "single_prefill_with_kv_cache"
    require_neutral(operation, kv_cache_sf=kv_cache_sf)
    require_backend(operation, backend)
    return single(
        operation, q, k, v,
        kv_layout=kv_layout, return_lse=return_lse, custom_mask=custom_mask,
        packed_custom_mask=packed_custom_mask, causal=causal, o_dtype=o_dtype,
        scales=(scale_q, scale_k if k_scale is None else k_scale,
                scale_v if v_scale is None else v_scale),
        pos_encoding_mode=pos_encoding_mode, sm_scale=sm_scale, window_left=window_left,
        logits_soft_cap=logits_soft_cap, rope_scale=rope_scale, rope_theta=rope_theta,
    )  # fmt: skip


single_prefill_with_kv_cache_return_lse = functools.partial(
    single_prefill_with_kv_cache, return_lse=True
)


class _BatchPrefillWrapper:
    """What the ragged and the paged wrapper share."""

    _operation = "BatchPrefill"

    def _init(
        self, float_workspace_buffer: Any, kv_layout: str, use_cuda_graph: bool, backend: str,
        buffers: dict[str, Any], jit_args: Any, jit_kwargs: Any,
    ) -> None:  # fmt: skip
        require_neutral(self._operation, jit_args=jit_args, jit_kwargs=jit_kwargs)
        self._backend = require_backend(self._operation, backend)
        self._hnd = kv_layout_is_hnd(kv_layout)
        self._kv_layout = kv_layout
        self._float_workspace_buffer = float_workspace_buffer
        self._int_workspace_buffer: Any = None
        self._use_cuda_graph = use_cuda_graph
        self._buffers = buffers
        self._fixed_batch_size = 0
        if use_cuda_graph:
            for name, buffer in buffers.items():
                if buffer is None:
                    raise ValueError(f"{name} should be a torch.Tensor in cudagraph mode")
            self._fixed_batch_size = len(buffers["qo_indptr_buf"]) - 1
        self._max_total_rows: int | None = None
        self._batch = Batch()

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

    def _store(self, tables: dict[str, Any]) -> None:
        """In graph mode: into the caller's buffers, whose sizes are fixed."""
        if not self._use_cuda_graph:
            self._buffers = dict(tables)
            return
        batch_size = len(tables["qo_indptr_buf"]) - 1
        if batch_size != self._fixed_batch_size:
            raise ValueError(
                "The batch size should be fixed in cudagraph mode, the runtime batch size "
                f"{batch_size} mismatches the batch size set during initialization "
                f"{self._fixed_batch_size}"
            )
        rows = int(tables["qo_indptr_buf"][-1])
        if self._max_total_rows is not None and rows > self._max_total_rows:
            raise ValueError(
                f"{self._operation}: {rows} query rows; accepted: up to {self._max_total_rows}, "
                "the rows of the first plan in cudagraph mode"
            )
        for name, table in tables.items():
            if len(table) > len(self._buffers[name]):
                raise ValueError(
                    f"{self._operation}: '{name}' holds {len(self._buffers[name])} entries; "
                    f"accepted: at least {len(table)}"
                )
        self._max_total_rows = rows if self._max_total_rows is None else self._max_total_rows
        for name, table in tables.items():
            self._buffers[name][: len(table)] = table

    def _mask(
        self, custom_mask: Any, packed_custom_mask: Any, q_lens: Any, kv_lens: Any
    ) -> dict[str, Any]:
        """A packed mask has every request padded to a byte; its offsets follow from the lengths."""
        if packed_custom_mask is None:
            return {"custom_mask": custom_mask}
        lengths = (np.asarray(q_lens, np.int64) * np.asarray(kv_lens, np.int64) + 7) // 8
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return {"custom_mask": packed_custom_mask, "mask_indptr": indptr}

    def _remember(self, arguments: dict[str, Any], parameters: dict[str, Any]) -> None:
        self._plan_arguments, self._parameters = arguments, parameters
        self._causal = parameters["causal"]
        self._window_left = parameters["window_left"]
        self._sm_scale = parameters["sm_scale"]
        self._logits_soft_cap = parameters["logits_soft_cap"]
        self._pos_encoding_mode = parameters["pos_encoding_mode"]
        self._rope_scale, self._rope_theta = parameters["rope_scale"], parameters["rope_theta"]
        q, kv = parameters["q_data_type"], parameters["kv_data_type"]
        self._cached_q_data_type = dtype_name(q)
        self._cached_kv_data_type = dtype_name(q if kv is None else kv)

    def _replan(self, **parameters: Any) -> None:
        if any(self._parameters[name] != value for name, value in parameters.items()):
            self.plan(**self._plan_arguments, **{**self._parameters, **parameters})  # type: ignore[attr-defined]

    def end_forward(self) -> None:
        """Deprecated; does nothing."""


def _library_options(parameters: dict[str, Any]) -> dict[str, Any]:
    names = (
        "pos_encoding_mode",
        "window_left",
        "logits_soft_cap",
        "sm_scale",
        "rope_scale",
        "rope_theta",
    )
    return {name: parameters[name] for name in names}


class BatchPrefillWithPagedKVCacheWrapper(_BatchPrefillWrapper):
    """Prefill and append attention over a paged KV cache. The workspace buffer is optional."""

    _operation = "BatchPrefillWithPagedKVCacheWrapper"

    def __init__(
        self,
        float_workspace_buffer: Any = None,
        kv_layout: str = "NHD",
        use_cuda_graph: bool = False,
        qo_indptr_buf: Any = None,
        paged_kv_indptr_buf: Any = None,
        paged_kv_indices_buf: Any = None,
        paged_kv_last_page_len_buf: Any = None,
        custom_mask_buf: Any = None,
        mask_indptr_buf: Any = None,
        backend: str = "auto",
        jit_args: list[Any] | None = None,
        jit_kwargs: dict[str, Any] | None = None,
    ) -> None:
        buffers = {
            "qo_indptr_buf": qo_indptr_buf,
            "paged_kv_indptr_buf": paged_kv_indptr_buf,
            "paged_kv_indices_buf": paged_kv_indices_buf,
            "paged_kv_last_page_len_buf": paged_kv_last_page_len_buf,
        }
        self._init(
            float_workspace_buffer,
            kv_layout,
            use_cuda_graph,
            backend,
            buffers,
            jit_args,
            jit_kwargs,
        )

    def plan(
        self,
        qo_indptr: Any,
        paged_kv_indptr: Any,
        paged_kv_indices: Any,
        paged_kv_last_page_len: Any,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim_qk: int,
        page_size: int,
        head_dim_vo: int | None = None,
        custom_mask: Any = None,
        packed_custom_mask: Any = None,
        causal: bool = False,
        pos_encoding_mode: str = "NONE",
        use_fp16_qk_reduction: bool = False,
        sm_scale: float | None = None,
        window_left: int = -1,
        logits_soft_cap: float | None = None,
        rope_scale: float | None = None,
        rope_theta: float | None = None,
        q_data_type: object = "float16",
        kv_data_type: object = None,
        o_data_type: object = None,
        non_blocking: bool = True,
        prefix_len_ptr: Any = None,
        token_pos_in_items_ptr: Any = None,
        token_pos_in_items_len: int = 0,
        max_item_len_ptr: Any = None,
        seq_lens: Any = None,
        seq_lens_q: Any = None,
        block_tables: Any = None,
        max_token_per_sequence: int | None = None,
        max_sequence_kv: int | None = None,
        fixed_split_size: int | None = None,
        disable_split_kv: bool = False,
    ) -> None:
        """Plans for query rows ``qo_indptr [batch + 1]`` and page tables in CSR form (int32).

        ``custom_mask``: 1-D bool, the flattened ``[q_len, kv_len]`` masks one after the other;
        ``packed_custom_mask``: uint8, little-endian bits, every request padded to a byte. Either
        replaces ``causal``. ``fixed_split_size`` is in pages.
        """
        require_neutral(
            self._operation, prefix_len_ptr=prefix_len_ptr, max_item_len_ptr=max_item_len_ptr,
            token_pos_in_items_ptr=token_pos_in_items_ptr,
            token_pos_in_items_len=token_pos_in_items_len,
        )  # fmt: skip
        qo = host_int32(self._operation, "qo_indptr", qo_indptr)
        indptr = host_int32(self._operation, "paged_kv_indptr", paged_kv_indptr)
        indices = host_int32(self._operation, "paged_kv_indices", paged_kv_indices)
        last = host_int32(self._operation, "paged_kv_last_page_len", paged_kv_last_page_len)
        masked = custom_mask is not None or packed_custom_mask is not None
        mask: dict[str, Any] = {}
        if masked:
            pages = np.diff(np.asarray(indptr))
            kv_lens = np.where(pages > 0, (pages - 1) * page_size + np.asarray(last), 0)
            mask = self._mask(custom_mask, packed_custom_mask, np.diff(np.asarray(qo)), kv_lens)
        self._store({
            "qo_indptr_buf": qo_indptr, "paged_kv_indptr_buf": paged_kv_indptr,
            "paged_kv_indices_buf": paged_kv_indices,
            "paged_kv_last_page_len_buf": paged_kv_last_page_len,
        })  # fmt: skip
        parameters = {
            "causal": causal, "pos_encoding_mode": pos_encoding_mode, "sm_scale": sm_scale,
            "window_left": window_left, "logits_soft_cap": logits_soft_cap,
            "rope_scale": rope_scale,
            "rope_theta": rope_theta, "q_data_type": q_data_type, "kv_data_type": kv_data_type,
            "o_data_type": o_data_type,
        }  # fmt: skip
        self._batch.plan(
            qo_indptr=qo, kv_indptr=indptr, kv_indices=indices, kv_last_page_len=last,
            page_size=page_size, num_qo_heads=num_qo_heads, num_kv_heads=num_kv_heads,
            head_dim_qk=head_dim_qk, head_dim_vo=head_dim_vo, hnd=self._hnd,
            causal=causal and not masked, q_dtype=q_data_type, kv_dtype=kv_data_type,
            o_dtype=o_data_type, allow_split=not disable_split_kv,
            fixed_split_kv=0 if fixed_split_size is None else fixed_split_size * page_size,
            **mask, **_library_options(parameters),
        )  # fmt: skip
        self._remember(
            {
                "qo_indptr": qo_indptr, "paged_kv_indptr": paged_kv_indptr,
                "paged_kv_indices": paged_kv_indices,
                "paged_kv_last_page_len": paged_kv_last_page_len,
                "num_qo_heads": num_qo_heads, "num_kv_heads": num_kv_heads,
                "head_dim_qk": head_dim_qk,
                "page_size": page_size, "head_dim_vo": head_dim_vo, "custom_mask": custom_mask,
                "packed_custom_mask": packed_custom_mask, "fixed_split_size": fixed_split_size,
                "disable_split_kv": disable_split_kv,
            },
            parameters,
        )  # fmt: skip

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
        kv_cache_sf: Any = None,
        skip_softmax_threshold_scale_factor: float | None = None,
        use_fp16_softmax: bool | None = None,
        uses_spcompress: bool | None = None,
    ) -> Any:
        """``q [tokens, num_qo_heads, head_dim_qk]``; returns ``out [tokens, num_qo_heads,
        head_dim_vo]`` and with ``return_lse`` the base-2 LSE ``[tokens, num_qo_heads]``, float32.
        """
        if args:
            raise NotImplementedError(
                f"{self._operation}: {len(args)} additional arguments; accepted: none"
            )
        require_neutral(
            self._operation, kv_cache_sf=kv_cache_sf, uses_spcompress=uses_spcompress,
            skip_softmax_threshold_scale_factor=skip_softmax_threshold_scale_factor,
        )  # fmt: skip
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
        causal: bool = False,
        pos_encoding_mode: str = "NONE",
        use_fp16_qk_reduction: bool = False,
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
            causal=causal, pos_encoding_mode=pos_encoding_mode, window_left=window_left,
            logits_soft_cap=logits_soft_cap, sm_scale=sm_scale, rope_scale=rope_scale,
            rope_theta=rope_theta,
        )  # fmt: skip
        return self.run(q, paged_kv_cache, k_scale=k_scale, v_scale=v_scale, return_lse=return_lse)

    forward_return_lse = functools.partialmethod(forward, return_lse=True)


class BatchPrefillWithRaggedKVCacheWrapper(_BatchPrefillWrapper):
    """Prefill attention over contiguous keys and values. The workspace buffer is optional."""

    _operation = "BatchPrefillWithRaggedKVCacheWrapper"

    def __init__(
        self,
        float_workspace_buffer: Any = None,
        kv_layout: str = "NHD",
        use_cuda_graph: bool = False,
        qo_indptr_buf: Any = None,
        kv_indptr_buf: Any = None,
        custom_mask_buf: Any = None,
        mask_indptr_buf: Any = None,
        backend: str = "auto",
        jit_args: list[Any] | None = None,
        jit_kwargs: dict[str, Any] | None = None,
    ) -> None:
        buffers = {"qo_indptr_buf": qo_indptr_buf, "kv_indptr_buf": kv_indptr_buf}
        self._init(
            float_workspace_buffer,
            kv_layout,
            use_cuda_graph,
            backend,
            buffers,
            jit_args,
            jit_kwargs,
        )

    def plan(
        self,
        qo_indptr: Any,
        kv_indptr: Any,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim_qk: int,
        head_dim_vo: int | None = None,
        custom_mask: Any = None,
        packed_custom_mask: Any = None,
        causal: bool = False,
        pos_encoding_mode: str = "NONE",
        use_fp16_qk_reduction: bool = False,
        window_left: int = -1,
        logits_soft_cap: float | None = None,
        sm_scale: float | None = None,
        rope_scale: float | None = None,
        rope_theta: float | None = None,
        q_data_type: object = "float16",
        kv_data_type: object = None,
        o_data_type: object = None,
        non_blocking: bool = True,
        prefix_len_ptr: Any = None,
        token_pos_in_items_ptr: Any = None,
        token_pos_in_items_len: int = 0,
        max_item_len_ptr: Any = None,
        fixed_split_size: int | None = None,
        disable_split_kv: bool = False,
        seq_lens: Any = None,
        seq_lens_q: Any = None,
        max_token_per_sequence: int | None = None,
        max_sequence_kv: int | None = None,
        v_indptr: Any = None,
        o_indptr: Any = None,
    ) -> None:
        """Plans for query rows ``qo_indptr`` and KV rows ``kv_indptr``, both int32 ``[batch + 1]``.

        Masks as in the paged wrapper. ``fixed_split_size`` is in tokens.
        """
        require_neutral(
            self._operation, prefix_len_ptr=prefix_len_ptr, max_item_len_ptr=max_item_len_ptr,
            token_pos_in_items_ptr=token_pos_in_items_ptr,
            token_pos_in_items_len=token_pos_in_items_len,
            v_indptr=v_indptr, o_indptr=o_indptr,
        )  # fmt: skip
        qo = host_int32(self._operation, "qo_indptr", qo_indptr)
        kv = host_int32(self._operation, "kv_indptr", kv_indptr)
        masked = custom_mask is not None or packed_custom_mask is not None
        mask: dict[str, Any] = {}
        if masked:
            mask = self._mask(
                custom_mask, packed_custom_mask, np.diff(np.asarray(qo)), np.diff(np.asarray(kv))
            )
        self._store({"qo_indptr_buf": qo_indptr, "kv_indptr_buf": kv_indptr})
        parameters = {
            "causal": causal, "pos_encoding_mode": pos_encoding_mode, "sm_scale": sm_scale,
            "window_left": window_left, "logits_soft_cap": logits_soft_cap,
            "rope_scale": rope_scale,
            "rope_theta": rope_theta, "q_data_type": q_data_type, "kv_data_type": kv_data_type,
            "o_data_type": o_data_type,
        }  # fmt: skip
        self._batch.plan(
            qo_indptr=qo, kv_indptr=kv, num_qo_heads=num_qo_heads, num_kv_heads=num_kv_heads,
            head_dim_qk=head_dim_qk, head_dim_vo=head_dim_vo, hnd=self._hnd,
            causal=causal and not masked, q_dtype=q_data_type, kv_dtype=kv_data_type,
            o_dtype=o_data_type, allow_split=not disable_split_kv,
            fixed_split_kv=0 if fixed_split_size is None else fixed_split_size,
            **mask, **_library_options(parameters),
        )  # fmt: skip
        self._remember(
            {
                "qo_indptr": qo_indptr, "kv_indptr": kv_indptr, "num_qo_heads": num_qo_heads,
                "num_kv_heads": num_kv_heads, "head_dim_qk": head_dim_qk,
                "head_dim_vo": head_dim_vo,
                "custom_mask": custom_mask, "packed_custom_mask": packed_custom_mask,
                "fixed_split_size": fixed_split_size, "disable_split_kv": disable_split_kv,
            },
            parameters,
        )  # fmt: skip

    begin_forward = plan

    def run(
        self,
        q: Any,
        k: Any,
        v: Any,
        *args: Any,
        q_scale: Any = None,
        k_scale: Any = None,
        v_scale: Any = None,
        o_scale: Any = None,
        out: Any = None,
        lse: Any = None,
        return_lse: bool = False,
        enable_pdl: bool | None = None,
        kv_cache_sf: Any = None,
    ) -> Any:
        """``q [tokens, num_qo_heads, head_dim_qk]``, ``k [rows, num_kv_heads, head_dim_qk]``,
        ``v [rows, num_kv_heads, head_dim_vo]``; returns as the paged wrapper.
        """
        if args:
            raise NotImplementedError(
                f"{self._operation}: {len(args)} additional arguments; accepted: none"
            )
        require_neutral(self._operation, kv_cache_sf=kv_cache_sf, o_scale=o_scale)
        return self._batch.run(
            self._operation, q, k, v, q_scale=q_scale, k_scale=k_scale, v_scale=v_scale, out=out,
            lse=lse, return_lse=return_lse,
        )  # fmt: skip

    run_return_lse = functools.partialmethod(run, return_lse=True)

    def forward(
        self,
        q: Any,
        k: Any,
        v: Any,
        causal: bool = False,
        pos_encoding_mode: str = "NONE",
        use_fp16_qk_reduction: bool = False,
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
            causal=causal, pos_encoding_mode=pos_encoding_mode, window_left=window_left,
            logits_soft_cap=logits_soft_cap, sm_scale=sm_scale, rope_scale=rope_scale,
            rope_theta=rope_theta,
        )  # fmt: skip
        return self.run(q, k, v, return_lse=return_lse)

    forward_return_lse = functools.partialmethod(forward, return_lse=True)
