"""NumPy arrays, also of ml_dtypes' types and read-only ones, and JAX's."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch
import wavefire

FLOAT8 = [
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2fnuz,
]  # fmt: skip


def to_numpy(x: torch.Tensor) -> np.ndarray:
    return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)


def same(array: np.ndarray, tensor: torch.Tensor) -> None:
    assert array.dtype == ml_dtypes.bfloat16
    assert np.array_equal(array.view(np.int16), tensor.view(torch.int16).numpy())


def test_bfloat16_arrays_give_what_tensors_give() -> None:
    x, r, w = (torch.randn(4, 96).bfloat16() for _ in range(3))
    ax, ar, aw = to_numpy(x), to_numpy(r), to_numpy(w)[0]
    same(wavefire.rmsnorm(ax, aw), wavefire.rmsnorm(x, w[0]))
    same(wavefire.layernorm(ax, aw, aw), wavefire.layernorm(x, w[0], w[0]))
    same(wavefire.silu_and_mul(ax), wavefire.silu_and_mul(x))
    out = np.zeros((4, 96), ml_dtypes.bfloat16)
    assert wavefire.rmsnorm(ax, aw, out=out) is out
    same(out, wavefire.rmsnorm(x, w[0]))
    p = torch.softmax(torch.randn(4, 500), -1).bfloat16()
    same(wavefire.top_k_renorm_probs(to_numpy(p), 7), wavefire.top_k_renorm_probs(p, 7))
    tokens = wavefire.top_p_sampling_from_probs(to_numpy(p), 0.9, seed=1)
    assert isinstance(tokens, np.ndarray)
    assert np.array_equal(tokens, wavefire.top_p_sampling_from_probs(p, 0.9, seed=1))
    wavefire.fused_add_rmsnorm(ax, ar, aw)  # in place: the tensors share their memory
    same(ax, x)
    same(ar, r)


def test_rope_and_merging_of_bfloat16_arrays() -> None:
    q, k = torch.randn(3, 4, 64).bfloat16(), torch.randn(3, 1, 64).bfloat16()
    positions = np.array([5, 6, 700])
    for a, t in zip(
        wavefire.apply_rope_pos_ids(to_numpy(q), to_numpy(k), positions),
        wavefire.apply_rope_pos_ids(q, k, torch.from_numpy(positions)),
        strict=True,
    ):
        same(a, t)
    cache = np.random.default_rng(0).normal(size=(800, 64)).astype(ml_dtypes.bfloat16)
    flat = wavefire.apply_rope_with_cos_sin_cache(
        positions, to_numpy(q).reshape(3, -1), to_numpy(k).reshape(3, -1), 64, cache
    )
    assert flat[0].shape == (3, 256)
    s = np.zeros((3, 4), np.float32)
    v, lse = wavefire.merge_state(to_numpy(q), s, to_numpy(q), s)
    same(v, q)
    assert (lse == 1).all()
    copy = to_numpy(q).copy()
    wavefire.merge_state_in_place(copy, s, to_numpy(q), np.zeros_like(s))
    same(copy, q)


@pytest.mark.parametrize("dtype", FLOAT8, ids=lambda d: d.__name__)
def test_float8_caches(dtype: type) -> None:
    random = np.random.default_rng(0)
    key, value = (random.normal(size=(3, 2, 16)).astype(dtype) for _ in range(2))
    cache = np.zeros((4, 2, 4, 2, 16), dtype)
    tables = [np.array(x, np.int32) for x in ([3, 1], [0, 2], [2])]
    where = [np.array(x, np.int32) for x in ([0, -1, 0], [1, 9, 5])]
    wavefire.append_paged_kv_cache(key, value, *where, cache, *tables)
    assert np.array_equal(cache[3, 0, 1].view(np.uint8), key[0].view(np.uint8))
    assert np.array_equal(cache[1, 1, 1].view(np.uint8), value[2].view(np.uint8))
    assert np.count_nonzero(cache.view(np.uint8)) == np.count_nonzero(
        np.stack([key[[0, 2]], value[[0, 2]]]).view(np.uint8)
    )
    q = random.normal(size=(1, 2, 16)).astype(np.float32)
    decode = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    decode.plan(
        *(tables[i] for i in (1, 0, 2)), 2, 2, 16, 4, q_data_type="float32", kv_data_type=dtype
    )
    plain = decode.run(q, cache)
    decode.plan(*(tables[i] for i in (1, 0, 2)), 2, 2, 16, 4, q_data_type="float32")
    np.testing.assert_allclose(plain, decode.run(q, cache.astype(np.float32)), rtol=1e-6)


def test_read_only_arrays_are_read_and_not_written() -> None:
    x, w = np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32), np.ones(8, np.float32)
    expected = wavefire.rmsnorm(x, w)
    x.setflags(write=False)
    assert np.array_equal(wavefire.rmsnorm(x, w), expected)
    before = x.copy()
    for call in (
        lambda: wavefire.fused_add_rmsnorm(x, x.copy(), w),
        lambda: wavefire.fused_add_rmsnorm(x.copy(), x, w),
        lambda: wavefire.rmsnorm(x, w, out=x),
        lambda: wavefire.apply_rope_pos_ids_inplace(x[:, None], x.copy()[:, None], np.arange(2)),
    ):
        with pytest.raises(ValueError, match="is a read-only NumPy array, and is written in place"):
            call()
    assert np.array_equal(x, before)


def test_jax_out_of_place() -> None:
    import jax

    x, w = np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32), np.ones(8, np.float32)
    jx, jw = jax.numpy.asarray(x), jax.numpy.asarray(w)
    out = wavefire.rmsnorm(jx, jw)
    assert isinstance(out, jax.Array)
    assert np.array_equal(out, wavefire.rmsnorm(x, w))
    assert wavefire.silu_and_mul(jx.astype(jax.numpy.bfloat16)).dtype == jax.numpy.bfloat16
    q, k = wavefire.apply_rope_pos_ids(jx[:, None], jx[:, None], jax.numpy.arange(2))
    assert isinstance(q, jax.Array)
    assert q.shape == k.shape == (2, 1, 8)
    p = jax.nn.softmax(jx)
    tokens, valid = wavefire.sampling_from_probs(p, seed=1, return_valid=True)
    assert isinstance(tokens, jax.Array)
    assert bool(valid.all())
    assert np.array_equal(tokens, wavefire.sampling_from_probs(np.asarray(p), seed=1))
    assert isinstance(wavefire.top_p_renorm_probs(p, jax.numpy.asarray([0.5, 0.9])), jax.Array)
    assert np.isclose(float(wavefire.softmax(jx).sum()), 2)
    v, s = wavefire.merge_state(jx[:, None], jx[:, :1], jx[:, None], jx[:, :1])
    assert np.allclose(v, x[:, None])
    assert isinstance(s, jax.Array)
    for call in (
        lambda: wavefire.fused_add_rmsnorm(jx, jx, jw),
        lambda: wavefire.rmsnorm(jx, jw, out=jx),
        lambda: wavefire.apply_rope_pos_ids_inplace(q, k, jax.numpy.arange(2)),
        lambda: wavefire.merge_state_in_place(jx[:, None], jx[:, :1], jx[:, None], jx[:, :1]),
    ):
        with pytest.raises(ValueError, match="is a JAX array, which is immutable"):
            call()


def test_attention_of_jax_arrays() -> None:
    """What is returned is JAX's, unless it was given."""
    import jax

    random = np.random.default_rng(0)
    q, kv = (random.normal(size=(n, 2, 16)).astype(np.float32) for n in (3, 4))
    cache = np.stack([kv, kv])[None]  # one page
    jq, jkv, jcache = (jax.numpy.asarray(x) for x in (q, kv, cache))
    indptr, one = jax.numpy.asarray([0, 3]), jax.numpy.asarray([0, 1])
    expected = wavefire.single_prefill_with_kv_cache(q, kv, kv, return_lse=True)
    single = wavefire.single_prefill_with_kv_cache(jq, jkv, jkv, return_lse=True)
    paged = wavefire.BatchPrefillWithPagedKVCacheWrapper()
    pages = one, jax.numpy.asarray([0]), jax.numpy.asarray([4])
    paged.plan(indptr, *pages, 2, 2, 16, 4, q_data_type=jq.dtype)
    ragged = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
    ragged.plan(indptr, jax.numpy.asarray([0, 4]), 2, 2, 16, q_data_type=jq.dtype)
    decode = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    decode.plan(*pages, 2, 2, 16, 4, q_data_type=jq.dtype)
    last = decode.run(jq[2:], jcache, return_lse=True)
    alone = wavefire.single_decode_with_kv_cache(jq[2], jkv, jkv)
    for result in (
        single, paged.run(jq, jcache, return_lse=True), ragged.run(jq, jkv, jkv, return_lse=True),
        paged.run(jq, jcache, return_lse=True, partial_state=(jq, np.full((3, 2), -np.inf, "f4"))),
    ):  # fmt: skip
        for x, y in zip(result, expected, strict=True):
            assert isinstance(x, jax.Array)
            np.testing.assert_allclose(x, y, atol=1e-6)
    assert all(isinstance(x, jax.Array) for x in (*last, alone))
    np.testing.assert_allclose(last[0][0], alone, atol=1e-6)
    out = np.zeros_like(q)
    assert paged.run(jq, jcache, out=out) is out
    np.testing.assert_allclose(out, expected[0], atol=1e-6)
    for call in (
        lambda: paged.run(jq, jcache, out=jq),
        lambda: wavefire.append_paged_kv_cache(
            jkv[:1], jkv[:1], one[:1], one[:1], jcache, one[:1], one, one[1:]
        ),
    ):
        with pytest.raises(ValueError, match="is a JAX array, which is immutable"):
            call()
