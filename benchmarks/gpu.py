#!/usr/bin/env python3
"""Measures Wavefire on a CUDA GPU beside PyTorch (FlashInfer where it is installed), and against
the GPU's ceilings, in one run.

Times are those of the device, between two events; buffers are larger than the L2 cache, but for
small batches of sampling. A number is printed only after its result was checked. Host time of run()
is measured apart.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import wavefire
from measure import Bench, Work, close
from record import write_record
from torch.nn.attention import SDPBackend, sdpa_kernel

HERE = Path(__file__).parent
DIM = 128
sdpa = torch.nn.functional.scaled_dot_product_attention


def device_seconds(work: Work) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(200_000)  # the host runs ahead: its time does not count
    begin.record()
    work()
    end.record()
    end.synchronize()
    return 1e-3 * begin.elapsed_time(end)


class GpuBench(Bench):
    def __init__(self, quick: bool) -> None:
        super().__init__(quick, device_seconds)

    def _ceilings(self) -> tuple[float, float, float]:
        x = torch.ones(512 << 20, device="cuda")
        y = torch.empty_like(x)
        b = torch.randn(8192, 8192, device="cuda").bfloat16()
        read, copy, product = self.alternate([x.sum, lambda: y.copy_(x), lambda: b @ b])
        return 4 * x.numel() / min(read), 8 * x.numel() / min(copy), 2 * 8192**3 / min(product)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, device="cuda").bfloat16()


def workspace() -> torch.Tensor:
    return torch.empty(128 << 20, dtype=torch.uint8, device="cuda")


def bench_decode(bench: Bench) -> None:
    for page in (1, 16, 64):
        bench_decode_of(bench, page, torch.bfloat16, (1, 4, 8, 16))
    bench_decode_of(bench, 16, torch.float8_e4m3fn, (1, 4, 8))


def bench_decode_of(bench: Bench, page: int, dtype: torch.dtype, groups: tuple[int, ...]) -> None:
    batch, kv_heads, length = 64, 8, 8192
    pages = batch * length // page
    cache = random(pages, 2, page, kv_heads, DIM).to(dtype)
    indices = torch.randperm(pages).int()
    indptr = torch.arange(batch + 1, dtype=torch.int32) * (length // page)
    last = torch.full((batch,), page, dtype=torch.int32)
    order = indices.long().cuda()
    k, v = (
        cache[:, i].bfloat16()[order].view(batch, length, kv_heads, DIM).transpose(1, 2)
        for i in (0, 1)
    )
    kv_bytes = cache.numel() * cache.element_size()
    of = f"{str(dtype).removeprefix('torch.')} KV, {kv_bytes >> 30} GiB"
    for group in groups:
        q = random(batch, kv_heads * group, DIM)
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(workspace())
        wrapper.plan(
            indptr, indices, last, kv_heads * group, kv_heads, DIM, page,
            q_data_type=q.dtype, kv_data_type=dtype,
        )  # fmt: skip
        out = torch.empty_like(q)
        wrapper.run(q, cache, out=out)
        expected = sdpa(q[:, :, None], k, v, enable_gqa=True)[:, :, 0]
        bench.add(
            "decode",
            f"{of}, page {page}, group {group}",
            lambda w=wrapper, x=q, o=out: w.run(x, cache, out=o),
            lambda x=q: sdpa(x[:, :, None], k, v, enable_gqa=True),
            "SDPA of bf16",
            lambda o=out, e=expected: close(o, e, 0.02),
            kv_bytes,
            "B/s",
            bench.read_bandwidth,
        )


def bench_prefill(bench: Bench) -> None:
    lengths = (4096,) if bench.quick else (4096, 16384)
    for dim, length in [*((128, n) for n in lengths), (64, lengths[-1]), (256, lengths[-1])]:
        for causal in (False, True):
            bench_prefill_of(bench, dim, length, causal)


def bench_prefill_of(bench: Bench, dim: int, length: int, causal: bool) -> None:
    heads = 4096 // dim
    q, k, v = (random(length, heads, dim) for _ in range(3))
    indptr = torch.tensor([0, length], dtype=torch.int32)
    wrapper = wavefire.BatchPrefillWithRaggedKVCacheWrapper(workspace())
    wrapper.plan(indptr, indptr, heads, heads, dim, causal=causal, q_data_type=q.dtype)
    out = torch.empty_like(q)
    wrapper.run(q, k, v, out=out)
    batch = tuple(x.transpose(0, 1)[None].contiguous() for x in (q, k, v))
    backends = {"FlashAttention-2": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION}
    for name, backend in backends.items():

        def peer(b: SDPBackend = backend) -> torch.Tensor:
            with sdpa_kernel(b):
                return sdpa(*batch, is_causal=causal)

        bench.add(
            "prefill",
            f"bf16 hd {dim}, {length} {'causal' if causal else 'full'}",
            lambda: wrapper.run(q, k, v, out=out),
            peer,
            name,
            lambda p=peer: close(out, p()[0].transpose(0, 1), 0.02),
            4 * heads * length * length * dim * (0.5 if causal else 1),
            "FLOP/s",
            bench.multiply_rate,
        )


def bench_rows(bench: Bench) -> None:
    rows, hidden = 65536, 4096
    x, r, w = random(rows, hidden), random(rows, hidden), random(hidden)
    out, half = torch.empty_like(x), torch.empty_like(x[:, : hidden // 2])
    f = torch.nn.functional
    few = slice(0, 512)  # what is compared
    q, k = random(rows, 32, DIM), random(rows, 8, DIM)
    positions = torch.arange(rows, device="cuda", dtype=torch.int32)
    cache = random(rows // 16, 2, 16, 8, DIM)
    tables = (
        torch.arange(rows // 16, device="cuda", dtype=torch.int32),
        torch.tensor([0, rows // 16], device="cuda", dtype=torch.int32),
        torch.tensor([16], device="cuda", dtype=torch.int32),
    )
    first = torch.zeros(rows, device="cuda", dtype=torch.int32)

    def add(case: str, ours: Work, peer: Work | None, elements: int, good: bool) -> None:
        bench.add(
            "rows", case, ours, peer, "torch", lambda: good, 2 * elements, "B/s",
            bench.copy_bandwidth,
        )  # fmt: skip

    def append() -> None:
        wavefire.append_paged_kv_cache(k, k, first, positions, cache, *tables)

    good = close(wavefire.rmsnorm(x[few], w), f.rms_norm(x[few], (hidden,), w, 1e-6), 0.02)
    add(
        "rmsnorm", lambda: wavefire.rmsnorm(x, w, out=out),
        lambda: f.rms_norm(x, (hidden,), w, 1e-6), 2 * x.numel(), good,
    )  # fmt: skip
    gate, up = x[few, : hidden // 2], x[few, hidden // 2 :]
    good = close(wavefire.silu_and_mul(x[few]), f.silu(gate.float()) * up, 0.02)
    add("silu_and_mul", lambda: wavefire.silu_and_mul(x, out=half), None, 3 * half.numel(), good)
    y, s = x[few].clone(), r[few].clone()
    wavefire.fused_add_rmsnorm(y, s, w)
    good = close(s, x[few] + r[few], 0.02)
    zero = torch.zeros_like(x)
    add(
        "fused_add_rmsnorm", lambda: wavefire.fused_add_rmsnorm(zero, r, w), None, 4 * x.numel(),
        good,
    )  # fmt: skip
    host = [t[few].cpu() for t in (q, k, positions)]
    pair = wavefire.apply_rope_pos_ids(q[few], k[few], positions[few])
    good = all(
        close(a.cpu(), b, 0.02)
        for a, b in zip(pair, wavefire.apply_rope_pos_ids(*host), strict=True)
    )
    add(
        "rope in place", lambda: wavefire.apply_rope_pos_ids_inplace(q, k, positions), None,
        2 * (q.numel() + k.numel()), good,
    )  # fmt: skip
    append()
    good = bool((cache[:, 0].reshape(rows, 8, DIM) == k).all())
    add("append, page 16", append, None, 4 * k.numel(), good)
    marks = torch.rand(1 << 30, device="cuda") < 0.5
    packed = wavefire.packbits(marks[: 1 << 20]).cpu().numpy()
    bench.add(
        "rows", "packbits 1 Gi", lambda: wavefire.packbits(marks), None, "",
        lambda: bool((packed == np.packbits(marks[: 1 << 20].cpu().numpy())).all()),
        marks.numel() * 9 // 8, "B/s", bench.copy_bandwidth,
    )  # fmt: skip


def filter_cases(
    module: Any, probs: torch.Tensor, logits: torch.Tensor
) -> dict[str, Callable[[], torch.Tensor]]:
    """Sampling by names that Wavefire and FlashInfer share."""
    key = {"seed": 1, "offset": 0}
    return {
        "softmax": lambda: module.softmax(logits),
        "draw": lambda: module.sampling_from_probs(probs, **key),
        "draw of logits": lambda: module.sampling_from_logits(logits, **key),
        "top-p 0.9": lambda: module.top_p_sampling_from_probs(probs, 0.9, **key),
        "top-k 50": lambda: module.top_k_sampling_from_probs(probs, 50, **key),
        "min-p 0.1": lambda: module.min_p_sampling_from_probs(probs, 0.1, **key),
        "top-k 50, top-p 0.9": lambda: module.top_k_top_p_sampling_from_probs(
            probs, 50, 0.9, **key
        ),
        "renorm top-p 0.9": lambda: module.top_p_renorm_probs(probs, 0.9),
        "renorm top-k 50": lambda: module.top_k_renorm_probs(probs, 50),
        "mask top-k 50": lambda: module.top_k_mask_logits(logits, 50),
    }


def is_like_the_cpu(ours: torch.Tensor, here: torch.Tensor) -> bool:
    """Rows within rounding; tokens but for one in a hundred rows, on the boundary of two."""
    if here.dtype == torch.int32:
        return int((ours.cpu() != here).sum()) <= here.numel() // 100
    return torch.allclose(ours.cpu(), here, rtol=1e-4, atol=1e-30)


def bench_sampling(bench: Bench) -> None:
    found = importlib.util.find_spec("flashinfer") is not None
    flashinfer = importlib.import_module("flashinfer.sampling") if found else None
    size, most = 128256, 16  # rows that are compared
    for batch in (1, 512) if bench.quick else (1, 16, 64, 512):
        logits = torch.randn(batch, size, device="cuda") * 2
        probs = torch.softmax(logits, -1)
        expected = filter_cases(wavefire, probs[:most].cpu(), logits[:most].cpu())
        peers = filter_cases(flashinfer, probs, logits) if flashinfer else {}
        for name, ours in filter_cases(wavefire, probs, logits).items():
            writes = name.startswith(("softmax", "renorm", "mask"))
            bench.add(
                "sampling", f"{name}, batch {batch} of {size}", ours, peers.get(name),
                "FlashInfer", lambda f=ours, e=expected[name]: is_like_the_cpu(f()[:most], e()),
                (8 if writes else 4) * probs.numel(), "B/s",
                bench.copy_bandwidth if writes else bench.read_bandwidth,
            )  # fmt: skip


def host_time(calls: int = 500) -> float:
    """Seconds of the host in one run() of a small batch, the device being idle or behind."""
    indptr = torch.tensor([0, 1, 2], dtype=torch.int32)
    one = torch.ones(2, dtype=torch.int32)
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(workspace())
    wrapper.plan(indptr, indptr[:2], one, 8, 2, DIM, 16, q_data_type=torch.bfloat16)
    q, cache = random(2, 8, DIM), random(2, 2, 16, 2, DIM)
    k, v = cache[:, 0], cache[:, 1]
    out = torch.empty_like(q)
    best = float("inf")
    for _ in range(10):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls // 10):
            wrapper.run(q, (k, v), out=out)
        best = min(best, (time.perf_counter() - begin) / (calls // 10))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cases and repeats")
    parser.add_argument(
        "--output", type=Path, default=HERE / "results", help="folder of the JSON and plots"
    )
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("gpu.py: no CUDA GPU here, or PyTorch was built without CUDA")
    torch.manual_seed(0)
    bench = GpuBench(args.quick)
    name = torch.cuda.get_device_name()
    print(
        f"{name}, torch {torch.__version__}; ceilings: read {bench.read_bandwidth / 1e9:.0f} GB/s, "
        f"copy {bench.copy_bandwidth / 1e9:.0f} GB/s, "
        f"matrix product {bench.multiply_rate / 1e12:.0f} TFLOP/s"
    )
    run_seconds = host_time()
    print(f"run() of a small batch: {1e6 * run_seconds:.2f} us of the host")
    for part in (bench_rows, bench_sampling, bench_decode, bench_prefill):
        part(bench)
    write_record(bench, args.output / "gpu.json", {"processor": name, "run_seconds": run_seconds})


if __name__ == "__main__":
    main()
