"""Faults that systems like this one have had: small inputs, and the numbers that are right.

More of them are beside what they concern, in the other files.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
import torch
import wavefire
from compare import attention_close as close
from compare import ints, lse_close
from reference import attention

single = wavefire.single_prefill_with_kv_cache
Forward = Callable[..., tuple[torch.Tensor, torch.Tensor]]


def paged(k: list[torch.Tensor], v: list[torch.Tensor], page_size: int, order: str = "random"):
    """The requests' rows in a cache; unused slots and pages hold NaN. Cache and tables."""
    counts = [-(-len(x) // page_size) for x in k]
    total = sum(counts)
    pages = torch.randperm(total + 3)[:total] if order == "random" else torch.arange(total).flip(0)
    cache = torch.full((total + 3, 2, page_size, *k[0].shape[1:]), float("nan")).to(k[0].dtype)
    at = 0
    for rows_k, rows_v, count in zip(k, v, counts, strict=True):
        for token in range(len(rows_k)):
            page, slot = pages[at + token // page_size], token % page_size
            cache[page, 0, slot], cache[page, 1, slot] = rows_k[token], rows_v[token]
        at += count
    last = [(len(x) - 1) % page_size + 1 if len(x) else 0 for x in k]
    indptr = torch.tensor(np.cumsum([0, *counts]), dtype=torch.int32)
    return cache, (indptr, pages.int(), torch.tensor(last, dtype=torch.int32))


def decode(q: torch.Tensor, k: list, v: list, page_size: int, **options: object):
    cache, tables = paged(k, v, page_size)
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    wrapper.plan(
        *tables, q.shape[1], k[0].shape[1], q.shape[2], page_size, q_data_type=q.dtype, **options
    )
    return wrapper.run(q, cache, return_lse=True)


def prefill(q: list, k: list, v: list, page_size: int, backend: str = "auto", **options: object):
    cache, tables = paged(k, v, page_size)
    wrapper = wavefire.BatchPrefillWithPagedKVCacheWrapper(backend=backend)
    qo_indptr = torch.tensor(np.cumsum([0, *map(len, q)]), dtype=torch.int32)
    wrapper.plan(
        qo_indptr, *tables, q[0].shape[1], k[0].shape[1], q[0].shape[2], page_size,
        q_data_type=q[0].dtype, **options,
    )  # fmt: skip
    return wrapper.run(torch.cat(q), cache, return_lse=True)


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("page_size", [1, 16])
def test_every_backend_computes_the_same(dtype: torch.dtype, page_size: int) -> None:
    q = [normal(n, 8, 128, dtype=dtype) for n in (7, 1)]
    k, v = ([normal(n, 2, 128, dtype=dtype) for n in (33, 17)] for _ in range(2))
    expected = np.concatenate([attention(*x, causal=True)[0] for x in zip(q, k, v, strict=True)])
    for backend in ("auto", "fa2", "native"):
        out, _ = prefill(q, k, v, page_size, backend, causal=True)
        assert np.abs(out.double().numpy() - expected).max() < 2e-2
    with pytest.raises(wavefire.utils.ArchCapabilityError, match="backend 'aiter' is not availab"):
        prefill(q, k, v, page_size, "aiter", causal=True)


def test_a_cap_acts_wherever_it_is_given() -> None:
    q, k = torch.ones(1, 1, 64), torch.stack([torch.full((1, 64), x / 64) for x in (40.0, 64.0)])
    v = torch.tensor([0.0, 1.0])[:, None, None].expand(2, 1, 64).contiguous()
    cap = {"sm_scale": 1.0, "logits_soft_cap": 30.0}
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    cache, tables = paged([k], [v], 1)
    wrapper.plan(*tables, 1, 1, 64, 1, sm_scale=1.0, q_data_type="float32")
    legacy = wrapper.forward(q, cache, return_lse=True, **cap)
    for out, lse in (
        single(q, k, v, return_lse=True, **cap),
        decode(q, [k], [v], 1, **cap),
        prefill([q], [k], [v], 1, **cap),
        legacy,
    ):
        np.testing.assert_allclose(out, 0.95556, atol=1e-5)
        np.testing.assert_allclose(lse, 42.149, atol=1e-3)
    assert np.allclose(single(q, k, v, sm_scale=1.0, logits_soft_cap=0.0), 1)


@pytest.mark.parametrize("power", range(18))
def test_the_lse_of_equal_keys_is_the_logarithm_of_their_number(power: int) -> None:
    q, k = torch.zeros(1, 2, 8), torch.randn(2**power, 1, 8)
    out, lse = single(q, k, k, return_lse=True)
    assert lse.shape == (1, 2)
    assert (lse == power).all()
    np.testing.assert_allclose(out[0, 0], k.mean(0)[0], atol=1e-5)
    if power <= 6:  # a batch whose requests are not split
        _, lse = decode(q.expand(64, -1, -1).contiguous(), [k] * 64, [k] * 64, 16)
        assert (lse == power).all()


@pytest.mark.parametrize("garbage", [float("nan"), float("inf")])
@pytest.mark.parametrize("lengths", [[1, 3], [32, 64, 96, 48]])
def test_unused_slots_do_not_leak(garbage: float, lengths: list[int]) -> None:
    capacity = max(lengths) + 4
    q = torch.full((len(lengths), 4, 64), 0.5)
    data = torch.randn(2, len(lengths), capacity, 2, 64)
    results = []
    for filler in (0.0, garbage):
        for b, n in enumerate(lengths):
            data[:, b, n:] = filler
        cache = data.transpose(0, 1).contiguous()  # one page a request
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
        count = len(lengths)
        wrapper.plan(
            ints(*range(count + 1)), ints(*range(count)), ints(*lengths), 4, 2, 64, capacity,
            q_data_type="float32",
        )  # fmt: skip
        results.append(wrapper.run(q, cache, return_lse=True))
    assert torch.isfinite(results[1][0]).all()
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])


def test_pages_may_lie_in_any_order_and_be_shared() -> None:
    q, k, v = normal(2, 4, 64), normal(70, 2, 64), normal(70, 2, 64)
    first = decode(q, [k, k[:3]], [v, v[:3]], 1)
    cache, tables = paged([k, k[:3]], [v, v[:3]], 1, order="descending")
    shared = tables[0], torch.cat([tables[1][:70], tables[1][:3]]), tables[2]
    for table in (tables, shared):
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
        wrapper.plan(*table, 4, 2, 64, 1, q_data_type="float32")
        out, lse = wrapper.run(q, cache, return_lse=True)
        assert torch.equal(out, first[0])
        assert torch.equal(lse, first[1])


def test_plans_do_not_disturb_each_other() -> None:
    """A second plan of one wrapper, and tables that change once they were planned."""
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    random = np.random.default_rng(0)
    q = normal(2, 4, 64)
    for _ in range(40):
        k = [normal(int(n), 2, 64) for n in random.integers(1, 60, 2)]
        cache, tables = paged(k, k, 16)
        wrapper.plan(*tables, 4, 2, 64, 16, q_data_type="float32")
        for table in tables:
            table.fill_(2**30)
        out = wrapper.run(q, cache)
        for b in range(2):
            close(out[b : b + 1], attention(q[b : b + 1], k[b], k[b])[0], torch.float32)


@pytest.mark.parametrize("length", [1, 17, 255, 256, 257, 300])
def test_keys_behind_the_last_do_not_count(length: int) -> None:
    q, k, v = torch.zeros(1, 2, 128), normal(length, 2, 128), normal(length, 2, 128)
    for out in (decode(q, [k], [v], 16)[0], prefill([q], [k], [v], 16)[0], single(q, k, v)):
        np.testing.assert_allclose(out[0], v.mean(0), atol=1e-5)


def test_masks_of_other_shapes_are_refused() -> None:
    q, k = normal(10, 2, 64), normal(20, 2, 64)
    single(q, k, k, custom_mask=torch.ones(10, 20).bool())
    for shape in ((10, 15), (20, 10), (9, 20), (10, 21), (199,)):
        with pytest.raises(ValueError, match=r"'custom_mask' has shape .*; accepted: \[10, 20\]"):
            single(q, k, k, custom_mask=torch.ones(shape).bool())
    for shape in ((2, 10, 20), (399,), (401,)):
        with pytest.raises(ValueError, match=r"'custom_mask' is .*; accepted: .*(rank 1|400)"):
            prefill([q, q], [k, k], [k, k], 4, custom_mask=torch.ones(shape).bool())
    prefill([q, q], [k, k], [k, k], 4, custom_mask=torch.ones(400).bool())


def test_requests_without_queries_are_ordinary() -> None:
    k = normal(4, 2, 64)
    none = torch.zeros(0, 4, 64)
    out, lse = prefill([none, none], [k, k[:0]], [k, k[:0]], 4)
    assert out.shape == (0, 4, 64)
    assert lse.shape == (0, 4)


def test_caches_of_any_strides() -> None:
    q, k, v = normal(1, 4, 64), normal(13, 2, 64), normal(13, 2, 64)
    cache, tables = paged([k], [v], 4)
    packed = torch.full((*cache.shape[:1], 4, 2, 128), float("nan"))
    packed[..., :64], packed[..., 64:] = cache[:, 0], cache[:, 1]
    apart = torch.full((2 * len(cache), 4, 2, 64), float("nan"))
    apart[::2] = cache[:, 1]
    single_head = cache[:, :, :, :1].contiguous()
    odd = torch.as_strided(
        single_head, single_head.shape, (*single_head.stride()[:3], 2**40, 1)
    )  # the stride of a dimension of one may be anything

    def run(pages: object, heads: int = 2) -> torch.Tensor:
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
        wrapper.plan(*tables, 2 * heads, heads, 64, 4, q_data_type="float32")
        return wrapper.run(q[:, : 2 * heads].contiguous(), pages)

    expected = run(cache)
    assert torch.equal(run((packed[..., :64], packed[..., 64:])), expected)
    assert torch.equal(run((cache[:, 0], apart[::2])), expected)
    assert torch.equal(run(odd, heads=1), run(single_head, heads=1))
    hnd = wavefire.BatchDecodeWithPagedKVCacheWrapper(None, "HND")
    hnd.plan(*tables, 4, 2, 64, 4, q_data_type="float32")
    assert torch.equal(hnd.run(q, cache.transpose(2, 3)), expected)
    with pytest.raises(ValueError, match="contiguous last dimension"):
        run(cache.repeat_interleave(2, -1)[..., ::2])


def test_a_thousand_runs_come_to_an_end() -> None:
    k = [normal(512, 8, 128, dtype=torch.bfloat16)] * 2
    cache, tables = paged(k, k, 32)
    q = normal(2, 64, 128, dtype=torch.bfloat16)
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    wrapper.plan(*tables, 64, 8, 128, 32, q_data_type=q.dtype)
    first = wrapper.run(q, cache)
    begin, runs = time.monotonic(), 0
    while runs < 1000 and time.monotonic() - begin < 1.5:  # as many as fit into a test
        if runs % 50 == 0:
            wrapper.plan(*tables, 64, 8, 128, 32, q_data_type=q.dtype)
        assert torch.equal(wrapper.run(q, cache), first)
        runs += 1
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize(
    ("heads", "kv_heads"),
    [(28, 4), (24, 4), (40, 8), (64, 4), (14, 2), (9, 3), (64, 1), (71, 1)],
)
def test_any_group_of_heads(heads: int, kv_heads: int) -> None:
    q = normal(2, heads, 64)
    k, v = ([normal(n, kv_heads, 64) for n in (37, 5)] for _ in range(2))
    out, lse = decode(q, k, v, 16)
    for b in range(2):
        expected, expected_lse = attention(q[b : b + 1], k[b], v[b])
        close(out[b : b + 1], expected, torch.float32)
        lse_close(lse[b : b + 1], expected_lse)
    with pytest.raises(ValueError, match=r"'num_qo_heads' is .*; accepted: a positive multiple"):
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
        wrapper.plan(ints(0, 1), ints(0), ints(1), 2 * kv_heads + 3, kv_heads + 2, 64, 16)


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 12])
def test_a_causal_mask_as_bits_with_different_head_dims(batch: int) -> None:
    ragged = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
    q, k, v = normal(37 * batch, 4, 192), normal(54 * batch, 4, 192), normal(54 * batch, 4, 128)
    qo = torch.arange(batch + 1, dtype=torch.int32) * 37
    kv = torch.arange(batch + 1, dtype=torch.int32) * 54
    causal = torch.ones(37, 54).bool().tril(17)
    shape = (4, 4, 192, 128)
    ragged.plan(qo, kv, *shape, causal=True, q_data_type="float32")
    expected = ragged.run(q, k, v)
    ragged.plan(qo, kv, *shape, custom_mask=causal.reshape(-1).repeat(batch), q_data_type="float32")
    np.testing.assert_allclose(ragged.run(q, k, v), expected, atol=1e-5)


@pytest.mark.parametrize("length", [1, 127, 128, 129, 1000])
def test_the_size_of_pages_does_not_matter(length: int) -> None:
    q, k, v = normal(1, 4, 64), normal(length, 2, 64), normal(length, 2, 64)
    expected = single(q, k, v)
    for page_size in (1, 2, 3, 5, 7, 16, 64, 128, 256, 512, 1024):
        np.testing.assert_allclose(decode(q, [k], [v], page_size)[0], expected, atol=1e-5)


def test_the_last_query_stands_at_its_own_requests_last_key() -> None:
    q = [normal(n, 4, 64) for n in (1, 7, 64)]
    k, v = ([normal(n, 2, 64) for n in (10, 7, 200)] for _ in range(2))
    for options in ({"causal": True}, {"causal": True, "window_left": 5}):
        out, lse = prefill(q, k, v, 16, **options)
        alone = [single(*x, return_lse=True, **options) for x in zip(q, k, v, strict=True)]
        np.testing.assert_allclose(out, torch.cat([a for a, _ in alone]), atol=1e-5)
        np.testing.assert_allclose(lse, torch.cat([b for _, b in alone]), atol=1e-5)


def test_rows_that_see_nothing_and_nan_that_nobody_sees() -> None:
    q, k, v = normal(8, 2, 64), normal(8, 2, 64), normal(8, 2, 64)
    mask = torch.ones(8, 8).bool()
    mask[4:] = False
    out, lse = single(q, k, v, custom_mask=mask, return_lse=True)
    assert (out[4:] == 0).all()
    assert torch.isneginf(lse[4:]).all()
    mask = torch.ones(8, 8).bool().tril()
    k[7], v[7] = float("nan"), float("nan")
    out = single(q, k, v, custom_mask=mask)
    assert torch.isfinite(out[:7]).all(), "masked"
    assert torch.isnan(out[7]).all(), "seen"
    q[2, 0, 5] = float("nan")
    out = single(q, k[:7], v[:7])
    assert torch.isnan(out[2, 0]).all()
    assert torch.isfinite(out[2, 1]).all()


def test_slopes_of_any_number_of_heads() -> None:
    """From the LSE of two keys: log2(1 + 2^(-slope * log2 e))."""
    for slopes in (
        [2.0**-i for i in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5],
        [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125, 0.03125],
    ):
        heads = len(slopes)
        q, k = torch.zeros(heads, 64), torch.randn(2, 1, 64)
        _, lse = wavefire.single_decode_with_kv_cache(
            q, k, k, pos_encoding_mode="ALIBI", return_lse=True
        )
        expected = [math.log2(1 + math.exp(-s)) for s in slopes]
        np.testing.assert_allclose(lse, expected, rtol=1e-5)


def test_a_call_repeats_to_the_bit() -> None:
    q = [normal(30, 4, 64, dtype=torch.bfloat16), *(normal(1, 4, 64).bfloat16() for _ in range(9))]
    k = [normal(1500, 2, 64).bfloat16(), *(normal(40, 2, 64).bfloat16() for _ in range(9))]
    cache, tables = paged(k, k, 64)
    wrapper = wavefire.BatchPrefillWithPagedKVCacheWrapper()
    qo_indptr = torch.tensor(np.cumsum([0, *map(len, q)]), dtype=torch.int32)
    wrapper.plan(qo_indptr, *tables, 4, 2, 64, 64, causal=True, q_data_type=torch.bfloat16)
    first = wrapper.run(torch.cat(q), cache)
    for _ in range(20):
        assert torch.equal(wrapper.run(torch.cat(q), cache), first)


def test_long_rows_of_large_values() -> None:
    q = normal(33, 6, 128) * 3
    k, v = normal(8192, 3, 128) * 3, normal(8192, 3, 128) * 3
    expected, lse = attention(q, k, v)
    got = single(q, k, v, return_lse=True)
    close(got[0], expected, torch.float32)
    lse_close(got[1], lse)


def test_every_value_comes_from_its_own_token() -> None:
    """Token t has value t, and only one token is seen."""
    length = 130
    k, v = torch.zeros(length, 1, 64), torch.arange(float(length))[:, None, None].expand(-1, 1, 64)
    mask = torch.eye(length).bool()
    out, _ = prefill([torch.zeros(length, 1, 64)], [k], [v], 64, custom_mask=mask.reshape(-1))
    assert torch.equal(out, v)


def test_importing_is_quiet() -> None:
    """Every module, without a word and without what only some callers use."""
    code = (
        "import sys, pkgutil, importlib, wavefire\n"
        "for m in pkgutil.iter_modules(wavefire.__path__):\n"
        "    importlib.import_module('wavefire.' + m.name)\n"
        "assert not {'jax', 'torch', 'transformers', 'tvm_ffi'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""
