"""kernels/attention.hip: a whole kernel against float64, with every check on.

As a program it measures how many wave instructions are executed in a second:

    python tests/virtual/test_attention_kernel.py [THREADS...]
"""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from formats import bf16_bits, from_bf16
from instinct import KERNELS, Module, profile, settings

HEAD_DIM = 128


def make(rng, queries, keys):
    shapes = [(queries, HEAD_DIM), (keys, HEAD_DIM), (keys, HEAD_DIM)]
    return [bf16_bits(rng.standard_normal(shape)) for shape in shapes]


def launch(module, q, k, v):
    out = np.zeros(q.shape, np.float32)
    scale = np.float32(np.log2(np.e) / np.sqrt(HEAD_DIM))
    args = [q, k, v, out, len(k), scale]
    seconds = module.launch("attention", grid=(len(q) // 64,), block=(256,), args=args)
    return out, seconds


def reference(q, k, v):
    q, k, v = (from_bf16(x).astype(np.float64) for x in (q, k, v))
    scores = q @ k.T / np.sqrt(HEAD_DIM)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v


@pytest.mark.parametrize("seed", [0, 5, 77])
def test_attention(kernels, rng, seed):
    q, k, v = make(rng, 128, 96)
    with settings(seed=seed):
        out, _ = launch(kernels("attention"), q, k, v)
    # The weights are rounded to bf16: 2^-9 of a sum that is at most the largest value.
    np.testing.assert_allclose(out, reference(q, k, v), rtol=0, atol=2**-9 * 4)


def measure(threads: int) -> None:
    module = Module(KERNELS / "attention.gfx942.co")
    arrays = make(np.random.default_rng(1), 2048, 1024)
    counted = profile(lambda: launch(module, *arrays))
    instructions = int(re.search(r": (\d+) instructions", counted)[1])
    for checks in ("all", "none"):
        with settings(checks=checks, threads=threads):
            seconds = min(launch(module, *arrays)[1] for _ in range(3))
        rate = instructions / seconds / 1e6
        print(f"checks {checks:4}, threads {threads}: {instructions} wave instructions, "
              f"{seconds:.2f} s, {rate:.1f} million/s")  # fmt: skip


if __name__ == "__main__":
    for text in sys.argv[1:] or ["1", "2"]:
        measure(int(text))
