"""Rotary position embedding."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import wavefire
from compare import DTYPES, close, ints
from reference import rope


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [8, 40, 64, 128])
@pytest.mark.parametrize("rotary", [None, 8])
@pytest.mark.parametrize("interleave", [False, True])
def test_rope(dtype: torch.dtype, dim: int, rotary: int | None, interleave: bool) -> None:
    q, k = torch.randn(6, 3, dim).to(dtype), torch.randn(6, 1, dim).to(dtype)
    positions = torch.tensor([0, 1, 77, 4095, 131071, 999999])
    kwargs = {"rotary_dim": rotary, "interleave": interleave}
    q_out, k_out = wavefire.apply_rope_pos_ids(q, k, positions, **kwargs)
    close(q_out, rope(q, positions.numpy(), **kwargs), dtype)
    close(k_out, rope(k, positions.numpy(), **kwargs), dtype)
    wavefire.apply_rope_pos_ids_inplace(q, k, positions.int(), **kwargs)
    assert torch.equal(q, q_out)
    assert torch.equal(k, k_out)


def test_rope_by_offsets_and_by_cache_agree() -> None:
    q, k = torch.randn(7, 4, 64), torch.randn(7, 2, 64)
    indptr, offsets = (
        torch.tensor([0, 3, 7], dtype=torch.int32),
        torch.tensor([10, 100], dtype=torch.int32),
    )
    positions = torch.tensor([10, 11, 12, 100, 101, 102, 103])
    by_offset = wavefire.apply_rope(q, k, indptr, offsets, rope_theta=5e5)
    by_position = wavefire.apply_rope_pos_ids(q, k, positions, rope_theta=5e5)
    assert torch.equal(by_offset[0], by_position[0])
    angle = torch.arange(128.0)[:, None].double() * 5e5 ** (-torch.arange(0, 64, 2).double() / 64)
    cache = torch.cat([angle.cos(), angle.sin()], 1).float()
    q2, k2 = wavefire.apply_rope_with_cos_sin_cache(
        positions, q.view(7, -1), k.view(7, -1), 64, cache
    )
    assert torch.allclose(q2.view(7, 4, 64), by_position[0], atol=1e-6)
    assert torch.allclose(k2.view(7, 2, 64), by_position[1], atol=1e-6)
    with pytest.raises(ValueError, match=r"'positions' is 128 at 6; accepted: 0 to 127"):
        positions[6] = 128
        wavefire.apply_rope_with_cos_sin_cache(positions, q.view(7, -1), k.view(7, -1), 64, cache)


def test_llama31_frequencies() -> None:
    q = torch.ones(1, 1, 128)
    out, _ = wavefire.apply_llama31_rope_pos_ids(q, q.clone(), torch.tensor([5000]))
    i = np.arange(64)
    f = 5e5 ** (-2 * i / 128)
    smooth = np.clip(f * 8192 / (2 * math.pi * 3) - 1 / 3, 0, 1)
    angle = 5000 * ((1 - smooth) * f / 8 + smooth * f)
    np.testing.assert_allclose(out[0, 0, :64], np.cos(angle) - np.sin(angle), atol=1e-6)


def cache_of(positions: int, dim: int, theta: float = 1e4) -> torch.Tensor:
    frequency = theta ** (-torch.arange(0, dim, 2).double() / dim)
    angle = torch.arange(positions).double()[:, None] * frequency
    return torch.cat([angle.cos(), angle.sin()], 1)


@pytest.mark.parametrize("is_neox", [True, False])
@pytest.mark.parametrize("cache_dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_cache_of_any_dtype_with_partial_rotation(
    is_neox: bool, cache_dtype: torch.dtype
) -> None:
    cache = cache_of(200, 32).to(cache_dtype)
    q, k = torch.randn(5, 3 * 128), torch.randn(5, 128)
    positions = torch.tensor([0, 1, 57, 199, 3])
    q_out, k_out = wavefire.apply_rope_with_cos_sin_cache(positions, q, k, 128, cache, is_neox)
    for x, out in ((q.view(5, 3, 128), q_out.view(5, 3, 128)), (k[:, None], k_out[:, None])):
        cos, sin = cache[positions].double().unsqueeze(1).split(16, -1)
        a, b = (x[..., :16], x[..., 16:32]) if is_neox else (x[..., :32:2], x[..., 1:32:2])
        first, second = (out[..., :16], out[..., 16:32]) if is_neox else (
            out[..., :32:2], out[..., 1:32:2])  # fmt: skip
        close(first, a * cos - b * sin, torch.float32)
        close(second, b * cos + a * sin, torch.float32)
        assert torch.equal(out[..., 32:], x[..., 32:])
    wavefire.apply_rope_with_cos_sin_cache_inplace(positions.int(), q, k, 128, cache, is_neox)
    assert torch.equal(q, q_out)
    assert torch.equal(k, k_out)


def test_angles_far_out() -> None:
    q = torch.zeros(1, 1, 128)
    q[..., :2] = 1
    out, _ = wavefire.apply_rope_pos_ids(q, q, torch.tensor([131071]))
    np.testing.assert_allclose(out[0, 0, [0, 64]], [-0.81798, -0.57524], atol=1e-5)
    np.testing.assert_allclose(out[0, 0, [1, 65]], [-0.97827, -0.20733], atol=1e-5)
    # From a table and computed, up to a million.
    positions = torch.tensor([1, 99_991, 524_287, 999_999])
    frequency = 1e4 ** (-torch.arange(0, 128, 2).double() / 128)
    angle = positions.double()[:, None] * frequency
    cache = torch.cat([angle.cos(), angle.sin()], 1).float()
    q = torch.randn(4, 2, 128)
    computed, _ = wavefire.apply_rope_pos_ids(q, q, positions)
    read, _ = wavefire.apply_rope_with_cos_sin_cache(
        torch.arange(4), q.view(4, -1), q.view(4, -1), 128, cache
    )
    np.testing.assert_allclose(read.view(4, 2, 128), computed, atol=5e-6)


@pytest.mark.parametrize("interleave", [False, True])
def test_a_unit_vector(interleave: bool) -> None:
    q = torch.zeros(1, 1, 128)
    q[0, 0, 0] = 1
    out, _ = wavefire.apply_rope_pos_ids(q, q, torch.tensor([1]), interleave=interleave)
    expected = torch.zeros(128)
    expected[0], expected[1 if interleave else 64] = math.cos(1), math.sin(1)
    np.testing.assert_allclose(out[0, 0], expected, atol=2e-7)


def test_in_place_within_a_fused_projection() -> None:
    qkv = torch.randn(7, (4 + 2 + 2) * 64)
    before = qkv.clone()
    q, k = qkv[:, : 4 * 64].view(7, 4, 64), qkv[:, 4 * 64 : 6 * 64].view(7, 2, 64)
    positions = torch.arange(7)
    expected = wavefire.apply_rope_pos_ids(q.clone(), k.clone(), positions)
    wavefire.apply_rope_pos_ids_inplace(q, k, positions)
    assert torch.equal(q, expected[0])
    assert torch.equal(k, expected[1])
    assert torch.equal(qkv[:, 6 * 64 :], before[:, 6 * 64 :]), "values are not touched"
    cache = cache_of(7, 64).float()
    flat_q, flat_k = before[:, : 4 * 64], before[:, 4 * 64 : 6 * 64]
    wavefire.apply_rope_with_cos_sin_cache_inplace(positions, flat_q, flat_k, 64, cache)
    np.testing.assert_allclose(before, qkv, atol=2e-6)


def test_every_form_agrees() -> None:
    q, k = torch.randn(5, 2, 64), torch.randn(5, 1, 64)
    indptr, offsets, positions = ints(0, 2, 5), ints(3, 1000), ints(3, 4, 1000, 1001, 1002)
    for name, options in (
        ("apply_rope", {"rope_scale": 2.0}),
        ("apply_llama31_rope", {"rope_scale": 8.0, "low_freq_factor": 1, "interleave": True}),
    ):
        f = {s: getattr(wavefire, name + s) for s in ("", "_inplace", "_pos_ids")}
        f["_pos_ids_inplace"] = getattr(wavefire, name + "_pos_ids_inplace")
        expected = f["_pos_ids"](q, k, positions, **options)
        for suffix, where in (("", (indptr, offsets)), ("_pos_ids", (positions,))):
            result = f[suffix](q, k, *where, **options)
            a, b = q.clone(), k.clone()
            assert f[suffix + "_inplace"](a, b, *where, **options) is None
            for x, y, z in zip(result, (a, b), expected, strict=True):
                assert torch.equal(x, z)
                assert torch.equal(y, z)


def test_no_tokens_and_bad_arguments() -> None:
    empty = torch.zeros(0, 2, 64)
    assert wavefire.apply_rope_pos_ids(empty, empty, torch.zeros(0).int())[0].shape == (0, 2, 64)
    q = torch.zeros(2, 128)
    with pytest.raises(ValueError, match=r"'head_size' is 48, .*accepted: a divisor"):
        wavefire.apply_rope_with_cos_sin_cache(ints(0, 1), q, q, 48, torch.zeros(4, 48))
    with pytest.raises(ValueError, match=r"'cos_sin_cache' is int64"):
        wavefire.apply_rope_with_cos_sin_cache(ints(0, 1), q, q, 64, torch.zeros(4, 64).long())
    with pytest.raises(ValueError, match=r"'positions' is -1 at 1; accepted: 0 to 3"):
        wavefire.apply_rope_with_cos_sin_cache(ints(0, -1), q, q, 64, torch.zeros(4, 64))
    with pytest.raises(ValueError, match=r"'rotary_dim' is 7; accepted: an even number"):
        wavefire.apply_rope_pos_ids(empty, empty, torch.zeros(0).int(), rotary_dim=7)


@pytest.mark.parametrize("offset", [2**40, 2**31 - 2, -1])
def test_offsets_that_do_not_fit_are_refused(offset: int) -> None:
    q = torch.zeros(3, 2, 64)
    with pytest.raises(ValueError, match=rf"'offsets' is {offset} at 0; accepted: 0 to"):
        wavefire.apply_rope(q, q, ints(0, 3), torch.tensor([offset]))
    with pytest.raises(ValueError, match="'indptr' is 2 at the end; accepted: 3, the number"):
        wavefire.apply_rope(q, q, ints(0, 2), ints(0))
