"""Norms, activations, RoPE, page operations, packing, sampling."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
import torch
import wavefire
from reference import rope, top_k_keep, top_p_keep
from wavefire import sampling

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
ULP = {torch.float32: 3e-6, torch.float16: 1.1e-3, torch.bfloat16: 8.5e-3}


def close(ours: torch.Tensor, theirs: np.ndarray | torch.Tensor, dtype: torch.dtype) -> None:
    """Relative to each value, or to 3 % of the largest one where sums and tails cancel."""
    theirs = np.asarray(theirs, np.float64)
    error = np.abs(ours.double().numpy() - theirs)
    magnitude = np.maximum(np.abs(theirs), 0.03 * np.abs(theirs).max(initial=0))
    worst = (error / np.maximum(magnitude, 1e-30)).max(initial=0)
    assert worst <= ULP[dtype], worst


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 7, 64, 111, 576, 4096])
@pytest.mark.parametrize("gemma", [False, True])
def test_rmsnorm(dtype: torch.dtype, width: int, gemma: bool) -> None:
    x = torch.randn(5, width + 3).to(dtype)[:, :width]  # rows apart
    w = torch.randn(width).to(dtype)
    f = wavefire.gemma_rmsnorm if gemma else wavefire.rmsnorm
    exact = (
        x.double()
        * (x.double().square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        * (w.double() + gemma)
    )
    close(f(x, w, 1e-5), exact, dtype)
    x3 = torch.randn(2, 3, width).to(dtype)
    exact = (
        x3.double()
        * (x3.double().square().mean(-1, keepdim=True) + 1e-6).rsqrt()
        * (w.double() + gemma)
    )
    out = torch.full_like(x3, float("nan"))
    assert f(x3, w, out=out) is out
    close(out, exact, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fused_add_rmsnorm_rounds_only_the_residual(dtype: torch.dtype) -> None:
    x, r, w = (torch.randn(n, 576).to(dtype) for n in (9, 9, 1))
    w = w[0]
    total = x.double() + r.double()
    exact = total * (total.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * w.double()
    wavefire.fused_add_rmsnorm(x, r, w)
    close(x, exact, dtype)
    assert torch.equal(r, total.to(dtype))


def test_a_nan_row_stays_alone() -> None:
    x = torch.randn(3, 64)
    x[1, 5] = float("nan")
    out = wavefire.rmsnorm(x, torch.ones(64))
    assert torch.isfinite(out[[0, 2]]).all()
    assert wavefire.rmsnorm(torch.zeros(0, 64), torch.ones(64)).shape == (0, 64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 5, 8, 64, 1536])
def test_gated_activations(dtype: torch.dtype, width: int) -> None:
    x = (torch.randn(4, 3, 2 * width) * 4).to(dtype)
    a, b = x.double().split(width, -1)
    functional = torch.nn.functional
    close(wavefire.silu_and_mul(x), functional.silu(a) * b, dtype)
    close(wavefire.gelu_and_mul(x), functional.gelu(a) * b, dtype)
    close(wavefire.gelu_tanh_and_mul(x), functional.gelu(a, approximate="tanh") * b, dtype)
    with pytest.raises(
        ValueError, match=r"silu_and_mul: 'input' .*accepted: an even last dimension"
    ):
        wavefire.silu_and_mul(torch.zeros(2, 5))


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
    angle = (
        torch.arange(128.0)[:, None].double()
        * (5e5 ** (-torch.arange(0, 64, 2).double() / 64)).float()
    )
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
    angle = 5000 * ((1 - smooth) * f / 8 + smooth * f).astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(out[0, 0, :64], np.cos(angle) - np.sin(angle), atol=1e-6)


@pytest.mark.parametrize("layout", ["NHD", "HND"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e5m2])
def test_append_writes_exactly_its_slots(layout: str, dtype: torch.dtype) -> None:
    shape = (6, 2, 4, 3, 8) if layout == "NHD" else (6, 2, 3, 4, 8)
    cache = torch.zeros(shape).to(dtype)
    key, value = torch.randn(4, 3, 8).to(dtype), torch.randn(4, 3, 8).to(dtype)
    ints = lambda *x: torch.tensor(x, dtype=torch.int32)  # noqa: E731
    wavefire.append_paged_kv_cache(
        key,
        value,
        ints(0, 1, -1, 1),
        ints(5, 0, 99, 3),
        cache,
        ints(4, 2, 5),
        ints(0, 2, 3),
        ints(2, 4),
        layout,
    )
    expected = torch.zeros(shape).to(dtype)
    view = expected if layout == "NHD" else expected.transpose(2, 3)
    for token, page, slot in ((0, 2, 1), (1, 5, 0), (3, 5, 3)):
        view[page, 0, slot], view[page, 1, slot] = key[token], value[token]
    assert torch.equal(cache.float(), expected.float())
    before = cache.float().clone()
    with pytest.raises(
        ValueError, match=r"'positions' is 8 at 1; accepted: 0 to 7, what the pages of request 0"
    ):
        wavefire.append_paged_kv_cache(
            key[:2],
            value[:2],
            ints(0, 0),
            ints(0, 8),
            cache,
            ints(4, 2, 5),
            ints(0, 2, 3),
            ints(2, 4),
            layout,
        )
    assert torch.equal(cache.float(), before)


def test_batch_indices_and_positions() -> None:
    ints = lambda *x: torch.tensor(x, dtype=torch.int32)  # noqa: E731
    batch, positions = wavefire.get_batch_indices_positions(ints(0, 2, 2, 5), ints(4, 9, 3), 7)
    assert batch.tolist() == [0, 0, 2, 2, 2, -1, -1]
    assert positions.tolist() == [2, 3, 0, 1, 2, 0, 0]
    assert wavefire.get_seq_lens(ints(0, 2, 2, 3), ints(5, 0, 16), 16).tolist() == [21, 0, 16]


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000])
def test_packbits(order: str, n: int) -> None:
    x = torch.rand(n) < 0.5
    assert np.array_equal(
        wavefire.packbits(x, order).numpy(), np.packbits(x.numpy(), bitorder=order)
    )
    indptr = torch.tensor([0, n // 3, n // 3, n], dtype=torch.int32)
    packed, new = wavefire.segment_packbits(x, indptr, order)
    parts = [np.packbits(x[a:b].numpy(), bitorder=order) for a, b in itertools.pairwise(indptr)]
    assert np.array_equal(packed.numpy(), np.concatenate(parts))
    assert new.tolist() == np.cumsum([0] + [len(p) for p in parts]).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("vocabulary", [1, 2, 131, 32000])
def test_softmax(dtype: torch.dtype, vocabulary: int) -> None:
    logits = (torch.randn(4, vocabulary) * 5).to(dtype)
    temperature = torch.tensor([0.3, 1.0, 2.0, 10.0])
    p = wavefire.softmax(logits, temperature)
    assert p.dtype == torch.float32
    exact = torch.softmax(logits.double() / temperature[:, None].double(), -1)
    np.testing.assert_allclose(p.double(), exact, rtol=2e-5, atol=1e-9)
    with pytest.raises(ValueError, match=r"'temperature' is 0; accepted: a positive"):
        wavefire.softmax(logits, 0)


def test_draws_follow_the_probabilities() -> None:
    p = torch.tensor([0.4, 0.05, 0.25, 0.2, 0.1])
    rows = p.repeat(4000, 1)
    tokens = sampling.sampling_from_probs(rows, seed=1)
    assert tokens.dtype == torch.int32
    counts = np.bincount(tokens.numpy(), minlength=5)
    chi_square = ((counts - 4000 * p.numpy()) ** 2 / (4000 * p.numpy())).sum()
    assert chi_square < 18.5  # 0.1 % of 4 degrees of freedom
    logits = sampling.sampling_from_logits(rows.log(), seed=1)
    assert torch.equal(logits, tokens), "the same uniforms give the same tokens"


@pytest.mark.parametrize("vocabulary", [5, 111, 32000, 128256])
def test_filters_keep_exactly_what_sorting_keeps(vocabulary: int) -> None:
    p = torch.softmax(torch.randn(3, vocabulary) * 3, -1)
    for k in (1, 3, vocabulary):
        ours = sampling.top_k_renorm_probs(p, k)
        for row in range(3):
            assert np.array_equal(ours[row].numpy() > 0, top_k_keep(p[row].numpy(), k))
        np.testing.assert_allclose(ours.sum(-1), 1, rtol=1e-5)
        masked = sampling.top_k_mask_logits(p.log(), k)
        assert torch.equal(torch.isfinite(masked), ours > 0)
    for top_p in (0.1, 0.5, 0.95):
        ours = sampling.top_p_renorm_probs(p, top_p)
        for row in range(3):
            assert np.array_equal(ours[row].numpy() > 0, top_p_keep(p[row].double().numpy(), top_p))


def test_samples_stay_within_the_filters() -> None:
    p = torch.softmax(torch.randn(1, 1000) * 3, -1)
    rows = p.repeat(500, 1)
    k, top_p = top_k_keep(p[0].numpy(), 20), top_p_keep(p[0].double().numpy(), 0.6)
    assert k[sampling.top_k_sampling_from_probs(rows, 20, seed=2)].all()
    assert top_p[sampling.top_p_sampling_from_probs(rows, 0.6, seed=3)].all()
    assert (k & top_p)[
        sampling.top_k_top_p_sampling_from_probs(rows, 20, 0.6, filter_apply_order="joint", seed=4)
    ].all()
    left = np.where(k, p[0].double().numpy(), 0)
    first = top_p_keep(left, 0.6) & k
    assert first[sampling.top_k_top_p_sampling_from_probs(rows, 20, 0.6, seed=5)].all()
    assert first[sampling.top_k_top_p_sampling_from_logits(rows.log(), 20, 0.6, seed=5)].all()
    big = (p[0] >= 0.2 * p.max()).numpy()
    assert big[sampling.min_p_sampling_from_probs(rows, 0.2, seed=6)].all()
    per_row = torch.tensor([1] * 250 + [20] * 250)
    tokens = sampling.top_k_sampling_from_probs(rows, per_row, seed=7)
    assert (tokens[:250] == int(p.argmax())).all()


@pytest.mark.parametrize("vocabulary", [1, 2, 131, 1023, 32000, 100003, 151936])
def test_tokens_are_in_range(vocabulary: int) -> None:
    p = torch.rand(50, vocabulary)
    tokens = sampling.sampling_from_probs(p, seed=0)
    assert ((tokens >= 0) & (tokens < vocabulary)).all()
    one_hot = torch.zeros(2, vocabulary)
    one_hot[:, vocabulary // 2] = 1
    assert (
        sampling.top_k_top_p_sampling_from_probs(one_hot, 1073741824, 1.0) == vocabulary // 2
    ).all()


def test_ties_and_rows_without_mass_terminate() -> None:
    logits = torch.full((3, 100352), -25.0).bfloat16()
    logits[0] = -np.inf
    logits[2, 7] = logits[2, 9] = 3
    begin = time.perf_counter()
    masked = sampling.top_k_mask_logits(logits, 1)
    assert time.perf_counter() - begin < 1
    assert torch.isneginf(masked[0]).all()
    assert torch.equal(masked[1], logits[1]), "all tie with the first"
    assert torch.isfinite(masked[2]).nonzero().flatten().tolist() == [7, 9]


def test_rows_that_cannot_be_drawn_from_are_reported() -> None:
    p = torch.full((3, 8), 0.125)
    p[0], p[2, 3] = 0, float("nan")
    tokens, valid = sampling.sampling_from_probs(p, return_valid=True)
    assert valid.tolist() == [False, True, False]
    assert ((tokens >= 0) & (tokens < 8)).all()
    with pytest.raises(ValueError, match=r"in row 0; accepted: rows of finite weights"):
        sampling.sampling_from_probs(p)
    with pytest.raises(ValueError, match=r"contains NaN"):
        sampling.sampling_from_probs(p, check_nan=True)
    with pytest.raises(ValueError, match=r"in row 1"):
        sampling.sampling_from_logits(torch.tensor([[0.0, 1.0], [-np.inf, -np.inf]]))


def test_generators_and_seeds_make_draws_repeatable() -> None:
    p = torch.rand(16, 5000)
    draw = sampling.sampling_from_probs
    a = draw(p, generator=torch.Generator().manual_seed(5))
    assert torch.equal(a, draw(p, generator=torch.Generator().manual_seed(5)))
    torch.manual_seed(9)
    first, second = draw(p), draw(p)
    torch.manual_seed(9)
    assert torch.equal(first, draw(p))
    assert not torch.equal(first, second)
    assert np.array_equal(draw(p, seed=3, offset=4).numpy(), draw(p.numpy(), seed=3, offset=4))
    assert not torch.equal(draw(p, seed=3, offset=4), draw(p, seed=3, offset=5))
    generator = np.random.default_rng(1)
    array = draw(p.numpy(), generator=generator)
    assert isinstance(array, np.ndarray)
    indices = torch.tensor([3, 3, 0])
    assert draw(p, indices, seed=1).dtype == torch.int64


def test_parameters_are_checked() -> None:
    p = torch.rand(4, 10)
    with pytest.raises(ValueError, match=r"Sampling parameter tensor batch size mismatch"):
        sampling.top_p_sampling_from_probs(p, torch.rand(3))
    with pytest.raises(ValueError, match=r"Expected a 1D tensor"):
        sampling.top_p_sampling_from_probs(p, torch.rand(4, 1))
    with pytest.raises(ValueError, match=r"'top_p' is 1.5; accepted: a number in"):
        sampling.top_p_sampling_from_probs(p, 1.5)
    with pytest.raises(ValueError, match=r"Invalid filter_apply_order: x"):
        sampling.top_k_top_p_sampling_from_probs(p, 1, 0.5, filter_apply_order="x")
    with pytest.raises(ValueError, match=r"'top_k' is 0"):
        sampling.top_k_sampling_from_probs(p, 0)
