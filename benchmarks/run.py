#!/usr/bin/env python3
"""Measures Wavefire beside PyTorch on this CPU, and against the machine's ceilings, in one run.

A number is printed only after its result was checked. Repeats of ours and of the peer alternate;
the median counts, and an A/A row (ours against ours) states the noise.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
import wavefire

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
Work = Callable[[], object]


@dataclass
class Result:
    """Times in seconds; `floor` is what the machine's ceiling allows at best."""

    group: str
    case: str
    ours: float
    peer: float | None
    peer_name: str
    floor: float | None
    unit: str  # of `rate`
    rate: float
    ceiling: float | None
    spread: float

    @property
    def ratio(self) -> float | None:
        return None if self.peer is None else self.peer / self.ours


def alternate(works: list[Work], repeats: int) -> list[list[float]]:
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, times, strict=True):
            begin = time.perf_counter()
            work()
            taken.append(time.perf_counter() - begin)
    return times


class Bench:
    def __init__(self, quick: bool) -> None:
        self.repeats = 5 if quick else 11
        self.quick = quick
        self.results: list[Result] = []
        self.read_bandwidth, self.copy_bandwidth, self.multiply_rate = self._ceilings()

    def _ceilings(self) -> tuple[float, float, float]:
        """Bytes a second read and copied; operations a second of PyTorch's faster matrix product,
        float32 or bfloat16."""
        x = torch.ones(64 * 1024 * 1024)
        y = torch.empty_like(x)
        a = torch.randn(2048, 2048)
        b = a.bfloat16()
        read, copy, single, half = alternate(
            [x.sum, lambda: y.copy_(x), lambda: a @ a, lambda: b @ b], self.repeats
        )
        product = 2 * 2048**3 / min(*single, *half)
        return 4 * x.numel() / min(read), 8 * x.numel() / min(copy), product

    def add(
        self,
        group: str,
        case: str,
        ours: Work,
        peer: Work | None,
        peer_name: str,
        check: Callable[[], bool],
        amount: float,
        unit: str,
        ceiling: float | None,
    ) -> None:
        """`amount` operations or bytes; `check` must hold before anything is timed."""
        if not check():
            raise SystemExit(f"{group} {case}: the result is wrong; nothing is measured")
        times = alternate([ours] if peer is None else [ours, peer], self.repeats)
        mine = statistics.median(times[0])
        other = None if peer is None else statistics.median(times[1])
        spread = (max(times[0]) - min(times[0])) / mine
        floor = None if ceiling is None else amount / ceiling
        self.results.append(
            Result(group, case, mine, other, peer_name, floor, unit, amount / mine, ceiling, spread)
        )
        self.show(self.results[-1])

    @staticmethod
    def show(r: Result) -> None:
        share = "" if r.ceiling is None else f"  {100 * r.rate / r.ceiling:5.1f} % of ceiling"
        peer = "" if r.ratio is None else f"  {r.ratio:6.2f} x {r.peer_name}"
        print(
            f"{r.group:10s} {r.case:46s} {1e3 * r.ours:9.3f} ms  "
            f"{r.rate / 1e9:8.1f} G{r.unit}{share}{peer}"
        )


def close(ours: torch.Tensor, theirs: torch.Tensor, tolerance: float) -> bool:
    return float((ours.float() - theirs.float()).abs().max()) <= tolerance * float(
        theirs.float().abs().max()
    )


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
            bench.read_bandwidth,
        )


def bench_rows(bench: Bench) -> None:
    x, w = torch.randn(8192, 4096, dtype=torch.bfloat16), torch.randn(4096, dtype=torch.bfloat16)
    out = torch.empty_like(x)
    norm = torch.nn.functional.rms_norm
    bench.add(
        "rows",
        "rmsnorm bf16 8192 x 4096",
        lambda: wavefire.rmsnorm(x, w, out=out),
        lambda: norm(x, (4096,), w, 1e-6),
        "torch",
        lambda: close(wavefire.rmsnorm(x, w), norm(x, (4096,), w, 1e-6), 0.02),
        4 * x.numel(),
        "B/s",
        bench.copy_bandwidth,
    )
    half = torch.empty(8192, 2048, dtype=torch.bfloat16)

    def silu() -> torch.Tensor:
        a, b = x.chunk(2, -1)
        return torch.nn.functional.silu(a) * b

    bench.add(
        "rows",
        "silu_and_mul bf16 8192 x 4096",
        lambda: wavefire.silu_and_mul(x, out=half),
        silu,
        "torch",
        lambda: close(wavefire.silu_and_mul(x), silu(), 0.02),
        3 * x.numel(),
        "B/s",
        bench.copy_bandwidth,
    )
    logits = torch.randn(16, 128256)
    probs = torch.softmax(logits, -1)

    def sorted_sample() -> torch.Tensor:
        ordered, index = probs.sort(-1, descending=True)
        kept = ordered * (ordered.cumsum(-1) - ordered < 0.9)
        return index.gather(1, torch.multinomial(kept, 1))

    def valid() -> bool:
        tokens = wavefire.top_p_sampling_from_probs(probs, 0.9, seed=1).long()
        kept = wavefire.top_p_renorm_probs(probs, 0.9)
        return bool((kept.gather(1, tokens[:, None]) > 0).all())

    bench.add(
        "sampling",
        "top-p 0.9, batch 16, vocabulary 128256",
        lambda: wavefire.top_p_sampling_from_probs(probs, 0.9, seed=1),
        sorted_sample,
        "torch sort",
        valid,
        4 * probs.numel(),
        "B/s",
        bench.read_bandwidth,
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


def plot(results: list[Result], path: Path) -> None:
    rows = [r for r in results if r.ratio is not None]
    figure, axes = plt.subplots(figsize=(9, 0.35 * len(rows) + 1.2))
    axes.barh([f"{r.group}: {r.case}" for r in rows], [r.ratio for r in rows], color="#3b6ea5")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_xlabel("times as fast as the peer")
    axes.tick_params(axis="y", labelsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


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
    for part in (bench_plan, bench_rows, bench_prefill, bench_decode):
        part(bench)
    args.output.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    record = {
        "commit": commit.stdout.strip(),
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "level": wavefire.cpu_level(),
        "torch": torch.__version__,
        "wavefire": wavefire.__version__,
        "read_bandwidth": bench.read_bandwidth,
        "copy_bandwidth": bench.copy_bandwidth,
        "multiply_rate": bench.multiply_rate,
        "results": [{**asdict(r), "ratio": r.ratio} for r in bench.results],
    }
    (args.output / "cpu.json").write_text(json.dumps(record, indent=2) + "\n")
    plot(bench.results, args.output / "cpu.png")
    print(f"wrote {args.output / 'cpu.json'} and {args.output / 'cpu.png'}")


if __name__ == "__main__":
    main()
