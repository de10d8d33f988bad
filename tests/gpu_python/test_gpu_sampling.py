"""Sampling from PyTorch's CUDA tensors against the CPU, which draws the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import wavefire

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU here")

DTYPES = torch.float32, torch.float16, torch.bfloat16
# One block of values and less, odd rows, what lanes keep and what they read again.
VOCABULARIES = 1, 7, 1000, 50257, 128256, 151936, 300007


def logits_of(rows: int, size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.randn(rows, size) * 3).to(dtype)


def probs_of(rows: int, size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.softmax(logits_of(rows, size), -1).to(dtype)


def device_of(x: Any, device: str) -> Any:
    return x.to(device) if isinstance(x, torch.Tensor) else x


def same_tokens(f: Callable[..., torch.Tensor], *tensors: torch.Tensor, **options: Any) -> None:
    """The CPU's tokens; one in a thousand may be that of the other side of a boundary."""
    here = f(*tensors, **options)
    there = f(*(x.cuda() for x in tensors), **{k: device_of(x, "cuda") for k, x in options.items()})
    assert there.is_cuda
    assert int((here != there.cpu()).sum()) <= here.numel() // 1000


@pytest.mark.parametrize("size", VOCABULARIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tokens_are_those_of_the_cpu(size: int, dtype: torch.dtype) -> None:
    probs, logits = probs_of(5, size, dtype), logits_of(5, size, dtype)
    seed = {"seed": 1234, "offset": 7}
    k = max(1, size // 50)
    same_tokens(wavefire.sampling_from_probs, probs, **seed)
    same_tokens(wavefire.sampling_from_logits, logits, **seed)
    same_tokens(wavefire.top_p_sampling_from_probs, probs, top_p=0.9, **seed)
    same_tokens(wavefire.top_k_sampling_from_probs, probs, top_k=k, **seed)
    same_tokens(wavefire.min_p_sampling_from_probs, probs, min_p=0.05, **seed)
    for order in "top_k_first", "joint":
        both = {"top_k": k, "top_p": 0.8, "filter_apply_order": order, **seed}
        same_tokens(wavefire.top_k_top_p_sampling_from_probs, probs, **both)
        same_tokens(wavefire.top_k_top_p_sampling_from_logits, logits, **both)


@pytest.mark.parametrize("size", VOCABULARIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_those_of_the_cpu(size: int, dtype: torch.dtype) -> None:
    probs, logits = probs_of(5, size, dtype), logits_of(5, size, dtype)
    temperature = torch.tensor([0.3, 0.7, 1.0, 1.5, 4.0])
    k = max(1, size // 50)
    torch.testing.assert_close(
        wavefire.softmax(logits.cuda(), temperature.cuda()).cpu(),
        wavefire.softmax(logits, temperature), rtol=2e-5, atol=1e-30,
    )  # fmt: skip
    for f, x, parameter in (
        (wavefire.top_k_renorm_probs, probs, k),
        (wavefire.top_p_renorm_probs, probs, 0.9),
        (wavefire.top_k_mask_logits, logits, k),
    ):
        here, there = f(x, parameter), f(x.cuda(), parameter).cpu()
        assert torch.equal(here > 0, there > 0)
        torch.testing.assert_close(there, here, rtol=1e-6, atol=0)


def test_parameters_and_seeds_of_each_row() -> None:
    rows, size = 40, 32000
    probs = probs_of(4, size)
    same_tokens(
        wavefire.top_k_top_p_sampling_from_probs, probs, indices=torch.arange(rows) % 4,
        top_k=torch.randint(1, 500, (rows,)), top_p=torch.rand(rows) * 0.9 + 0.1,
        seed=torch.randint(-(2**62), 2**62, (rows,)), offset=torch.arange(rows),
    )  # fmt: skip
    same_tokens(wavefire.sampling_from_probs, probs, seed=torch.tensor(9), offset=torch.tensor([3]))


def test_what_cannot_be_drawn_from_is_reported() -> None:
    probs = probs_of(6, 1000).cuda()
    probs[0, 3], probs[1, 5], probs[2, 7], probs[3] = float("nan"), float("inf"), -1.0, 0.0
    good = torch.tensor([False, False, False, False, True, True])
    for f in (
        lambda: wavefire.sampling_from_probs(probs, return_valid=True),
        lambda: wavefire.top_p_sampling_from_probs(probs, 0.9, return_valid=True),
    ):
        tokens, valid = (x.cpu() for x in f())
        assert torch.equal(valid, good)
        assert (tokens[:4] == 0).all()
    assert torch.equal(wavefire.top_p_renorm_probs(probs, 0.9).isnan().all(1).cpu(), ~good)
    # Parameters of rows are not looked at ahead, nor are indices.
    top_k = torch.tensor([0, 5, -1, 3, 2**31 - 1, 5], device="cuda")
    probs = probs_of(6, 1000).cuda()
    _, valid = wavefire.top_k_sampling_from_probs(probs, top_k, return_valid=True)
    assert valid.tolist() == [False, True, False, True, True, True]
    indices = torch.tensor([0, 6, -1, 5], device="cuda")
    tokens, valid = wavefire.sampling_from_probs(probs, indices, return_valid=True)
    assert valid.tolist() == [True, False, False, True]
    logits = logits_of(3, 100).cuda()
    logits[1, 7] = float("nan")
    assert wavefire.softmax(logits).isnan().all(1).tolist() == [False, True, False]
    assert wavefire.top_k_mask_logits(logits, 5).isnan().all(1).tolist() == [False, True, False]


def test_generators() -> None:
    probs = probs_of(64, 500).cuda()
    torch.manual_seed(5)
    first, second = (wavefire.sampling_from_probs(probs) for _ in range(2))
    assert not torch.equal(first, second)
    torch.manual_seed(5)
    assert torch.equal(first, wavefire.sampling_from_probs(probs))
    for device in "cuda", "cpu":
        generator = torch.Generator(device).manual_seed(3)
        seed, offset = wavefire.sampling.get_seed_and_offset(1, generator)
        tokens = wavefire.sampling_from_probs(probs, generator=generator.manual_seed(3))
        assert torch.equal(tokens, wavefire.sampling_from_probs(probs, seed=seed, offset=offset))


def test_a_captured_graph_draws_anew() -> None:
    probs = torch.full((64, 1000), 1e-3, device="cuda")
    seed, offset = (torch.zeros(1, dtype=torch.int64, device="cuda") for _ in range(2))
    wavefire.top_p_sampling_from_probs(probs, 0.9, seed=seed, offset=offset)
    wavefire.sampling_from_probs(probs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        by_seed = wavefire.top_p_sampling_from_probs(probs, 0.9, seed=seed, offset=offset)
        by_generator = wavefire.sampling_from_probs(probs)
    seen = []
    for i in range(3):
        offset.fill_(i)
        graph.replay()
        expected = wavefire.top_p_sampling_from_probs(probs, 0.9, seed=0, offset=i)
        assert torch.equal(by_seed, expected)
        seen.append(by_generator.clone())
    assert not torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[1], seen[2])
