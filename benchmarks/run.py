#!/usr/bin/env python3
"""Measures Wavefire beside PyTorch on this CPU, and against the machine's ceilings, in one run.

A number is printed only after its result was checked. Repeats of ours and of the peer alternate;
the median counts, and an A/A row (ours against ours) states the noise.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import numpy as np
import torch
import wavefire
from measure import Bench, close
from record import write_record
from rows import bench_rows, bench_sampling

HERE = Path(__file__).parent


def bench_prefill(bench: Bench) -> None:
    sdpa = torch.nn.functional.scaled_dot_product_attention
    for dim in (64, 128):
        for length in (2048,) if bench.quick else (2048, 4096, 8192):
            for causal in (False, True):
                heads = 8 if length < 8192 else 4
                q, k, v = (torch.randn(length, heads, dim).bfloat16() for _ in range(3))
                q4, k4, v4 = (x.transpose(0, 1)[None].contiguous() for x in (q, k, v))
                indptr = torch.tensor([0, length], dtype=torch.int32)
                wrapper = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
                wrapper.plan(indptr, indptr, heads, heads, dim, causal=causal, q_data_type=q.dtype)
                out = torch.empty_like(q)

                def ours(
                    w: object = wrapper, x: tuple = (q, k, v), o: torch.Tensor = out
                ) -> object:
                    return w.run(*x, out=o)

                def peer(x: tuple = (q4, k4, v4), c: bool = causal) -> object:
                    return sdpa(*x, is_causal=c)

                bench.add(
                    "prefill",
                    f"bf16 hd {dim} {length} x {length} {'causal' if causal else 'full'}",
                    ours,
                    peer,
                    "SDPA",
                    lambda o=ours, p=peer: close(o(), p()[0].transpose(0, 1), 0.02),
                    4 * heads * length * length * dim * (0.5 if causal else 1),
                    "FLOP/s",
                    bench.multiply_rate,
                )


def bench_decode(bench: Bench) -> None:
    sdpa = torch.nn.functional.scaled_dot_product_attention
    batch, kv_heads, dim, length, page = 32, 8, 128, 4096, 16
    if bench.quick:
        length = 2048
    pages = batch * length // page
    cache = torch.randn(pages, 2, page, kv_heads, dim, dtype=torch.bfloat16)
    indices = torch.randperm(pages).int()
    indptr = torch.arange(batch + 1, dtype=torch.int32) * (length // page)
    last = torch.full((batch,), page, dtype=torch.int32)
    flat = cache[indices.long()].view(batch, length // page, 2, page, kv_heads, dim)
    k, v = (
        flat[:, :, i].reshape(batch, length, kv_heads, dim).transpose(1, 2).contiguous()
        for i in (0, 1)
    )
    del flat
    line = torch.ones(k.numel())  # as many bytes as K and V
    for group in (1, 4, 8):
        q = torch.randn(batch, kv_heads * group, dim, dtype=torch.bfloat16)
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
        wrapper.plan(
            indptr, indices, last, kv_heads * group, kv_heads, dim, page, q_data_type=q.dtype
        )
        out = torch.empty_like(q)

        def ours(w: object = wrapper, x: torch.Tensor = q, o: torch.Tensor = out) -> object:
            return w.run(x, cache, out=o)

        def peer(x: torch.Tensor = q) -> object:
            return sdpa(x[:, :, None], k, v, enable_gqa=True)

        bench.add(
            "decode",
            f"bf16 hd 128, {2 * k.numel() * 2 >> 20} MiB of KV, page 16, group {group}",
            ours,
            peer,
            "SDPA",
            lambda o=ours, p=peer: close(o(), p()[:, :, 0], 0.02),
            4 * k.numel(),
            "B/s",
            None,
            beside=(line.sum, 4.0 * line.numel()),
        )


def bench_plan(bench: Bench) -> None:
    lengths = np.random.default_rng(0).integers(1, 8192, 256)
    indptr = torch.tensor(np.cumsum([0, *-(-lengths // 16)]), dtype=torch.int32)
    indices = torch.randperm(int(indptr[-1])).int()
    last = torch.tensor((lengths - 1) % 16 + 1, dtype=torch.int32)
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()

    def plan() -> None:
        wrapper.plan(indptr, indices, last, 32, 8, 128, 16, q_data_type=torch.bfloat16)

    bench.add(
        "plan",
        "256 requests from Python, tables copied and checked",
        plan,
        plan,
        "itself (A/A)",
        lambda: True,
        256,
        "requests/s",
        None,
    )


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cases and repeats")
    parser.add_argument(
        "--output", type=Path, default=HERE / "results", help="folder of the JSON and plots"
    )
    args = parser.parse_args()
    torch.manual_seed(0)
    bench = Bench(args.quick)
    print(
        f"{processor()}, {torch.get_num_threads()} threads, torch {torch.__version__}; "
        f"ceilings: read {bench.read_bandwidth / 1e9:.1f} GB/s, "
        f"copy {bench.copy_bandwidth / 1e9:.1f} GB/s, "
        f"matrix product {bench.multiply_rate / 1e9:.0f} GFLOP/s"
    )
    for part in (bench_plan, bench_rows, bench_sampling, bench_prefill, bench_decode):
        part(bench)
    write_record(
        bench,
        args.output / "cpu.json",
        {
            "processor": processor(),
            "threads": torch.get_num_threads(),
            "level": wavefire.cpu_level(),
        },
    )


if __name__ == "__main__":
    main()
