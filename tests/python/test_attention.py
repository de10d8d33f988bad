"""Attention through FlashInfer's API."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import wavefire
from compare import attention_close as close
from compare import ints, lse_close
from reference import attention


class Paged:
    """A paged cache with the given lengths; unused slots are NaN."""

    def __init__(self, lens: list[int], heads: int, dim: int, page_size: int, layout: str = "NHD",
                 dtype: torch.dtype = torch.float32) -> None:  # fmt: skip
        counts = [-(-n // page_size) for n in lens]
        self.indptr = torch.tensor(np.cumsum([0, *counts]), dtype=torch.int32)
        pages = int(self.indptr[-1]) * 2 + 1
        self.indices = torch.randperm(pages)[: int(self.indptr[-1])].to(torch.int32)
        self.last = torch.tensor(
            [(n - 1) % page_size + 1 if n else 0 for n in lens], dtype=torch.int32
        )
        shape = (
            (pages, 2, page_size, heads, dim)
            if layout == "NHD"
            else (pages, 2, heads, page_size, dim)
        )
        self.cache = torch.full(shape, float("nan"), dtype=dtype)
        self.k = [torch.randn(n, heads, dim).to(dtype) for n in lens]
        self.v = [torch.randn(n, heads, dim).to(dtype) for n in lens]
        view = self.cache if layout == "NHD" else self.cache.transpose(2, 3)
        for b, n in enumerate(lens):
            for j in range(n):
                page = self.indices[self.indptr[b] + j // page_size]
                view[page, 0, j % page_size] = self.k[b][j]
                view[page, 1, j % page_size] = self.v[b][j]
        self.page_size = page_size


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("layout", ["NHD", "HND"])
@pytest.mark.parametrize("causal", [False, True])
def test_single_prefill(dtype: torch.dtype, layout: str, causal: bool) -> None:
    q, k, v = torch.randn(19, 6, 64), torch.randn(45, 2, 64), torch.randn(45, 2, 64)
    q, k, v = (x.to(dtype) for x in (q, k, v))
    kk, vv = (k, v) if layout == "NHD" else (k.transpose(0, 1), v.transpose(0, 1))
    out, lse = wavefire.single_prefill_with_kv_cache(
        q, kk, vv, causal=causal, kv_layout=layout, return_lse=True
    )
    expected, expected_lse = attention(q, k, v, causal=causal)
    assert out.dtype == dtype
    close(out, expected, dtype)
    lse_close(lse, expected_lse)


def test_single_decode_returns_rank_two() -> None:
    q, k, v = torch.randn(8, 128), torch.randn(77, 2, 128), torch.randn(77, 2, 128)
    out, lse = wavefire.single_decode_with_kv_cache(q, k, v, return_lse=True)
    assert out.shape == (8, 128)
    assert lse.shape == (8,)
    close(out[None], attention(q[None], k, v)[0], torch.float32)


@pytest.mark.parametrize("page_size", [1, 4, 16])
@pytest.mark.parametrize("layout", ["NHD", "HND"])
@pytest.mark.parametrize("group", [1, 3, 8])
def test_batch_decode(page_size: int, layout: str, group: int) -> None:
    lens = [5, 0, 130, 1, 64]
    paged = Paged(lens, 2, 64, page_size, layout, torch.bfloat16)
    q = torch.randn(len(lens), 2 * group, 64).bfloat16()
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(
        torch.empty(16, dtype=torch.uint8), layout
    )
    wrapper.plan(
        paged.indptr,
        paged.indices,
        paged.last,
        2 * group,
        2,
        64,
        page_size,
        q_data_type=torch.bfloat16,
    )
    out, lse = wrapper.run(q, paged.cache, return_lse=True)
    for b in range(len(lens)):
        expected, expected_lse = attention(q[b : b + 1], paged.k[b], paged.v[b])
        close(out[b : b + 1], expected, torch.bfloat16)
        lse_close(lse[b : b + 1], expected_lse)
    assert torch.equal(wrapper.run(q, (paged.cache[:, 0], paged.cache[:, 1])), out)


@pytest.mark.parametrize("page_size", [1, 16])
@pytest.mark.parametrize("window", [-1, 0, 7])
@pytest.mark.parametrize("soft_cap", [None, 3.0])
def test_batch_prefill_paged(page_size: int, window: int, soft_cap: float | None) -> None:
    q_lens, kv_lens = [3, 0, 40, 1], [20, 9, 41, 0]
    paged = Paged(kv_lens, 2, 64, page_size)
    qo_indptr = torch.tensor(np.cumsum([0, *q_lens]), dtype=torch.int32)
    q = torch.randn(int(qo_indptr[-1]), 4, 64)
    wrapper = wavefire.BatchPrefillWithPagedKVCacheWrapper()
    wrapper.plan(
        qo_indptr, paged.indptr, paged.indices, paged.last, 4, 2, 64, page_size, causal=True,
        window_left=window, logits_soft_cap=soft_cap, q_data_type="float32",
    )  # fmt: skip
    out, lse = wrapper.run(q, paged.cache, return_lse=True)
    for b in range(len(q_lens)):
        rows = slice(int(qo_indptr[b]), int(qo_indptr[b + 1]))
        expected, expected_lse = attention(
            q[rows],
            paged.k[b],
            paged.v[b],
            causal=True,
            window_left=window,
            soft_cap=soft_cap or 0.0,
        )
        close(out[rows], expected, torch.float32)
        lse_close(lse[rows], expected_lse)


def test_ragged_prefill_with_different_head_dims() -> None:
    q_lens, kv_lens = [5, 33], [9, 40]
    qo, kv = (torch.tensor(np.cumsum([0, *x]), dtype=torch.int32) for x in (q_lens, kv_lens))
    q, k, v = torch.randn(38, 4, 192), torch.randn(49, 4, 192), torch.randn(49, 4, 128)
    wrapper = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
    wrapper.plan(qo, kv, 4, 4, 192, 128, causal=True, q_data_type=torch.float32)
    out = wrapper.run(q, k, v)
    for b in range(2):
        rows, keys = slice(int(qo[b]), int(qo[b + 1])), slice(int(kv[b]), int(kv[b + 1]))
        close(out[rows], attention(q[rows], k[keys], v[keys], causal=True)[0], torch.float32)


def test_a_custom_mask_replaces_causal() -> None:
    mask = torch.rand(7, 20) < 0.5
    mask[2] = False
    q, k, v = torch.randn(7, 2, 64), torch.randn(20, 2, 64), torch.randn(20, 2, 64)
    out, lse = wavefire.single_prefill_with_kv_cache(
        q, k, v, custom_mask=mask, causal=True, return_lse=True
    )
    expected, expected_lse = attention(q, k, v, mask=mask.numpy())
    close(out, expected, torch.float32)
    lse_close(lse, expected_lse)
    assert torch.equal(out[2], torch.zeros_like(out[2]))
    assert torch.isneginf(lse[2]).all()
    packed = wavefire.packbits(mask.reshape(-1), bitorder="little")
    assert torch.equal(
        wavefire.single_prefill_with_kv_cache(q, k, v, packed_custom_mask=packed), out
    )


def test_packed_masks_of_a_batch_are_padded_to_bytes_for_each_request() -> None:
    q_lens, kv_lens = [3, 5, 2], [7, 9, 3]  # 21, 45, 6 bits
    qo, kv = (torch.tensor(np.cumsum([0, *x]), dtype=torch.int32) for x in (q_lens, kv_lens))
    q, k, v = torch.randn(10, 2, 64), torch.randn(19, 2, 64), torch.randn(19, 2, 64)
    masks = [torch.rand(a, b) < 0.6 for a, b in zip(q_lens, kv_lens, strict=True)]
    flat = torch.cat([m.reshape(-1) for m in masks])
    bits = torch.tensor(np.cumsum([0] + [m.numel() for m in masks]), dtype=torch.int32)
    packed, _ = wavefire.segment_packbits(flat, bits, bitorder="little")
    outs = []
    for given in ({"custom_mask": flat}, {"packed_custom_mask": packed}):
        wrapper = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
        wrapper.plan(qo, kv, 2, 2, 64, q_data_type="float32", **given)
        outs.append(wrapper.run(q, k, v))
    assert torch.equal(outs[0], outs[1])
    for b, m in enumerate(masks):
        rows, keys = slice(int(qo[b]), int(qo[b + 1])), slice(int(kv[b]), int(kv[b + 1]))
        close(outs[0][rows], attention(q[rows], k[keys], v[keys], mask=m.numpy())[0], torch.float32)


@pytest.mark.parametrize("kv_len", range(4, 41, 3))
@pytest.mark.parametrize("q_len", [1, 2, 4, 8])
def test_every_query_of_a_block_has_its_own_window(kv_len: int, q_len: int) -> None:
    if q_len > kv_len:
        q_len = kv_len
    q, k = torch.zeros(q_len, 1, 64), torch.zeros(kv_len, 1, 64)
    v = torch.arange(float(kv_len))[:, None, None].expand(kv_len, 1, 64).contiguous()
    out = wavefire.single_prefill_with_kv_cache(q, k, v, causal=True, window_left=3)
    for i in range(q_len):
        position = i + kv_len - q_len
        assert abs(float(out[i, 0, 0]) - np.mean(range(max(0, position - 3), position + 1))) < 1e-4


def test_rows_without_a_visible_key_are_empty() -> None:
    q, k, v = torch.zeros(5, 1, 64), torch.zeros(2, 1, 64), torch.ones(2, 1, 64)
    out, lse = wavefire.single_prefill_with_kv_cache(q, k, v, causal=True, return_lse=True)
    assert out[:, 0, 0].tolist() == [0, 0, 0, 1, 1]
    assert lse[:, 0].tolist() == [-np.inf] * 3 + [0, 1]


def test_empty_requests_overwrite_stale_outputs() -> None:
    paged = Paged([0, 5, 1], 1, 64, 16)
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    last = paged.last.clone()
    last[0] = 16  # whatever it holds
    wrapper.plan(paged.indptr, paged.indices, last, 1, 1, 64, 16, q_data_type="float32")
    out, lse = torch.full((3, 1, 64), float("nan")), torch.full((3, 1), float("nan"))
    returned = wrapper.run(torch.randn(3, 1, 64), paged.cache, out=out, lse=lse, return_lse=True)
    assert returned[0] is out
    assert returned[1] is lse
    assert torch.equal(out[0], torch.zeros(1, 64))
    assert torch.isneginf(lse[0]).all()
    assert torch.isfinite(out).all()


def test_pages_far_apart_need_64_bit_addresses() -> None:
    heads, dim, page_size = 8, 128, 16
    cache = torch.empty(
        262145, 2, page_size, heads, dim, dtype=torch.float8_e4m3fn
    )  # 8 GiB, never touched
    k = torch.randn(3, heads, dim).to(torch.float8_e4m3fn)
    v = torch.randn(3, heads, dim).to(torch.float8_e4m3fn)
    q = torch.randn(1, heads, dim)
    ints = lambda *x: torch.tensor(x, dtype=torch.int32)  # noqa: E731
    results = []
    for page in (3, 65536, 131071, 131072, 262144):
        wavefire.append_paged_kv_cache(
            k, v, ints(0, 0, 0), ints(0, 1, 2), cache, ints(page), ints(0, 1), ints(3)
        )
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
        wrapper.plan(
            ints(0, 1), ints(page), ints(3), heads, heads, dim, page_size, q_data_type="float32",
            kv_data_type=torch.float8_e4m3fn,
        )  # fmt: skip
        results.append(wrapper.run(q, cache))
    assert all(torch.equal(r, results[0]) for r in results)
    close(results[0], attention(q, k, v)[0], torch.float32)


def test_fixed_splits_make_results_independent_of_the_batch() -> None:
    paged = Paged([900, 33, 500], 2, 64, 16)
    q = torch.randn(3, 4, 64)
    outs = []
    for rows in ([0], [0, 1, 2]):
        counts = [int(paged.indptr[b + 1] - paged.indptr[b]) for b in rows]
        indices = torch.cat([paged.indices[paged.indptr[b] : paged.indptr[b + 1]] for b in rows])
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
        wrapper.plan(
            torch.tensor(np.cumsum([0, *counts]), dtype=torch.int32),
            indices,
            paged.last[rows],
            4,
            2,
            64,
            16,
            q_data_type="float32",
            fixed_split_size=8,
        )
        outs.append(wrapper.run(q[rows], paged.cache)[0])
    assert torch.equal(outs[0], outs[1])


def test_numpy_in_numpy_out() -> None:
    q, k, v = (
        np.random.default_rng(0).standard_normal((n, 2, 64), dtype=np.float32) for n in (3, 9, 9)
    )
    out, lse = wavefire.single_prefill_with_kv_cache(q, k, v, return_lse=True)
    assert isinstance(out, np.ndarray)
    expected, expected_lse = attention(*(torch.from_numpy(x) for x in (q, k, v)))
    np.testing.assert_allclose(out, expected, atol=1e-5)
    np.testing.assert_allclose(lse, expected_lse, atol=1e-5)


def test_legacy_names() -> None:
    paged = Paged([20], 2, 64, 16)
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    wrapper.begin_forward(
        paged.indptr, paged.indices, paged.last, 4, 2, 64, 16, "NONE", -1, None, "float32"
    )
    q = torch.randn(1, 4, 64)
    out = wrapper.forward(q, paged.cache)
    assert torch.equal(out, wrapper.run_return_lse(q, paged.cache)[0])
    capped = wrapper.forward(q, paged.cache, logits_soft_cap=1.0)
    close(capped, attention(q, paged.k[0], paged.v[0], soft_cap=1.0)[0], torch.float32)
    wrapper.end_forward()


def test_graph_mode_keeps_the_callers_buffers_up_to_date() -> None:
    buffers = [torch.zeros(n, dtype=torch.int32) for n in (3, 8, 2)]
    wrapper = wavefire.CUDAGraphBatchDecodeWithPagedKVCacheWrapper(None, *buffers)
    paged = Paged([20, 5], 1, 64, 16)
    wrapper.plan(paged.indptr, paged.indices, paged.last, 1, 1, 64, 16, q_data_type="float32")
    assert torch.equal(buffers[0], paged.indptr)
    assert torch.equal(buffers[1][:3], paged.indices)
    other = Paged([1], 1, 64, 16)
    with pytest.raises(ValueError, match=r"batch size should be fixed in cudagraph mode"):
        wrapper.plan(other.indptr, other.indices, other.last, 1, 1, 64, 16, q_data_type="float32")
    with pytest.raises(ValueError, match=r"should be a torch.Tensor in cudagraph mode"):
        wavefire.BatchDecodeWithPagedKVCacheWrapper(None, use_cuda_graph=True)


def test_an_lse_that_is_given_is_written() -> None:
    """Whether or not it is returned."""
    q, kv = torch.randn(3, 4, 64), torch.randn(3, 2, 64)
    ragged = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
    ragged.plan(ints(0, 3), ints(0, 3), 4, 2, 64, q_data_type="float32")
    expected = ragged.run(q, kv, kv, return_lse=True)
    lse = torch.full((3, 4), float("nan"))
    assert torch.equal(ragged.run(q, kv, kv, lse=lse), expected[0])
    assert torch.equal(lse, expected[1])
    with pytest.raises(ValueError, match=r"'lse' is float32\[4, 3\]; accepted: float32\[3, 4\]"):
        ragged.run(q, kv, kv, lse=lse.T.contiguous())


def test_scales_are_given_once() -> None:
    q = torch.randn(3, 2, 64)
    call = wavefire.single_prefill_with_kv_cache
    with pytest.raises(ValueError, match="'scale_k' and 'k_scale' are given; accepted: one of th"):
        call(q, q, q, scale_k=torch.ones(2), k_scale=2.0)
    assert torch.equal(call(q, q, q, scale_v=torch.full((2,), 2.0)), call(q, q, q, v_scale=2.0))


def test_a_batch_of_nothing() -> None:
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    empty = torch.zeros(0, dtype=torch.int32)
    wrapper.plan(ints(0), empty, empty, 4, 2, 64, 16, q_data_type="float32")
    assert wrapper.run(torch.zeros(0, 4, 64), torch.zeros(1, 2, 16, 2, 64)).shape == (0, 4, 64)


def test_merging_halves_gives_the_whole() -> None:
    q, k, v = torch.randn(5, 4, 64), torch.randn(4096, 4, 64), torch.randn(4096, 4, 64)
    whole, whole_lse = wavefire.single_prefill_with_kv_cache(q, k, v, return_lse=True)
    a = wavefire.single_prefill_with_kv_cache(q, k[:2048], v[:2048], return_lse=True)
    b = wavefire.single_prefill_with_kv_cache(q, k[2048:], v[2048:], return_lse=True)
    out, lse = wavefire.merge_state(*a, *b)
    assert torch.allclose(out, whole, atol=1e-5)
    assert torch.allclose(lse, whole_lse, atol=1e-5)


def test_merging_with_an_empty_part_changes_nothing() -> None:
    v, s = torch.full((1, 1, 8), 3.0), torch.tensor([[1.5]])
    nothing, minus = torch.full((1, 1, 8), float("nan")), torch.tensor([[-np.inf]])
    for pair in ((v, s, nothing, minus), (nothing, minus, v, s)):
        out, lse = wavefire.merge_state(*pair)
        assert torch.equal(out, v)
        assert torch.equal(lse, s)
    out, lse = wavefire.merge_state(nothing, minus, nothing, minus)
    assert torch.equal(out, torch.zeros_like(out))
    assert torch.isneginf(lse).all()
    kept, kept_s = v.clone(), s.clone()
    wavefire.merge_state_in_place(kept, kept_s, v + 1, s, mask=torch.tensor([False]))
    assert torch.equal(kept, v)
    out, lse = wavefire.merge_states(torch.zeros(2, 0, 1, 8), torch.zeros(2, 0, 1))
    assert torch.isneginf(lse).all()
    with pytest.raises(ValueError, match=r"'s' is float16"):
        wavefire.merge_state_in_place(v, s.half(), v, s)
