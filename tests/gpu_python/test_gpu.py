"""Operations on PyTorch's CUDA tensors, on its current stream, against the CPU's results."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import wavefire

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU here")

CLOSE = {"rtol": 2e-2, "atol": 2e-2}  # bfloat16, two orders of summation


def on_gpu(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(x.cuda() for x in tensors)


def same(got: torch.Tensor, expected: torch.Tensor) -> None:
    assert got.is_cuda
    torch.testing.assert_close(got.cpu(), expected, **CLOSE)


def test_norms_and_activations() -> None:
    x, w = torch.randn(33, 4096).bfloat16(), torch.randn(4096).bfloat16()
    gx, gw = on_gpu(x, w)
    same(wavefire.rmsnorm(gx, gw), wavefire.rmsnorm(x, w))
    same(wavefire.silu_and_mul(gx), wavefire.silu_and_mul(x))


def test_work_is_on_the_current_stream() -> None:
    gx = torch.randn(4096, 4096, device="cuda").bfloat16()
    gw = torch.ones(4096, device="cuda").bfloat16()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(20):
            gx = torch.nn.functional.silu(gx) + 1  # keeps the stream busy
        got = wavefire.rmsnorm(gx, gw)
        expected = gx.float() * (gx.float().square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    stream.synchronize()
    torch.testing.assert_close(got.float(), expected, **CLOSE)


def test_mixed_devices_are_named() -> None:
    x, w = torch.randn(3, 64, device="cuda"), torch.ones(64)
    with pytest.raises(ValueError, match=r"'weight' is on cpu.*cuda:0.*'input'"):
        wavefire.rmsnorm(x, w)


def test_index_arrays_are_made_on_the_gpu() -> None:
    lengths = torch.randint(0, 40, (300,))
    indptr = torch.cat([torch.zeros(1), lengths.cumsum(0)]).int()
    tokens = int(indptr[-1])
    seq_lens = (lengths + torch.randint(0, 100, (300,))).int()
    offsets = torch.randint(0, 1000, (300,)).int()
    q = torch.randn(tokens, 4, 64).bfloat16()
    for f in (
        lambda i, s, o, x: wavefire.get_batch_indices_positions(i, s, tokens + 5),
        lambda i, s, o, x: (wavefire.get_seq_lens(i, s % 16 + 1, 16),),
        lambda i, s, o, x: wavefire.apply_rope(x, x, i, o),
    ):
        here, there = f(indptr, seq_lens, offsets, q), f(*on_gpu(indptr, seq_lens, offsets, q))
        for expected, got in zip(here, there, strict=True):
            same(got, expected)


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 1001])
def test_bits_are_packed_on_the_gpu(order: str, size: int) -> None:
    x = torch.rand(2 * size)[::2] < 0.5
    indptr = torch.tensor([0, size // 3, size // 3, size]).int()
    (gx, gi) = on_gpu(x, indptr)
    assert torch.equal(wavefire.packbits(gx, order).cpu(), wavefire.packbits(x, order))
    for expected, got in zip(
        wavefire.segment_packbits(x, indptr, order), wavefire.segment_packbits(gx, gi, order),
        strict=True,
    ):  # fmt: skip
        assert torch.equal(got.cpu(), expected)


PAGE, KV_HEADS, HEADS, DIM = 16, 2, 8, 128


def decode_batch(lengths: list[int]) -> dict[str, torch.Tensor]:
    counts = [(n + PAGE - 1) // PAGE for n in lengths]
    indptr = torch.tensor([0, *counts]).cumsum(0).int()
    return {
        "indptr": indptr,
        "indices": torch.randperm(64)[: int(indptr[-1])].int(),
        "last_page_len": torch.tensor([(n - 1) % PAGE + 1 for n in lengths]).int(),
    }


def wrapper_on(device: str, **graph: Any) -> Any:
    workspace = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    return wavefire.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", **graph)


def test_decode_and_a_captured_graph() -> None:
    cache, q = torch.randn(64, 2, PAGE, KV_HEADS, DIM).bfloat16(), torch.randn(3, HEADS, DIM)
    q = q.bfloat16()
    gcache, gq = on_gpu(cache, q)
    buffers = {
        "paged_kv_indptr_buffer": torch.zeros(4, dtype=torch.int32, device="cuda"),
        "paged_kv_indices_buffer": torch.zeros(64, dtype=torch.int32, device="cuda"),
        "paged_kv_last_page_len_buffer": torch.zeros(3, dtype=torch.int32, device="cuda"),
    }
    here, there = wrapper_on("cpu"), wrapper_on("cuda", use_cuda_graph=True, **buffers)

    def plan(lengths: list[int]) -> torch.Tensor:
        tables = decode_batch(lengths)
        for wrapper in here, there:
            wrapper.plan(
                tables["indptr"], tables["indices"], tables["last_page_len"], HEADS, KV_HEADS, DIM,
                PAGE, q_data_type=torch.bfloat16,
            )  # fmt: skip
        return here.run(q, cache)

    expected = plan([5, 1, 20])
    same(there.run(gq, gcache), expected)
    torch.cuda.synchronize()
    graph, out = torch.cuda.CUDAGraph(), torch.empty_like(gq)
    with torch.cuda.graph(graph):
        there.run(gq, gcache, out=out)
    for lengths in [300, 2, 17], [1, 1, 1], [250, 300, 280]:
        expected = plan(lengths)
        graph.replay()
        torch.cuda.synchronize()
        same(out, expected)
