"""Joining attention states."""

from __future__ import annotations

import math

import pytest
import torch
import wavefire

INF = math.inf


def state(value: float, lse: float, dtype: torch.dtype = torch.float32) -> tuple:
    return torch.full((4, 3, 80), value, dtype=dtype), torch.full((4, 3), float(lse))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("garbage", [0.0, math.nan, INF])
def test_empty_states_change_nothing(dtype: torch.dtype, garbage: float) -> None:
    empty = state(garbage, -INF, dtype)
    v, s = wavefire.merge_state(*empty, *empty)
    assert (v == 0).all()
    assert torch.isneginf(s).all()
    full = torch.randn(4, 3, 80).to(dtype), torch.randn(4, 3)
    for pair in ((empty, full), (full, empty)):
        v, s = wavefire.merge_state(*pair[0], *pair[1])
        assert torch.equal(v, full[0])
        assert torch.equal(s, full[1])
    v = torch.stack([full[0], empty[0], empty[0]], 1)
    s = torch.stack([full[1], empty[1], empty[1]], 1)
    joined = wavefire.merge_states(v, s)
    assert torch.equal(joined[0], full[0])
    assert torch.equal(joined[1], full[1])


def test_weights_are_powers_of_two() -> None:
    v, s = wavefire.merge_state(*state(1, -7e4), *state(3, -7e4))
    assert (v == 2).all()
    assert (s == -69999).all()
    v, s = wavefire.merge_state(*state(0, 1), *state(3, 2))
    assert torch.allclose(v, torch.tensor(2.0))
    assert torch.allclose(s, torch.tensor(math.log2(6)))


def test_in_place_with_and_without_a_mask() -> None:
    v, s = state(1, 2)
    other = state(3, 2)
    wavefire.merge_state_in_place(v, s, *other, mask=torch.zeros(4, dtype=torch.bool))
    assert torch.equal(v, state(1, 2)[0])
    assert torch.equal(s, state(1, 2)[1])
    for mask in (torch.tensor([0, 1, 0, 1], dtype=torch.uint8), torch.tensor([0, 1, 0, 1]).bool()):
        v, s = state(1, 2)
        wavefire.merge_state_in_place(v, s, *other, mask)
        assert v[:, 0, 0].tolist() == [1, 2, 1, 2]
        assert s[:, 0].tolist() == [2, 3, 2, 3]
    with pytest.raises(ValueError, match="'s' is float16; accepted: float32"):
        wavefire.merge_state_in_place(v, s.half(), *other)


def test_no_states_and_other_types_of_lse() -> None:
    v, s = wavefire.merge_states(torch.zeros(4, 0, 3, 80), torch.zeros(4, 0, 3))
    assert (v == 0).all()
    assert torch.isneginf(s).all()
    v, s = wavefire.merge_state(*state(1, 2), state(3, 2)[0], torch.full((4, 3), 2.0).double())
    assert s.dtype == torch.float32
    assert (v == 2).all()


@pytest.mark.parametrize("count", [2, 3, 65, 200])
@pytest.mark.parametrize("dim", [1, 24, 129, 512])
def test_many_states_against_float64(count: int, dim: int) -> None:
    v, s = torch.randn(3, count, 2, dim), torch.randn(3, count, 2) * 4
    weights = torch.exp2(s.double() - s.double().amax(1, keepdim=True))
    expected = (weights[..., None] * v.double()).sum(1) / weights.sum(1)[..., None]
    lse = s.double().amax(1) + weights.sum(1).log2()
    got = wavefire.merge_states(v, s)
    torch.testing.assert_close(got[0].double(), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(got[1].double(), lse, rtol=1e-6, atol=1e-6)


def test_halves_give_the_whole_at_any_number_of_heads() -> None:
    """Merging pairwise, in any order, is the same; 200 heads of 512 are ordinary."""
    v, s = torch.randn(2, 3, 200, 512).bfloat16(), torch.randn(2, 3, 200)
    whole = wavefire.merge_states(v.float(), s)
    a = wavefire.merge_state(v[:, 0].float(), s[:, 0], v[:, 1].float(), s[:, 1])
    b = wavefire.merge_state(*a, v[:, 2].float(), s[:, 2])
    torch.testing.assert_close(b[0], whole[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(b[1], whole[1])
