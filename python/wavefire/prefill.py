"""Attention of several query tokens per request (FlashInfer's ``flashinfer.prefill``).

A custom mask replaces ``causal``, as in FlashInfer: combine them yourself. (The C++ API combines
them.)
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ._attention import require_mask, single, split_paged_cache
from ._errors import message, whole
from ._graph_plan import GraphPlan
from ._hints import require_backend, require_neutral
from ._tensors import host_int32
from ._wrapper import AttentionWrapper, split_tokens


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
    for name, a, b in (("k", scale_k, k_scale), ("v", scale_v, v_scale)):
        if a is not None and b is not None:
            raise ValueError(
                f"{operation}: 'scale_{name}' and '{name}_scale' are given; accepted: one of them"
            )
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


class _BatchPrefillWrapper(AttentionWrapper):
    """What the ragged and the paged wrapper share."""

    _max_total_num_rows: int | None = None

    def _fixed_batch_size(self) -> int:
        return len(self._qo_indptr_buf) - 1

    def _check_rows(self, qo_indptr: Any, tables: dict[str, Any]) -> None:
        """`qo_indptr` on the host. In graph mode the first plan bounds the number of rows."""
        if len(qo_indptr) == 0:
            raise ValueError(message(self._operation, "qo_indptr", "empty", "[batch + 1]"))
        rows, most = int(qo_indptr[-1]), self._max_total_num_rows
        if self._use_cuda_graph and most is not None and rows > most:
            raise ValueError(
                f"{self._operation}: {rows} query rows; accepted: up to {most}, the rows of the "
                "first plan in cudagraph mode"
            )
        self._check_tables(len(qo_indptr) - 1, tables)

    def _store_rows(self, qo_indptr: Any, kv_lens: Any, tables: dict[str, Any]) -> None:
        self._store_tables(tables)
        self._batch_size = len(qo_indptr) - 1
        self._qo_indptr_last = int(qo_indptr[-1])
        self._max_q_len = int(np.diff(np.asarray(qo_indptr)).max(initial=0))
        self._max_kv_len = int(np.asarray(kv_lens).max(initial=0))
        if self._max_total_num_rows is None or not self._use_cuda_graph:
            self._max_total_num_rows = self._qo_indptr_last

    def _mask(
        self, custom_mask: Any, packed_custom_mask: Any, qo_indptr: Any, kv_lens: Any
    ) -> dict[str, Any]:
        """A packed mask has every request padded to a byte; its offsets follow from the lengths."""
        packed = packed_custom_mask is not None
        mask = packed_custom_mask if packed else custom_mask
        require_mask(self._operation, mask, packed=packed, ranks=(1,))
        if not packed:
            return {"custom_mask": custom_mask}
        q_lens = np.diff(np.asarray(qo_indptr)).astype(np.int64)
        if len(q_lens) != len(kv_lens):
            value, accepted = f"of {len(q_lens) + 1} entries", f"{len(kv_lens) + 1}, as kv_indptr"
            raise ValueError(message(self._operation, "qo_indptr", value, accepted))
        lengths = (q_lens * np.asarray(kv_lens, np.int64) + 7) // 8
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return {"custom_mask": packed_custom_mask, "mask_indptr": indptr}

    def _plan_batch(
        self, heads: tuple[int, int, int, int | None], parameters: dict[str, Any], *,
        masks: dict[str, Any], split_unit: int, split: tuple[int | None, bool],
        multi_item: tuple[Any, Any, int, Any], tables: dict[str, Any], arguments: dict[str, Any],
    ) -> None:  # fmt: skip
        """`heads`: query heads, KV heads, head dims of QK and VO. `split`: the size and whether
        there is none. `tables`: as the library takes them. `arguments`: as ``plan`` got them.
        """
        names = ("prefix_len_ptr", "token_pos_in_items_ptr", "token_pos_in_items_len",
                 "max_item_len_ptr")  # fmt: skip
        require_neutral(self._operation, **dict(zip(names, multi_item, strict=True)))
        options = {n: v for n, v in parameters.items() if not n.endswith("_data_type")}
        options["causal"] = options["causal"] and not masks
        self._batch.plan(
            self._operation, **tables, **masks, **options, hnd=self._hnd, num_qo_heads=heads[0],
            num_kv_heads=heads[1], head_dim_qk=heads[2], head_dim_vo=heads[3],
            q_dtype=parameters["q_data_type"], kv_dtype=parameters["kv_data_type"],
            o_dtype=parameters["o_data_type"], allow_split=not split[1],
            fixed_split_kv=split_tokens(self._operation, split[0], split_unit), **self._placement(),
        )  # fmt: skip
        self._remember(
            {
                **arguments, "num_qo_heads": heads[0], "num_kv_heads": heads[1],
                "head_dim_qk": heads[2], "head_dim_vo": heads[3], "fixed_split_size": split[0],
                "disable_split_kv": split[1],
            },
            parameters,
        )  # fmt: skip


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
        self._custom_mask_buf, self._mask_indptr_buf = custom_mask_buf, mask_indptr_buf
        self._setup(
            float_workspace_buffer, kv_layout, use_cuda_graph, backend, buffers,
            jit_args=jit_args, jit_kwargs=jit_kwargs,
        )  # fmt: skip

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
        page_size = whole(self._operation, "page_size", page_size, 1, 2**31 - 1)
        qo = host_int32(self._operation, "qo_indptr", qo_indptr)
        indptr = host_int32(self._operation, "paged_kv_indptr", paged_kv_indptr)
        indices = host_int32(self._operation, "paged_kv_indices", paged_kv_indices)
        last = host_int32(self._operation, "paged_kv_last_page_len", paged_kv_last_page_len)
        stored = {
            "qo_indptr_buf": qo_indptr, "paged_kv_indptr_buf": paged_kv_indptr,
            "paged_kv_indices_buf": paged_kv_indices,
            "paged_kv_last_page_len_buf": paged_kv_last_page_len,
        }  # fmt: skip
        self._check_rows(qo, stored)
        pages = np.diff(np.asarray(indptr))
        if len(last) != len(qo) - 1 or len(pages) != len(qo) - 1:
            value = f"of {len(last)} entries (paged_kv_indptr of {len(indptr)})"
            accepted = f"{len(qo) - 1}, one for each request of qo_indptr"
            raise ValueError(message(self._operation, "paged_kv_last_page_len", value, accepted))
        kv_lens = np.where(
            pages > 0, (pages.astype(np.int64) - 1) * page_size + np.asarray(last), 0
        )
        masks: dict[str, Any] = {}
        if custom_mask is not None or packed_custom_mask is not None:
            masks = self._mask(custom_mask, packed_custom_mask, qo, kv_lens)
        self._plan_batch(
            (num_qo_heads, num_kv_heads, head_dim_qk, head_dim_vo),
            {
                "causal": causal, "pos_encoding_mode": pos_encoding_mode, "sm_scale": sm_scale,
                "window_left": window_left, "logits_soft_cap": logits_soft_cap,
                "rope_scale": rope_scale, "rope_theta": rope_theta, "q_data_type": q_data_type,
                "kv_data_type": kv_data_type, "o_data_type": o_data_type,
            },
            masks=masks, split_unit=page_size, split=(fixed_split_size, disable_split_kv),
            multi_item=(
                prefix_len_ptr, token_pos_in_items_ptr, token_pos_in_items_len, max_item_len_ptr
            ),
            tables={
                "qo_indptr": qo, "kv_indptr": indptr, "kv_indices": indices,
                "kv_last_page_len": last, "page_size": page_size,
            },
            arguments={
                "qo_indptr": qo_indptr, "paged_kv_indptr": paged_kv_indptr,
                "paged_kv_indices": paged_kv_indices,
                "paged_kv_last_page_len": paged_kv_last_page_len, "page_size": page_size,
                "custom_mask": custom_mask, "packed_custom_mask": packed_custom_mask,
            },
        )  # fmt: skip
        self._store_rows(qo, kv_lens, stored)
        self._page_size, self._block_tables = page_size, block_tables

    begin_forward = plan

    @property
    def _cached_module(self) -> GraphPlan | None:
        return GraphPlan(self) if self._use_cuda_graph and self._batch.planned else None

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
        partial_state: tuple[Any, Any] | None = None,
    ) -> Any:
        """``q [tokens, num_qo_heads, head_dim_qk]``; returns ``out [tokens, num_qo_heads,
        head_dim_vo]`` and with ``return_lse`` the base-2 LSE ``[tokens, num_qo_heads]``, float32.
        ``partial_state``: an output and LSE over other keys, with which the result is joined.
        """
        self._require_planned("run")
        self._reject_arguments(args)
        require_neutral(
            self._operation, kv_cache_sf=kv_cache_sf, uses_spcompress=uses_spcompress,
            skip_softmax_threshold_scale_factor=skip_softmax_threshold_scale_factor,
        )  # fmt: skip
        k, v = split_paged_cache(self._operation, paged_kv_cache, self._hnd)
        return self._batch.run(
            self._operation, q, k, v, q_scale=q_scale, k_scale=k_scale, v_scale=v_scale, out=out,
            lse=lse, return_lse=return_lse, sinks=sinks, window_left=window_left,
            partial_state=partial_state,
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
        self._custom_mask_buf, self._mask_indptr_buf = custom_mask_buf, mask_indptr_buf
        self._setup(
            float_workspace_buffer, kv_layout, use_cuda_graph, backend, buffers,
            jit_args=jit_args, jit_kwargs=jit_kwargs,
        )  # fmt: skip

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
        require_neutral(self._operation, v_indptr=v_indptr, o_indptr=o_indptr)
        qo = host_int32(self._operation, "qo_indptr", qo_indptr)
        kv = host_int32(self._operation, "kv_indptr", kv_indptr)
        stored = {"qo_indptr_buf": qo_indptr, "kv_indptr_buf": kv_indptr}
        self._check_rows(qo, stored)
        kv_lens = np.diff(np.asarray(kv))
        masks: dict[str, Any] = {}
        if custom_mask is not None or packed_custom_mask is not None:
            masks = self._mask(custom_mask, packed_custom_mask, qo, kv_lens)
        self._plan_batch(
            (num_qo_heads, num_kv_heads, head_dim_qk, head_dim_vo),
            {
                "causal": causal, "pos_encoding_mode": pos_encoding_mode, "sm_scale": sm_scale,
                "window_left": window_left, "logits_soft_cap": logits_soft_cap,
                "rope_scale": rope_scale, "rope_theta": rope_theta, "q_data_type": q_data_type,
                "kv_data_type": kv_data_type, "o_data_type": o_data_type,
            },
            masks=masks, split_unit=1, split=(fixed_split_size, disable_split_kv),
            multi_item=(
                prefix_len_ptr, token_pos_in_items_ptr, token_pos_in_items_len, max_item_len_ptr
            ),
            tables={"qo_indptr": qo, "kv_indptr": kv},
            arguments={
                "qo_indptr": qo_indptr, "kv_indptr": kv_indptr, "custom_mask": custom_mask,
                "packed_custom_mask": packed_custom_mask,
            },
        )  # fmt: skip
        self._store_rows(qo, kv_lens, stored)

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
        self._require_planned("run")
        self._reject_arguments(args)
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
