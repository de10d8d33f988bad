"""One request by every operation that can compute it: what holds for one holds for all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import wavefire
from compare import attention_close as close
from compare import ints, lse_close
from reference import attention

Tensor = torch.Tensor
FLOAT8 = torch.float8_e4m3fn


def paged(x: Tensor, page_size: int) -> Tensor:
    """Rows on pages of their own, in reverse; the last page ends with NaN."""
    pages = -(-len(x) // page_size)
    cache = torch.full((pages * page_size, *x.shape[1:]), float("nan")).to(x.dtype)
    cache[: len(x)] = x
    return cache.view(pages, page_size, *x.shape[1:]).flip(0)


def every_path(
    q: Tensor, k: Tensor, v: Tensor, scales: dict[str, Any] | None = None,
    sinks: Tensor | None = None, page_size: int = 16, **options: Any,
) -> Iterator[tuple[str, Tensor, Tensor]]:  # fmt: skip
    """Name, output and LSE of each. Those of decode are there for one query token, the ones without
    sinks where there are none.
    """
    (n, heads, dim), (kv_len, kv_heads, _), scales = q.shape, k.shape, scales or {}
    pages = -(-kv_len // page_size)
    tables = ints(0, pages), torch.arange(pages).flip(0).int(), ints((kv_len - 1) % page_size + 1)
    cache = paged(k, page_size), paged(v, page_size)
    types = {"q_data_type": q.dtype, "kv_data_type": k.dtype}

    wrapper = wavefire.BatchPrefillWithPagedKVCacheWrapper()
    wrapper.plan(ints(0, n), *tables, heads, kv_heads, dim, page_size, **types, **options)
    yield "paged", *wrapper.run(q, cache, return_lse=True, sinks=sinks, **scales)
    if sinks is None:
        out = wavefire.single_prefill_with_kv_cache(q, k, v, return_lse=True, **options, **scales)
        yield "single", *out
        ragged = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
        ragged.plan(ints(0, n), ints(0, kv_len), heads, kv_heads, dim, **types, **options)
        yield "ragged", *ragged.run(q, k, v, return_lse=True, **scales)
    if n == 1:
        options.pop("causal", None)
        decode = wavefire.BatchDecodeWithPagedKVCacheWrapper()
        decode.plan(*tables, heads, kv_heads, dim, page_size, **types, **options)
        yield "decode", *decode.run(q, cache, return_lse=True, sinks=sinks, **scales)
    if n == 1 and sinks is None:
        out, lse = wavefire.single_decode_with_kv_cache(
            q[0], k, v, return_lse=True, **options, **scales
        )
        yield "single decode", out[None], lse[None]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize("length", [1, 15, 16, 17, 64, 65, 1000])
def test_weights_sum_to_one(dtype: torch.dtype, dim: int, length: int) -> None:
    q, k = torch.randn(1, 4, dim).to(dtype), torch.randn(length, 2, dim).to(dtype)
    for name, out, _ in every_path(q, k, torch.ones_like(k)):
        assert (out == 1).all(), name


@pytest.mark.parametrize(
    ("window", "value", "lse"),
    [(-1, 3.5, 3.0), (0, 7.0, 0.0), (2, 6.0, 1.58496), (7, 3.5, 3.0), (100, 3.5, 3.0)],
)
def test_windows(window: int, value: float, lse: float) -> None:
    k, v = torch.zeros(8, 1, 64), torch.arange(8.0)[:, None, None].expand(8, 1, 64).contiguous()
    for tokens in (1, 4):  # the last of several sees what one sees
        q = torch.zeros(tokens, 1, 64)
        for name, out, s in every_path(q, k, v, page_size=3, causal=True, window_left=window):
            np.testing.assert_allclose(out[-1], value, atol=1e-5, err_msg=name)
            np.testing.assert_allclose(s[-1], lse, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("kv_len", [8, 9, 20, 37])
def test_windows_over_a_float8_cache_of_wide_heads(kv_len: int) -> None:
    q, k = torch.zeros(8, 2, 256).bfloat16(), torch.zeros(kv_len, 1, 256).to(FLOAT8)
    v = (torch.arange(kv_len) % 8).float()[:, None, None].expand(-1, 1, 256).to(FLOAT8)
    expected, lse = attention(q, k.float(), v.float(), causal=True, window_left=3)
    for _, out, s in every_path(q, k, v, causal=True, window_left=3):
        close(out, expected, torch.bfloat16)
        lse_close(s, lse)


@pytest.mark.parametrize("keys", [1, 2, 4096])  # many: the keys are split
def test_logits_far_below_zero(keys: int) -> None:
    q, k = torch.full((1, 1, 128), 64.0).bfloat16(), torch.full((keys, 1, 128), -64.0).bfloat16()
    for name, out, lse in every_path(q, k, torch.ones_like(k)):
        assert (out == 1).all(), name
        assert abs(float(lse) - (-66855.859 + math.log2(keys))) < 0.02, name


@pytest.mark.parametrize(
    ("k_scale", "v_scale"),
    [
        (0.25, 0.5),
        (torch.tensor(0.25), torch.tensor(0.5)),
        (torch.tensor([0.25]), torch.tensor([0.5])),
        (torch.tensor([0.25, 0.25]), torch.tensor([0.5, 0.5])),
    ],
)
def test_scales_of_every_form(k_scale: object, v_scale: object) -> None:
    q = torch.ones(1, 2, 64).bfloat16()
    k = torch.stack([torch.zeros(2, 64), torch.ones(2, 64)])
    scales = {"k_scale": k_scale, "v_scale": v_scale}
    for name, out, lse in every_path(q, k.to(FLOAT8), (2 * k).to(FLOAT8), scales, sm_scale=1 / 8):
        assert abs(float(out.float().mean()) - 0.8808) < 4e-3, name
        assert abs(float(lse.mean()) - 3.0685) < 1e-3, name
    for wrong in (torch.ones(1, 2), torch.ones(3), torch.ones(4, 1, 1)):
        with pytest.raises(ValueError, match=r"'k_(head_)?scale' .*; accepted: "):
            next(every_path(q, k.to(FLOAT8), k.to(FLOAT8), {"k_scale": wrong}))


@pytest.mark.parametrize(("sink", "expected"), [(0.0, 2 / 3), (-np.inf, 1.0), (np.log(2), 1 / 2)])
def test_sinks(sink: float, expected: float) -> None:
    q, k = torch.zeros(1, 2, 64), torch.randn(2, 1, 64)
    names = []
    for name, out, lse in every_path(q, k, torch.ones(2, 1, 64), sinks=torch.full((2,), sink)):
        np.testing.assert_allclose(out, expected, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(lse, np.log2(2 + np.exp(sink)), atol=1e-5, err_msg=name)
        names.append(name)
    assert names == ["paged", "decode"]
    ragged = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
    ragged.plan(ints(0, 1), ints(0, 2), 2, 1, 64, q_data_type="float32")
    with pytest.raises(TypeError, match="unexpected keyword argument 'sinks'"):
        ragged.run(q, k, k, sinks=torch.zeros(2))


@pytest.mark.parametrize("lengths", [[0, 5, 1], [0, 0, 0]])
@pytest.mark.parametrize("garbage", [0, 16])
def test_requests_without_keys(lengths: list[int], garbage: int) -> None:
    """Their rows are written whatever was there; what their last page is said to hold is unused."""
    counts = [1 if n else 0 for n in lengths]
    kv_indptr = torch.tensor(np.cumsum([0, *counts])).int()
    tables = kv_indptr, torch.arange(sum(counts)).int(), ints(*(n or garbage for n in lengths))
    rows = torch.tensor(np.cumsum([0, *lengths])).int()
    cache = torch.randn(3, 2, 16, 1, 64)
    for each in (1, 2):
        q, qo_indptr = torch.randn(3 * each, 1, 64), torch.arange(4).int() * each
        prefill = wavefire.BatchPrefillWithPagedKVCacheWrapper()
        prefill.plan(qo_indptr, *tables, 1, 1, 64, 16, q_data_type="float32")
        ragged = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
        ragged.plan(qo_indptr, rows, 1, 1, 64, q_data_type="float32")
        runs = [(prefill, (cache,)), (ragged, (torch.randn(int(rows[-1]), 1, 64),) * 2)]
        if each == 1:
            decode = wavefire.BatchDecodeWithPagedKVCacheWrapper()
            decode.plan(*tables, 1, 1, 64, 16, q_data_type="float32")
            runs.append((decode, (cache,)))
        for wrapper, kv in runs:
            out, lse = torch.full_like(q, math.nan), torch.full((len(q), 1), math.nan)
            wrapper.run(q, *kv, out=out, lse=lse)
            empty = torch.tensor(lengths).repeat_interleave(each) == 0
            assert (out[empty] == 0).all()
            assert torch.isneginf(lse[empty]).all()
            assert torch.isfinite(out[~empty]).all()
            assert torch.isfinite(lse[~empty]).all()


@pytest.mark.parametrize("window", [-1, 15000])
@pytest.mark.parametrize("rows", [1, 30])
def test_neighbours_do_not_count_where_splits_are_fixed(rows: int, window: int) -> None:
    """A long request alone, before and after others: the same bits. (Where two threads split the
    one row freely they are not.)
    """
    long = torch.randn(rows, 2, 64), torch.randn(20000, 1, 64), torch.randn(20000, 1, 64)
    short = [torch.randn(n, h, 64) for n, h in ((1, 2), (40, 1), (40, 1))]
    results = []
    for before, after in ((0, 0), (0, 20), (20, 0), (3, 9)):
        batch = [short] * before + [long] + [short] * after
        q, k, v = (torch.cat([request[i] for request in batch]) for i in range(3))
        indptr = [torch.tensor(np.cumsum([0, *(len(r[i]) for r in batch)])).int() for i in (0, 1)]
        for options in ({"fixed_split_size": 512}, {"disable_split_kv": True}):
            ragged = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
            ragged.plan(
                *indptr, 2, 1, 64, causal=True, window_left=window, q_data_type="float32", **options
            )
            out, lse = ragged.run(q, k, v, return_lse=True)
            results.append((out[before:][:rows], lse[before:][:rows]))
    for i in (0, 1):
        for result in results[2 + i :: 2]:
            assert torch.equal(result[0], results[i][0])
            assert torch.equal(result[1], results[i][1])


@pytest.mark.parametrize("page_size", [1, 16])
def test_pages_far_apart(page_size: int) -> None:
    """The addresses of the last ones need more than 32 bits, in elements too."""
    heads, dim = 8, 128
    last = 2**32 // (page_size * heads * dim)
    cache = [torch.empty(last + 2, page_size, heads, dim, dtype=FLOAT8) for _ in range(2)]
    k, v = (torch.randn(3, heads, dim).to(FLOAT8) for _ in range(2))
    q, each = torch.randn(1, heads, dim), -(-3 // page_size)
    results = []
    for first in (0, last // 2 - each, last // 2, last - each, last - each + 2):
        tables = torch.arange(first, first + each).int(), ints(0, each), ints(2 % page_size + 1)
        wavefire.append_paged_kv_cache(k, v, ints(0, 0, 0), ints(0, 1, 2), tuple(cache), *tables)
        shape = (heads, heads, dim, page_size)
        types = {"q_data_type": "float32", "kv_data_type": FLOAT8}
        prefill = wavefire.BatchPrefillWithPagedKVCacheWrapper()
        prefill.plan(ints(0, 1), tables[1], tables[0], tables[2], *shape, **types)
        decode = wavefire.BatchDecodeWithPagedKVCacheWrapper()
        decode.plan(tables[1], tables[0], tables[2], *shape, **types)
        results.append([w.run(q, tuple(cache)) for w in (prefill, decode)])
    for result in results:
        assert torch.equal(result[0], results[0][0])
        assert torch.equal(result[1], results[0][1])
    close(results[0][0], attention(q, k.float(), v.float())[0], torch.float32)


def test_latent_pages_far_apart() -> None:
    ckv, kpe = torch.randn(1, 512).to(FLOAT8), torch.randn(1, 64).to(FLOAT8)
    caches = [torch.empty(262145, 32, dim, dtype=FLOAT8) for dim in (512, 64)]  # never touched
    for page in (3, 131071, 131072, 262144):
        wavefire.append_paged_mla_kv_cache(
            ckv, kpe, ints(0), ints(31), *caches, ints(page), ints(0, 1), ints(32)
        )
        for row, cache in zip((ckv, kpe), caches, strict=True):
            assert torch.equal(cache[page, 31].view(torch.uint8), row[0].view(torch.uint8))


@pytest.mark.parametrize("stride", [0, 1, 2**40])
def test_the_stride_of_one_head_may_be_anything(stride: int) -> None:
    q, k = torch.randn(2, 4, 64), torch.randn(20, 1, 64)
    odd = torch.as_strided(k, k.shape, (64, stride, 1))
    for plain, other in zip(every_path(q, k, k), every_path(q, odd, odd), strict=True):
        assert torch.equal(plain[1], other[1]), plain[0]


def test_ragged_rows_behind_their_heads() -> None:
    q, k = torch.randn(5, 4, 64), torch.randn(9, 2, 64)
    results = []
    for layout, rows in (("NHD", k), ("HND", k.transpose(0, 1).contiguous())):
        ragged = wavefire.BatchPrefillWithRaggedKVCacheWrapper(None, layout)
        ragged.plan(ints(0, 2, 5), ints(0, 3, 9), 4, 2, 64, q_data_type="float32")
        results.append(ragged.run(q, rows, rows))
    assert torch.equal(*results)


def test_tables_of_other_lengths_are_refused() -> None:
    decode = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    prefill = wavefire.BatchPrefillWithPagedKVCacheWrapper()
    for indptr, last in ((ints(0, 1), ints(1, 1)), (ints(0, 1, 2), ints(1)), (ints(0), ints(1))):
        with pytest.raises(ValueError, match="accepted: "):
            decode.plan(indptr, ints(0, 1), last, 2, 2, 64, 16)
        with pytest.raises(ValueError, match="accepted: "):
            prefill.plan(ints(0, 1, 2), indptr, ints(0, 1), last, 2, 2, 64, 16)
