"""What a refused call leaves as it was: plans, buffers, results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import wavefire
from compare import ints

HEADS, DIM, PAGE = 4, 64, 4
Q = torch.randn(2, HEADS, DIM, generator=torch.Generator().manual_seed(1))
CACHE = torch.randn(3, 2, PAGE, 2, DIM, generator=torch.Generator().manual_seed(2))
DECODE = {
    "indptr": ints(0, 2, 3), "indices": ints(0, 1, 2), "last_page_len": ints(4, 1),
    "num_qo_heads": HEADS, "num_kv_heads": 2, "head_dim": DIM, "page_size": PAGE,
    "q_data_type": "float32",
}  # fmt: skip
PREFILL = {
    "qo_indptr": ints(0, 1, 2), "paged_kv_indptr": ints(0, 2, 3), "paged_kv_indices": ints(0, 1, 2),
    "paged_kv_last_page_len": ints(4, 1), "num_qo_heads": HEADS, "num_kv_heads": 2,
    "head_dim_qk": DIM, "page_size": PAGE, "q_data_type": "float32",
}  # fmt: skip


def planned(
    kind: type = wavefire.BatchDecodeWithPagedKVCacheWrapper, **changes: object
) -> wavefire.BatchDecodeWithPagedKVCacheWrapper:
    wrapper = kind()
    wrapper.plan(**(DECODE if "Decode" in kind.__name__ else PREFILL) | changes)
    return wrapper


@pytest.mark.parametrize(
    "wrong",
    [
        {"window_left": -5}, {"sm_scale": "x"}, {"sm_scale": "0.1"}, {"q_data_type": "float64"},
        {"last_page_len": ints(0, 1)}, {"page_size": 2**31}, {"page_size": 10**400},
        {"num_qo_heads": 10**5000}, {"q_len_per_req": 2**30}, {"sm_scale": 10**400},
    ],
)  # fmt: skip
def test_a_refused_plan_leaves_the_one_before(wrong: dict[str, object]) -> None:
    wrapper = planned()
    before = wrapper.run(Q, CACHE)
    with pytest.raises((ValueError, TypeError), match=r"\w+: '\w+' is .*; accepted: "):
        wrapper.plan(**DECODE | wrong)
    assert torch.equal(wrapper.run(Q, CACHE), before)


def test_a_refused_forward_leaves_the_plan() -> None:
    wrapper = planned()
    before = wrapper.run(Q, CACHE)
    with pytest.raises(ValueError, match="'window_left' is -5"):
        wrapper.forward(Q, CACHE, window_left=-5)
    assert torch.equal(wrapper.run(Q, CACHE), before)


def test_forward_plans_again_from_the_tables_of_plan() -> None:
    tables = {name: DECODE[name].clone() for name in ("indptr", "indices", "last_page_len")}
    wrapper = planned(**tables)
    for table in tables.values():
        table.fill_(77)
    expected = planned(sm_scale=0.5).run(Q, CACHE)
    assert torch.equal(wrapper.forward(Q, CACHE, sm_scale=0.5), expected)


@pytest.mark.parametrize("head_dim_vo", [0, -1])
def test_values_have_dims(head_dim_vo: int) -> None:
    with pytest.raises(ValueError, match=f"'head_dim_vo' is {head_dim_vo}; accepted: "):
        planned(wavefire.BatchPrefillWithPagedKVCacheWrapper, head_dim_vo=head_dim_vo)


@pytest.mark.parametrize(
    "state",
    [
        "ab", 5, (Q, None), (Q,), (Q.double(), Q[..., 0]), (Q[:1], Q[..., 0]), (Q, Q),
        (Q, Q[..., 0].int()), (Q, Q[:1, :, 0]),
    ],
)  # fmt: skip
def test_a_refused_partial_state_leaves_the_results(state: object) -> None:
    wrapper = planned(wavefire.BatchPrefillWithPagedKVCacheWrapper)
    out, lse = torch.full_like(Q, 7), torch.full(Q.shape[:2], 7.0)
    with pytest.raises((ValueError, TypeError), match=r"'partial_state.*' is .*; accepted: "):
        wrapper.run(Q, CACHE, out=out, lse=lse, return_lse=True, partial_state=state)
    assert torch.equal(out, torch.full_like(Q, 7))
    assert torch.equal(lse, torch.full(Q.shape[:2], 7.0))


def graph_wrapper(make: object) -> wavefire.BatchDecodeWithPagedKVCacheWrapper:
    return wavefire.BatchDecodeWithPagedKVCacheWrapper(
        None, "NHD", True, False, make(3), make(8), make(2)
    )


@pytest.mark.parametrize("make", [lambda n: torch.zeros(n).int(), lambda n: np.zeros(n, np.int32)])
@pytest.mark.parametrize("convert", [lambda t: t, lambda t: t.numpy(), lambda t: t.tolist()])
def test_graph_mode_takes_tables_of_any_kind(make: object, convert: object) -> None:
    wrapper = graph_wrapper(make)
    tables = {name: convert(DECODE[name]) for name in ("indptr", "indices", "last_page_len")}
    wrapper.plan(**DECODE | tables)
    for name in tables:
        buffer = np.asarray(getattr(wrapper, f"_paged_kv_{name}_buf"))
        assert list(buffer[: len(DECODE[name])]) == DECODE[name].tolist()
    assert torch.equal(wrapper.run(Q, CACHE), planned().run(Q, CACHE))


def test_graph_mode_takes_buffers_of_integers() -> None:
    with pytest.raises(ValueError, match="'paged_kv_indptr_buffer' is float32; accepted: int32"):
        graph_wrapper(torch.zeros)


PROBS = torch.full((2, 8), 0.125)
TORCH, NUMPY = torch.Generator(), np.random.default_rng(1)


@pytest.mark.parametrize(
    ("probs", "generator", "state"),
    [
        (PROBS, None, lambda: torch.get_rng_state().tolist()),
        (PROBS, TORCH, lambda: TORCH.get_state().tolist()),
        (PROBS, NUMPY, lambda: NUMPY.bit_generator.state),
        (PROBS.numpy(), None, lambda: [list(np.atleast_1d(x)) for x in np.random.get_state()]),
    ],
    ids=["torch", "torch-generator", "numpy-generator", "numpy"],
)
@pytest.mark.parametrize(
    "wrong", [{"top_p": 1.5}, {"probs": -1}, {"indices": ints(0, 9)}, {"top_p": torch.zeros(2)}]
)
def test_a_refused_draw_leaves_the_generator(
    probs: torch.Tensor, generator: object, state: Callable[[], object], wrong: dict[str, object]
) -> None:
    arguments = {"probs": probs, "top_p": 0.5, "generator": generator}
    if "probs" in wrong:
        wrong = {"probs": probs * wrong["probs"]}
    before = state()
    with pytest.raises(ValueError, match=r"'\w+' is .*; accepted: "):
        wavefire.top_p_sampling_from_probs(**arguments | wrong)
    assert state() == before
    wavefire.top_p_sampling_from_probs(**arguments)
    assert state() != before


def test_configure_changes_all_or_nothing() -> None:
    level = wavefire.cpu_level()
    with pytest.raises(ValueError, match="'num_threads' is 'x'; accepted: a whole number"):
        wavefire.configure(cpu_level="scalar", num_threads="x")
    assert wavefire.cpu_level() == level
