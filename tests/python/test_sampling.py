"""Sampling."""

from __future__ import annotations

import inspect
import time

import numpy as np
import pytest
import torch
import wavefire
from compare import DTYPES
from reference import top_k_keep, top_p_keep
from wavefire import sampling


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


@pytest.mark.parametrize("name", sorted(n for n in wavefire.__all__ if "sampling_from_" in n))
def test_generator_and_seed_exclude_each_other(name: str) -> None:
    filters = {"top_k": 2, "top_p": 0.5, "min_p": 0.1}
    draw = getattr(wavefire, name)
    given = {k: v for k, v in filters.items() if k in inspect.signature(draw).parameters}
    generator = torch.Generator().manual_seed(5)
    before = generator.get_state()
    with pytest.raises(
        ValueError, match=f"^{name}: 'generator' is given with 'seed'; accepted: one"
    ):
        draw(torch.full((2, 8), 0.125), **given, generator=generator, seed=1)
    assert torch.equal(generator.get_state(), before)


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
    with pytest.raises(ValueError, match=r"Expected a 1D tensor"):
        sampling.top_k_sampling_from_probs(p, torch.tensor(3))
    with pytest.raises(
        ValueError, match=r"'top_k' is 0 at 2; accepted: a whole number of 1 or more"
    ):
        sampling.top_k_sampling_from_probs(p, torch.tensor([1, 2, 0, 3]))
    with pytest.raises(ValueError, match=r"'top_k' is 2.5; accepted: a whole number of 1 or more"):
        sampling.top_k_renorm_probs(p, 2.5)
    # Exact in another type: taken.
    k = torch.tensor([2.0, 3.0, 4.0, 5.0])
    assert torch.equal(sampling.top_k_renorm_probs(p, k), sampling.top_k_renorm_probs(p, k.long()))
    assert torch.equal(sampling.top_p_renorm_probs(p, 1), sampling.top_p_renorm_probs(p, 1.0))


def test_many_draws_stay_in_range() -> None:
    for vocabulary in (1, 2, 131, 1023, 32000, 100003, 151936):
        p = torch.rand(2, vocabulary)
        indices = torch.arange(1000) % 2
        tokens = sampling.sampling_from_probs(p, indices.int())
        assert tokens.dtype == torch.int32
        assert int(tokens.min()) >= 0
        assert int(tokens.max()) < vocabulary
        assert sampling.sampling_from_probs(p, indices).dtype == torch.int64
    one_hot = torch.zeros(1000, 32000)
    one_hot[:, 1] = 1
    assert (sampling.top_k_top_p_sampling_from_probs(one_hot, 1073741824, 1.0) == 1).all()


@pytest.mark.parametrize("rows", [65535, 65536, 5_000_000])
def test_many_rows(rows: int) -> None:
    p = torch.rand(1, 111).expand(rows, -1) if rows > 70000 else torch.rand(rows, 111)
    tokens = sampling.sampling_from_probs(p, seed=3)
    assert tokens.shape == (rows,)
    assert int(tokens.min()) >= 0
    assert int(tokens.max()) < 111


def test_rows_at_offsets_beyond_31_bits() -> None:
    memory = torch.empty(2**31 + 400, dtype=torch.float16)  # committed lazily
    p = torch.as_strided(memory, (2, 400), (2**31, 1))
    p.copy_(torch.rand(2, 400))
    packed = p.contiguous()
    for f in (
        lambda x: sampling.top_k_mask_logits(x, 3),
        lambda x: sampling.top_p_renorm_probs(x, 0.5),
        lambda x: sampling.sampling_from_probs(x, seed=1),
        sampling.softmax,
    ):
        assert torch.equal(f(p), f(packed))


@pytest.mark.parametrize("value", [float("-inf"), -25.0])
def test_tied_rows_take_no_longer(value: float) -> None:
    logits = torch.full((3, 100352), value).bfloat16()
    logits[1] = -25
    logits[2, 7] = logits[2, 9] = 3
    begin = time.perf_counter()
    for k in (1, 50, 100352, 1 << 30):
        masked = sampling.top_k_mask_logits(logits, k)
        assert (masked.isneginf() | (masked == logits)).all()
        assert torch.equal(masked[1], logits[1])
    p = torch.full((2, 100352), 0.25)
    for k in (1, 50, 100352, 1 << 30):
        np.testing.assert_allclose(sampling.top_k_renorm_probs(p, k), 1 / 100352, rtol=1e-6)
    assert time.perf_counter() - begin < 5


def test_a_seed_for_each_row() -> None:
    p = torch.rand(4, 1000)
    seeds = torch.tensor([11, 22, 33, 44])
    tokens = sampling.sampling_from_probs(p, seed=seeds)
    for row in range(4):
        assert tokens[row] == sampling.sampling_from_probs(p[row : row + 1], seed=int(seeds[row]))
        one = seeds[row : row + 1]
        assert tokens[row] == sampling.sampling_from_probs(p[row : row + 1], seed=one)
    order = torch.tensor([2, 0, 3, 1])
    moved = sampling.sampling_from_probs(p[order], seed=seeds[order])
    assert torch.equal(moved, tokens[order])
    same = sampling.sampling_from_probs(p[:1].expand(2, -1), seed=torch.tensor([11, 11]))
    assert same[0] == same[1], "the row's number does not count beside a seed of its own"
    assert torch.equal(tokens, sampling.sampling_from_probs(p, seed=seeds.to(torch.uint64)))
    assert np.array_equal(tokens, sampling.sampling_from_probs(p.numpy(), seed=seeds.numpy()))
    offsets = torch.tensor([0, 0, 1, 1])
    later = sampling.sampling_from_probs(p, seed=seeds, offset=offsets)
    assert torch.equal(later[:2], tokens[:2])
    assert torch.equal(
        later[2:], sampling.sampling_from_probs(p[2:], seed=seeds[2:], offset=offsets[2:])
    )
    with pytest.raises(ValueError, match=r"'seed' has 3 entries; accepted: 1 or 4"):
        sampling.sampling_from_probs(p, seed=seeds[:3])
    with pytest.raises(ValueError, match=r"'seed' is torch.float32"):
        sampling.sampling_from_probs(p, seed=seeds.float())
    with pytest.raises(ValueError, match=r"'offset' is given without 'seed'"):
        sampling.sampling_from_probs(p, offset=3)


def test_the_same_state_of_a_generator_gives_the_same_tokens() -> None:
    p = torch.full((8, 1000), 0.001)
    generator = torch.Generator().manual_seed(3)
    copy = generator.clone_state()
    draws = [sampling.sampling_from_probs(p, generator=generator) for _ in range(8)]
    assert len({tuple(d.tolist()) for d in draws}) == 8, "each call moves the generator on"
    for d in draws:
        assert torch.equal(d, sampling.sampling_from_probs(p, generator=copy))
    numpy_draw = sampling.sampling_from_probs
    np.random.seed(4)
    first = numpy_draw(p.numpy())
    np.random.seed(4)
    assert np.array_equal(first, numpy_draw(p.numpy()))
    torch.manual_seed(5)
    seed, offset = sampling.get_seed_and_offset(1)
    torch.manual_seed(5)
    assert torch.equal(
        sampling.sampling_from_probs(p), sampling.sampling_from_probs(p, seed=seed, offset=offset)
    )


@pytest.mark.parametrize("vocabulary", [100, 151936])
@pytest.mark.parametrize("temperature", [1e-3, 1e-6])
def test_a_cold_softmax_is_exact(vocabulary: int, temperature: float) -> None:
    logits = torch.full((2, vocabulary), -20.0)
    logits[:, 7] = 42
    for t in (temperature, torch.full((2,), temperature)):
        p = sampling.softmax(logits, t)
        assert (p[:, 7] == 1).all()
        assert (p.sum(-1) == 1).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_renormalising_keeps_the_dtype(dtype: torch.dtype) -> None:
    p = torch.softmax(torch.randn(3, 500) * 2, -1).to(dtype)
    for renorm in (sampling.top_k_renorm_probs(p, 30), sampling.top_p_renorm_probs(p, 0.7)):
        assert renorm.dtype == dtype
        np.testing.assert_allclose(renorm.double().sum(-1), 1, rtol=1e-2)
    assert sampling.top_k_mask_logits(p.log(), 30).dtype == dtype
    assert sampling.top_k_renorm_prob is sampling.top_k_renorm_probs
    assert sampling.top_p_renorm_prob is sampling.top_p_renorm_probs


def test_parameters_of_each_row() -> None:
    p = torch.softmax(torch.randn(4, 300) * 2, -1)
    k, top_p = torch.tensor([1, 5, 50, 300]), torch.tensor([0.2, 0.5, 0.9, 1.0])
    by_k, by_p = sampling.top_k_renorm_probs(p, k.int()), sampling.top_p_renorm_probs(p, top_p)
    for row in range(4):
        one = p[row : row + 1]
        assert torch.equal(by_k[row : row + 1], sampling.top_k_renorm_probs(one, int(k[row])))
        expected = sampling.top_p_renorm_probs(one, float(top_p[row]))
        assert torch.equal(by_p[row : row + 1], expected)
    indices = torch.tensor([3, 0, 0, 2])  # parameters belong to samples, not to rows of p
    tokens = sampling.top_k_sampling_from_probs(p, torch.ones(4).int(), indices)
    assert torch.equal(tokens, p.argmax(-1)[indices])


def median(work: object, repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        begin = time.thread_time()
        work()
        times.append(time.thread_time() - begin)
    return sorted(times)[repeats // 2]


def test_speed_does_not_depend_on_the_distribution() -> None:
    """Time of this thread, so that other work on the machine counts little."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        size = 151936
        logits = torch.randn(2, size) * 2
        p = torch.softmax(logits, -1)
        one_hot = torch.zeros(2, size)
        one_hot[:, 99] = 1
        typical = median(lambda: sampling.top_k_top_p_sampling_from_probs(p, 50, 0.9))
        for worst in (torch.full((2, size), 1 / size), one_hot, torch.rand(2, size)):
            for k, top_p in ((50, 0.9), (size, 1.0), (1, 0.5), (size // 2, 0.999)):

                def work(w: object = worst, a: int = k, b: float = top_p) -> object:
                    return sampling.top_k_top_p_sampling_from_probs(w, a, b)

                assert median(work) < 3 * typical + 1e-4
        from_logits = median(lambda: sampling.top_k_top_p_sampling_from_logits(logits, 50, 0.9))
        softmax = median(lambda: sampling.softmax(logits))
        assert from_logits <= 1.1 * (softmax + typical) + 1e-4
        by_sort = median(lambda: p.sort(-1, descending=True), 3)
        assert 3 * typical < by_sort
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("name", ["seed", "offset"])
def test_seeds_and_offsets_have_64_bits(name: str) -> None:
    p = torch.rand(4, 1000)

    def draw(value: object) -> torch.Tensor:
        return sampling.sampling_from_probs(p, **({"seed": 1} | {name: value}))

    assert torch.equal(draw(2**64 - 1), draw(-1)), "the same bits"
    assert torch.equal(draw(2**63), draw(-(2**63)))
    assert torch.equal(draw(np.uint64(2**64 - 1)), draw(-1))
    for value in (2**64, 2**64 + 1, -(2**63) - 1):
        with pytest.raises(ValueError, match=rf"'{name}' is {value}; accepted: "):
            draw(value)
    for value in (1.0, "1", [1]):
        with pytest.raises(TypeError, match=rf"'{name}' is .*; accepted: a whole number"):
            draw(value)


def test_a_filter_that_is_asked_for_is_given() -> None:
    p = torch.rand(2, 10)
    for call in (
        lambda: sampling.top_k_sampling_from_probs(p, None),
        lambda: sampling.top_p_sampling_from_probs(p, None),
        lambda: sampling.min_p_sampling_from_probs(p, None),
        lambda: sampling.top_k_renorm_probs(p, None),
        lambda: sampling.top_k_mask_logits(p, None),
    ):
        with pytest.raises(TypeError, match="' is None; accepted: a number or a tensor"):
            call()


@pytest.mark.parametrize("unit", [1e-45, 1e-38, 1e38])
def test_rows_of_extreme_mass_are_renormalised(unit: float) -> None:
    p = torch.tensor([[1.0, 0, 1, 2]]) * unit
    np.testing.assert_allclose(sampling.top_p_renorm_probs(p, 1.0), [[0.25, 0, 0.25, 0.5]])
    np.testing.assert_allclose(sampling.top_k_renorm_probs(p, 1), [[0, 0, 0, 1]])
