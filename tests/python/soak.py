#!/usr/bin/env python3
"""Random problems without end, each checked against float64: decode, prefill, rows, sampling.

Problem i of a seed is always the same, whatever ran before: what fails is run again by
`--seed S --first I --problems 1`.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import wavefire
from compare import attention_close, close, lse_close
from reference import attention, rope, top_k_keep, top_p_keep

FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2]


@dataclass
class Target:
    """Where the problems run."""

    device: str  # of the tensors
    amd: bool = False  # attention of 16-bit types alone
    largest: int = 4096  # keys of a request, elements of a row
    vocabulary: int = 128256


@dataclass
class Problem:
    part: str
    random: random.Random
    target: Target
    chosen: dict[str, Any]

    def choose(self, name: str, *values: Any) -> Any:
        self.chosen[name] = self.random.choice(values)
        return self.chosen[name]

    def whole(self, name: str, least: int, most: int) -> int:
        """Small ones as often as large ones."""
        scale = self.random.uniform(np.log(least + 1), np.log(most + 2))
        self.chosen[name] = min(max(int(np.exp(scale)) - 1, least), most)
        return int(self.chosen[name])

    def normal(self, *shape: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.randn(*shape).to(dtype)

    def put(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(self.target.device)


def paged(p: Problem, lengths: list[int], heads: int, dim: int, dtype: torch.dtype) -> Any:
    """A cache with the requests' pages in random order; and keys and values in theirs."""
    page = p.choose("page", 1, 2, 7, 16, 64)
    hnd = p.choose("layout", "NHD", "HND") == "HND"
    counts = [-(-n // page) for n in lengths]
    pool = sum(counts) + 3
    shape = (pool, 2, heads, page, dim) if hnd else (pool, 2, page, heads, dim)
    cache = p.normal(*shape, dtype=dtype)
    indices = torch.tensor(p.random.sample(range(pool), sum(counts)), dtype=torch.int32)
    indptr = torch.tensor([0, *np.cumsum(counts)], dtype=torch.int32)
    last = torch.tensor([(n - 1) % page + 1 for n in lengths], dtype=torch.int32)
    rows = cache.transpose(2, 3) if hnd else cache

    def of(request: int, which: int) -> torch.Tensor:
        pages = indices[indptr[request] : indptr[request + 1]].long()
        return rows[pages, which].flatten(0, 1)[: lengths[request]].double()

    return page, cache, (indptr, indices, last), of


def attention_problem(p: Problem, decode: bool) -> None:
    batch = p.whole("batch", 1, 16 if decode else 4)
    kv_heads, group = p.choose("kv_heads", 1, 2, 4), p.choose("group", 1, 2, 3, 4, 7, 8, 16)
    dim = p.choose("head_dim", 64, 80, 96, 128, 160, 256)
    types = [torch.float16, torch.bfloat16] + ([] if p.target.amd else [torch.float32])
    dtype = p.choose("dtype", *types)
    kv_dtype = dtype if p.target.amd else p.choose("kv_dtype", dtype, dtype, *FLOAT8)
    most = p.target.largest if decode else p.target.largest // 8
    lengths = [p.whole("length", 1, most) for _ in range(batch)]
    rows = [1 if decode else p.whole("rows", 1, n) for n in lengths]
    p.chosen |= {"length": lengths, "rows": rows}
    causal = not decode and p.choose("causal", False, True)
    window = p.choose("window", -1, -1, 0, 37, 500)
    cap = p.choose("soft_cap", 0.0, 0.0, 20.0)
    page, cache, (indptr, indices, last), of = paged(p, lengths, kv_heads, dim, kv_dtype)
    q = p.normal(sum(rows), kv_heads * group, dim, dtype=dtype)
    workspace = torch.empty(128 << 20, dtype=torch.uint8, device=p.target.device)
    options = {
        "window_left": window, "logits_soft_cap": cap, "q_data_type": dtype,
        "kv_data_type": kv_dtype,
    }  # fmt: skip
    heads = (kv_heads * group, kv_heads, dim, page)
    if decode:
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(workspace, p.chosen["layout"])
        wrapper.plan(indptr, indices, last, *heads, **options)
    else:
        wrapper = wavefire.BatchPrefillWithPagedKVCacheWrapper(workspace, p.chosen["layout"])
        qo = torch.tensor([0, *np.cumsum(rows)], dtype=torch.int32)
        wrapper.plan(qo, indptr, indices, last, *heads, causal=causal, **options)
    out, lse = (x.cpu() for x in wrapper.run(p.put(q), p.put(cache), return_lse=True))
    at = 0
    for request, n in enumerate(rows):
        mine = slice(at, at + n)
        at += n
        exact, exact_lse = attention(
            q[mine], of(request, 0), of(request, 1), causal=causal, window_left=window,
            soft_cap=cap,
        )  # fmt: skip
        attention_close(out[mine], exact, dtype)
        lse_close(lse[mine], exact_lse)


def rows_problem(p: Problem) -> None:
    dtype = p.choose("dtype", torch.float16, torch.bfloat16, torch.float32)
    kind = p.choose(
        "kind", "rmsnorm", "fused_add_rmsnorm", "layernorm", "silu_and_mul", "rope", "packbits"
    )
    rows, size = p.whole("rows", 1, 200), 8 * p.whole("size / 8", 1, p.target.largest // 8)
    x, wide = p.normal(rows, size, dtype=dtype), p.normal(rows, size, dtype=dtype)
    weight = p.normal(size, dtype=dtype)
    a, w = x.double(), weight.double()

    def normalised(y: torch.Tensor) -> torch.Tensor:
        return y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-6) * w

    if kind == "rmsnorm":
        close(wavefire.rmsnorm(p.put(x), p.put(weight)).cpu(), normalised(a), dtype)
    elif kind == "fused_add_rmsnorm":
        y, residual = p.put(x.clone()), p.put(wide.clone())
        wavefire.fused_add_rmsnorm(y, residual, p.put(weight))
        close(residual.cpu(), a + wide.double(), dtype)
        close(y.cpu(), normalised(a + wide.double()), dtype)
    elif kind == "layernorm":
        gamma, beta = torch.randn(size), torch.randn(size)
        scaled = torch.nn.functional.layer_norm(a, (size,), gamma.double(), None, 1e-6)
        ours = wavefire.layernorm(p.put(x), p.put(gamma), p.put(beta)).cpu()
        close(ours, scaled + beta.double(), dtype, scaled.abs() + beta.abs().double())
    elif kind == "silu_and_mul":
        both = torch.cat([x, wide], -1)
        exact = torch.nn.functional.silu(a) * wide.double()
        close(wavefire.silu_and_mul(p.put(both)).cpu(), exact, dtype)
    elif kind == "packbits":
        marks = torch.randint(0, 2, (rows * size,), dtype=torch.uint8) * 0x81
        part = marks[p.choose("first", 0, 8, 3) :: p.choose("step", 1, 1, 3)]
        order = p.choose("bitorder", "big", "little")
        there = p.put(marks)[p.chosen["first"] :: p.chosen["step"]]
        packed = wavefire.packbits(there, order).cpu().numpy()
        assert np.array_equal(packed, np.packbits(part.numpy(), bitorder=order))
    else:
        dim, interleave = p.choose("head_dim", 64, 128, 256), p.choose("interleave", False, True)
        q, k = p.normal(rows, 4, dim, dtype=dtype), p.normal(rows, 1, dim, dtype=dtype)
        positions = torch.randint(0, 100_000, (rows,), dtype=torch.int32)
        turned = wavefire.apply_rope_pos_ids(
            p.put(q), p.put(k), p.put(positions), interleave=interleave
        )
        for ours, given in zip(turned, (q, k), strict=True):
            close(ours.cpu(), rope(given, positions.numpy(), interleave=interleave), dtype)


def sampling_problem(p: Problem) -> None:
    rows, size = p.whole("rows", 1, 8), p.whole("vocabulary", 2, p.target.vocabulary)
    logits = torch.randn(rows, size) * p.choose("spread", 0.1, 1.0, 4.0)
    if p.choose("ties", False, True):
        logits = logits.round()
    k, top_p = p.whole("k", 1, size), p.choose("top_p", 0.1, 0.5, 0.9, 0.999)
    seed = p.random.getrandbits(40)
    probs = torch.softmax(logits, -1)
    exact = torch.softmax(logits.double(), -1)
    there = p.put(probs)
    np.testing.assert_allclose(
        wavefire.softmax(p.put(logits)).cpu().double(), exact, rtol=2e-5, atol=1e-9
    )
    by_k = wavefire.top_k_renorm_probs(there, k).cpu()
    by_p = wavefire.top_p_renorm_probs(there, top_p).cpu()
    drawn = [
        x.cpu()
        for x in (
            wavefire.top_k_sampling_from_probs(there, k, seed=seed),
            wavefire.top_p_sampling_from_probs(there, top_p, seed=seed),
        )
    ]
    for row, values in enumerate(probs.double().numpy()):
        keep_k, keep_p = top_k_keep(values, k), top_p_keep(values, top_p)
        assert np.array_equal(by_k[row].numpy() > 0, keep_k), f"top-k of row {row}"
        assert np.array_equal(by_p[row].numpy() > 0, keep_p), f"top-p of row {row}"
        assert keep_k[drawn[0][row]], f"token {int(drawn[0][row])} of row {row} by top-k"
        assert keep_p[drawn[1][row]], f"token {int(drawn[1][row])} of row {row} by top-p"
    for ours in (by_k, by_p):
        np.testing.assert_allclose(ours.sum(-1), 1, rtol=1e-5)


PARTS: dict[str, Callable[[Problem], None]] = {
    "decode": lambda p: attention_problem(p, decode=True),
    "prefill": lambda p: attention_problem(p, decode=False),
    "rows": rows_problem,
    "sampling": sampling_problem,
}


class WrongResultError(Exception):
    """The text has the problem and what was wrong."""


def run_problem(seed: int, number: int, parts: list[str], target: Target) -> str:
    """Runs problem `number` of a seed and returns its part."""
    source = random.Random(f"{seed} {number}")
    torch.manual_seed(source.getrandbits(60))
    problem = Problem(source.choice(parts), source, target, {})
    try:
        PARTS[problem.part](problem)
    except Exception as error:
        what = ", ".join(f"{name} {value}" for name, value in problem.chosen.items())
        raise WrongResultError(
            f"problem {number} of seed {seed}: {problem.part}: {what}\n"
            f"{type(error).__name__}: {error}\n"
            f"again: --seed {seed} --first {number} --problems 1 --parts {','.join(parts)}"
        ) from error
    return problem.part


def numbers(first: int, problems: int | None, minutes: float) -> Iterator[tuple[int, float]]:
    """Numbers of problems, and which share of the time or of the problems is over."""
    begin, i = time.monotonic(), 0
    while True:
        over = (time.monotonic() - begin) / (60 * minutes) if problems is None else i / problems
        if over >= 1:
            return
        yield first + i, over
        i += 1


def show(share: float, counts: dict[str, int], end: str) -> None:
    width = 30
    bar = "#" * int(width * share)
    each = ", ".join(f"{n} {part}" for part, n in counts.items())
    print(f"\r[{bar:{width}s}] {100 * share:3.0f} %  {each}", end=end, file=sys.stderr, flush=True)


def soak(target: Target, seed: int, parts: list[str], first: int = 0,
         problems: int | None = None, minutes: float = 1) -> dict[str, int]:  # fmt: skip
    """How many problems of each part were right; raises WrongResultError at the first that is
    not."""
    counts = dict.fromkeys(parts, 0)
    shown = 0.0
    for number, share in numbers(first, problems, minutes):
        counts[run_problem(seed, number, parts, target)] += 1
        if sys.stderr.isatty() or time.monotonic() > shown + 10:
            shown = time.monotonic()
            show(share, counts, "" if sys.stderr.isatty() else "\n")
    show(1, counts, "\n")
    return counts


def target_of(device: str) -> Target:
    """The largest sizes are those that a device gets through many of in a minute."""
    if device.startswith("virtual"):  # PyTorch's tensors are the host's memory, not registered
        os.environ.setdefault("WAVEFIRE_VIRTUAL_HOST_MEMORY", "any")
        wavefire.use_device(device)
        return Target("cpu", amd=True, largest=128, vocabulary=1000)
    if device == "cpu":
        return Target("cpu", largest=1024, vocabulary=32000)
    if torch.version.hip:
        return Target(device, amd=True)
    return Target(device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, cuda, virtual:gfx942 (default: cpu)")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--problems", type=int, help="as many, instead of minutes")
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--seed", type=int, help="default: another one each time")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of " + ",".join(PARTS))
    args = parser.parse_args()
    parts = args.parts.split(",")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"--parts has {unknown[0]!r}; accepted: {', '.join(PARTS)}")
    seed = random.SystemRandom().getrandbits(32) if args.seed is None else args.seed
    print(f"seed {seed} on {args.device}", flush=True)
    try:
        counts = soak(target_of(args.device), seed, parts, args.first, args.problems, args.minutes)
    except WrongResultError as error:
        raise SystemExit(f"\n{error}") from error
    print(f"{sum(counts.values())} problems, all right")


if __name__ == "__main__":
    main()
