"""What engines do with the batch wrappers besides plan and run: attributes that they read and
write, legacy names, keywords of newer versions.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch
import wavefire
from compare import close, ints
from reference import attention
from wavefire.decode import fast_decode_plan

TABLES = {"indptr": ints(0, 2, 3), "indices": ints(3, 0, 2), "last_page_len": ints(1, 4)}
LENGTHS = (5, 4)
PAGED = {
    "paged_kv_indptr": TABLES["indptr"], "paged_kv_indices": TABLES["indices"],
    "paged_kv_last_page_len": TABLES["last_page_len"],
}  # fmt: skip


def cache(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(4, 2, 4, 2, 16).to(dtype)


def rows(kv: torch.Tensor, request: int) -> tuple[torch.Tensor, torch.Tensor]:
    pages = TABLES["indices"][TABLES["indptr"][request] : TABLES["indptr"][request + 1]].long()
    flat = kv[pages].transpose(0, 1).reshape(2, -1, 2, 16)[:, : LENGTHS[request]]
    return flat[0], flat[1]


def expect_decode(q: torch.Tensor, kv: torch.Tensor, out: torch.Tensor, **options: Any) -> None:
    for b in range(2):
        expected, _ = attention(q[b : b + 1], *rows(kv, b), **options)
        close(out[b : b + 1], expected, torch.float32)


def test_decode_as_vllm_calls_it() -> None:
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(
        torch.zeros(1024, dtype=torch.uint8), "NHD", use_cuda_graph=False,
        paged_kv_indptr_buffer=None, paged_kv_indices_buffer=None,
        paged_kv_last_page_len_buffer=None, use_tensor_cores=True, backend="auto",
    )  # fmt: skip
    wrapper.plan(
        **TABLES, num_qo_heads=4, num_kv_heads=2, head_dim=16, page_size=4,
        pos_encoding_mode="NONE", window_left=-1, logits_soft_cap=None, q_data_type=torch.float32,
        kv_data_type=torch.float32, o_data_type=torch.float32, data_type=None, sm_scale=0.3,
        rope_scale=None, rope_theta=None, non_blocking=True, block_tables=None, seq_lens=None,
        fixed_split_size=-1, disable_split_kv=False,
    )  # fmt: skip
    q, kv = torch.randn(2, 4, 16), cache()
    out = torch.full_like(q, float("nan"))
    result = wrapper.run(
        q, (kv[:, 0], kv[:, 1]), q_scale=1.0, k_scale=1.0, v_scale=1.0, out=out, kv_cache_sf=None,
        sinks=None,
    )  # fmt: skip
    assert result is out
    expect_decode(q, kv, out, sm_scale=0.3)
    assert wrapper._window_left == -1
    assert wrapper._logits_soft_cap == 0.0
    assert wrapper._sm_scale == 0.3
    assert not wrapper.is_cuda_graph_enabled
    assert wrapper.use_tensor_cores
    assert wrapper.backend == "native"
    assert wrapper.backend_fallback_reason is None
    wrapper.vllm_first_call = False


def test_prefill_as_vllm_calls_it() -> None:
    wrapper = wavefire.BatchPrefillWithPagedKVCacheWrapper(torch.zeros(8, dtype=torch.uint8), "NHD")
    wrapper.plan(
        qo_indptr=ints(0, 3, 4), **PAGED, num_qo_heads=4, num_kv_heads=2, head_dim_qk=16,
        page_size=4, causal=True, sm_scale=0.25, window_left=2, logits_soft_cap=30.0,
        q_data_type=torch.float32, kv_data_type=torch.float32, o_data_type=torch.float32,
        fixed_split_size=-1, disable_split_kv=False,
    )  # fmt: skip
    assert wrapper._causal is True
    assert (wrapper._window_left, wrapper._logits_soft_cap, wrapper._sm_scale) == (2, 30.0, 0.25)
    q, kv = torch.randn(4, 4, 16), cache()
    out, lse = wrapper.run(q, (kv[:, 0], kv[:, 1]), k_scale=1.0, v_scale=1.0, return_lse=True)
    assert lse.shape == (4, 4)
    for b, part in enumerate((slice(0, 3), slice(3, 4))):
        expected, _ = attention(
            q[part], *rows(kv, b), causal=True, window_left=2, sm_scale=0.25, soft_cap=30.0
        )
        close(out[part], expected, torch.float32)


def test_begin_forward_as_sglang_replaces_it() -> None:
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(
        torch.zeros(8, dtype=torch.uint8), "NHD", backend="fa2", use_tensor_cores=False
    )
    arguments = (*(TABLES[n] for n in ("indptr", "indices", "last_page_len")), 4, 2, 16, 4)
    wrapper.begin_forward(
        *arguments, data_type=torch.float8_e4m3fn, q_data_type=torch.float32, non_blocking=True,
        fixed_split_size=None, disable_split_kv=False,
    )  # fmt: skip
    assert wrapper._cached_q_data_type == torch.float32
    assert wrapper._cached_kv_data_type == torch.float8_e4m3fn
    assert wrapper._paged_kv_indices_buf is TABLES["indices"]
    q, kv = torch.randn(2, 4, 16), cache(torch.float8_e4m3fn)
    plain = wrapper.forward(
        q, (kv[:, 0], kv[:, 1]), sm_scale=0.2, logits_soft_cap=0, k_scale=None, v_scale=None
    )
    expect_decode(q, kv.float(), plain, sm_scale=0.2)
    wrapper.begin_forward = functools.partial(fast_decode_plan, wrapper)
    assert wrapper.begin_forward.func == wavefire.fast_decode_plan
    wrapper.begin_forward(
        *arguments, data_type=torch.float8_e4m3fn, q_data_type=torch.float32,
        global_override_indptr_cpu=TABLES["indptr"],
    )  # fmt: skip
    capped = wrapper.forward(q, kv, sm_scale=0.2, logits_soft_cap=5.0)
    expect_decode(q, kv.float(), capped, sm_scale=0.2, soft_cap=5.0)
    again = wrapper.forward(q, kv, sm_scale=0.2)
    assert torch.equal(again, plain), "what a forward sets does not stay"


def graph_wrapper() -> tuple[Any, dict[str, torch.Tensor]]:
    """A paged prefill wrapper in graph mode for two requests, and its buffers."""
    sizes = {"qo_indptr_buf": 3, "paged_kv_indptr_buf": 3, "paged_kv_indices_buf": 8,
             "paged_kv_last_page_len_buf": 2}  # fmt: skip
    buffers = {name: torch.zeros(size, dtype=torch.int32) for name, size in sizes.items()}
    wrapper = wavefire.BatchPrefillWithPagedKVCacheWrapper(
        torch.zeros(8, dtype=torch.uint8), "NHD", backend="fa2", use_cuda_graph=True, **buffers
    )
    return wrapper, buffers


def test_attributes_that_graph_plans_read() -> None:
    wrapper, buffers = graph_wrapper()
    wrapper.begin_forward(
        ints(0, 3, 4), TABLES["indptr"], TABLES["indices"], TABLES["last_page_len"], 4, 2, 16, 4,
        q_data_type=torch.bfloat16, kv_data_type=torch.bfloat16,
    )  # fmt: skip
    for name, buffer in buffers.items():
        assert getattr(wrapper, f"_{name}") is buffer
    assert buffers["paged_kv_indices_buf"][:3].tolist() == [3, 0, 2]
    expected = {
        "_backend": "fa2", "_max_total_num_rows": 4, "_qo_indptr_last": 4, "_max_q_len": 3,
        "_max_kv_len": 5, "_batch_size": 2, "_num_qo_heads": 4, "_num_kv_heads": 2,
        "_page_size": 4, "_cached_q_data_type": torch.bfloat16,
        "_cached_kv_data_type": torch.bfloat16, "_cached_o_data_type": torch.bfloat16,
        "_block_tables": None, "_int_workspace_buffer": None, "_plan_info": None,
        "_pin_memory_int_workspace_buffer": None, "device": torch.device("cpu"),
    }  # fmt: skip
    assert {name: getattr(wrapper, name) for name in expected} == expected
    wrapper._int_workspace_buffer = torch.zeros(4)  # mini-sglang exchanges it
    wrapper._backend = "fa2"
    with pytest.raises(ValueError, match="5 query rows; accepted: up to 4"):
        wrapper.plan(
            ints(0, 3, 5), TABLES["indptr"], TABLES["indices"], TABLES["last_page_len"], 4, 2, 16, 4
        )
    assert buffers["qo_indptr_buf"].tolist() == [0, 3, 4], "a plan that fails changes nothing"


def test_a_graph_is_planned_from_its_buffers() -> None:
    wrapper, buffers = graph_wrapper()
    assert wrapper._cached_module is None, "nothing says dtypes and scale before the first plan"
    tables = (TABLES["indptr"], TABLES["indices"], TABLES["last_page_len"])
    options = {"sm_scale": 0.2, "logits_soft_cap": 5.0, "q_data_type": torch.float32}
    wrapper.plan(ints(0, 3, 4), *tables, 4, 2, 16, 4, **options)

    qo, indptr, indices, last = ints(0, 1, 4), ints(0, 1, 3), ints(1, 3, 0), ints(2, 4)
    for buffer, table in zip(buffers.values(), (qo, indptr, indices, last), strict=True):
        buffer[: len(table)].copy_(table)
    wrapper._plan_info = wrapper._cached_module.plan(
        wrapper._float_workspace_buffer, wrapper._int_workspace_buffer,
        wrapper._pin_memory_int_workspace_buffer, qo, indptr, ints(2, 8), 4, 2, 4, 2, 4, True, 16,
        16, True, -1, -1, False, 0,
    )  # fmt: skip
    plain = wavefire.BatchPrefillWithPagedKVCacheWrapper()
    plain.plan(qo, indptr, indices, last, 4, 2, 16, 4, causal=True, **options)
    q, kv = torch.randn(4, 4, 16), cache()
    assert torch.equal(wrapper.run(q, kv), plain.run(q, kv))
    expected = {"_causal": True, "_batch_size": 2, "_max_q_len": 3, "_max_kv_len": 8}
    assert {name: getattr(wrapper, name) for name in expected} == expected


def test_positional_arguments_of_older_versions() -> None:
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    required = (*(TABLES[n] for n in ("indptr", "indices", "last_page_len")), 4, 2, 16, 4)
    wrapper.plan(*required, "NONE", 1, None, torch.float32)
    q, kv = torch.randn(2, 4, 16), cache()
    expect_decode(q, kv, wrapper.run(q, kv), window_left=1)
    with pytest.raises(TypeError, match="multiple values for argument 'window_left'"):
        wrapper.plan(*required, "NONE", 1, window_left=2)
    with pytest.raises(TypeError, match="takes at most"):
        wrapper.plan(*required, *[None] * 17)


def test_dtypes_of_a_plan() -> None:
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    required = (*(TABLES[n] for n in ("indptr", "indices", "last_page_len")), 4, 2, 16, 4)
    for given, q, kv in (
        ({}, torch.float16, torch.float16),
        ({"data_type": "bfloat16"}, torch.bfloat16, torch.bfloat16),
        ({"q_data_type": "float32"}, torch.float32, torch.float32),
        ({"q_data_type": "float32", "data_type": "float16"}, torch.float32, torch.float16),
        ({"data_type": "float16", "kv_data_type": "float32"}, torch.float16, torch.float32),
    ):
        wrapper.plan(*required, **given)
        assert (wrapper._cached_q_data_type, wrapper._cached_kv_data_type) == (q, kv), given


def test_a_partial_state_is_joined() -> None:
    kv = cache()
    q = torch.randn(2, 4, 16)
    wrapper = wavefire.BatchPrefillWithPagedKVCacheWrapper()
    plan = functools.partial(
        wrapper.plan, ints(0, 1, 2), num_qo_heads=4, num_kv_heads=2, head_dim_qk=16, page_size=4,
        q_data_type=torch.float32,
    )  # fmt: skip
    plan(ints(0, 1, 2), ints(3, 2), ints(4, 2))
    first = wrapper.run(q, kv, return_lse=True)
    plan(ints(0, 1, 1), ints(0), ints(1, 0))
    joined, lse = wrapper.run(q, kv, return_lse=True, partial_state=first)
    assert torch.equal(wrapper.run(q, kv, partial_state=first), joined)
    expected, expected_lse = attention(q[:1], *rows(kv, 0))
    close(joined[:1], expected, torch.float32)
    np.testing.assert_allclose(lse[:1], expected_lse, rtol=1e-5, atol=1e-5)
    assert torch.equal(joined[1], first[0][1])


def test_workspace_size_is_what_a_plan_uses() -> None:
    for wrapper, arguments in (
        (wavefire.BatchDecodeWithPagedKVCacheWrapper(), (*TABLES.values(), 4, 2, 16, 4)),
        (
            wavefire.BatchPrefillWithPagedKVCacheWrapper(),
            (ints(0, 3, 4), *PAGED.values(), 4, 2, 16, 4),
        ),
        (wavefire.BatchPrefillWithRaggedKVCacheWrapper(), (ints(0, 3), ints(0, 9), 4, 2, 16)),
    ):
        size = wrapper.workspace_size(*arguments, q_data_type="float32")
        wrapper.plan(*arguments, q_data_type="float32")
        assert size == (wrapper._batch.workspace_bytes(), 0)
        wrapper.reset_workspace_buffer(torch.zeros(1), torch.zeros(1))
        assert wrapper._float_workspace_buffer.shape == (1,)
    buffers = ints(0, 0, 0), ints(*range(8)), ints(0, 0)
    graph = wavefire.CUDAGraphBatchDecodeWithPagedKVCacheWrapper(None, *buffers)
    assert isinstance(graph, wavefire.BatchDecodeWithPagedKVCacheWrapper)
    tables = (ints(0, 1), ints(3), ints(2))  # of another batch size
    assert graph.workspace_size(*tables, 4, 2, 16, 4, q_data_type="float32")[0] > 0
    assert buffers[0].tolist() == [0, 0, 0], "it only asks"
    with pytest.raises(RuntimeError, match=r"run\(\) before plan"):
        graph.run(torch.zeros(1, 4, 16), cache())


def test_legacy_calls_before_a_plan() -> None:
    for wrapper, rest in (
        (wavefire.BatchDecodeWithPagedKVCacheWrapper(), (cache(),)),
        (wavefire.BatchPrefillWithPagedKVCacheWrapper(), (cache(),)),
        (wavefire.BatchPrefillWithRaggedKVCacheWrapper(), (torch.zeros(1, 2, 16),) * 2),
    ):
        with pytest.raises(RuntimeError, match=r"forward\(\) before plan"):
            wrapper.forward(torch.zeros(2, 4, 16), *rest)
        assert wrapper.end_forward() is None


@pytest.mark.parametrize("entries", [1, 15, 16, 17, 4095, 4096, 4113])
def test_every_page_index_is_checked(entries: int) -> None:
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    indptr, last = torch.tensor([0, entries]).int(), torch.tensor([1]).int()
    q, cache = torch.zeros(1, 1, 64), torch.zeros(4, 2, 1, 1, 64)

    def plan(indices: torch.Tensor) -> None:
        wrapper.plan(indptr, indices, last, 1, 1, 64, 1, q_data_type=q.dtype)

    for at in {*range(min(entries, 33)), *range(max(0, entries - 33), entries)}:
        for indices in (torch.full((entries,), 3).int(), torch.full((2 * entries,), 3).int()[::2]):
            indices[at] = -1
            with pytest.raises(ValueError, match=f"'indices' is -1 at {at}; accepted"):
                plan(indices)
            indices[at] = 4
            plan(indices)
            with pytest.raises(ValueError, match=r"'indices' is page 4; accepted: .* below 4"):
                wrapper.run(q, cache)
    plan(torch.full((entries,), 3).int())
    wrapper.run(q, cache)
