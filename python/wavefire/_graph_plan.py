"""Planning of a prefill wrapper whose tables lie in its buffers already.

Engines that replay CUDA graphs fill the buffers of a wrapper themselves and then call the
``plan`` of FlashInfer's compiled module, by position, as ``wrapper._cached_module.plan(...)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._tensors import host_int32


class GraphPlan:
    """``_cached_module`` of a ``BatchPrefillWithPagedKVCacheWrapper`` that was planned once."""

    def __init__(self, wrapper: Any) -> None:
        self._wrapper = wrapper

    def plan(
        self,
        float_workspace_buffer: Any,
        int_workspace_buffer: Any,
        pin_memory_int_workspace_buffer: Any,
        qo_indptr: Any,
        kv_indptr: Any,
        kv_lens: Any,
        total_num_rows: int,
        batch_size: int,
        num_qo_heads: int,
        num_kv_heads: int,
        page_size: int,
        enable_cuda_graph: bool,
        head_dim_qk: int,
        head_dim_vo: int,
        causal: bool,
        window_left: int = -1,
        fixed_split_size: int = -1,
        disable_split_kv: bool = False,
        num_colocated_ctas: int = 0,
        /,
    ) -> None:
        """``qo_indptr``, ``kv_indptr [batch_size + 1]`` and ``kv_lens [batch_size]`` (tokens) on
        the host; page indices are those in the wrapper's buffer, what else a plan takes is as the
        wrapper's attributes say. Workspaces, ``total_num_rows`` and ``num_colocated_ctas`` are not
        needed. The plan is kept in the wrapper.
        """
        wrapper = self._wrapper
        operation = wrapper._operation
        indptr = np.asarray(host_int32(operation, "kv_indptr", kv_indptr))
        lens = np.asarray(host_int32(operation, "kv_lens", kv_lens))
        pages = int(indptr[-1]) if len(indptr) else 0
        names = ("pos_encoding_mode", "sm_scale", "logits_soft_cap", "rope_scale", "rope_theta")
        type(wrapper).plan(
            wrapper, qo_indptr, kv_indptr, wrapper._paged_kv_indices_buf[:pages],
            np.where(lens > 0, (lens - 1) % page_size + 1, 0).astype(np.int32),
            num_qo_heads, num_kv_heads, head_dim_qk, page_size, head_dim_vo,
            causal=causal, window_left=window_left, fixed_split_size=fixed_split_size,
            disable_split_kv=disable_split_kv, q_data_type=wrapper._cached_q_data_type,
            kv_data_type=wrapper._cached_kv_data_type, o_data_type=wrapper._cached_o_data_type,
            **{name: wrapper._parameters[name] for name in names},
        )  # fmt: skip
