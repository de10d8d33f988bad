#!/usr/bin/env python3
"""What the kernels for gfx942 and gfx950 take of a compute unit, and what the model predicts.

Compiles each kernel of a list (src/generate/bundles/amd.txt) for both targets, prints a table, and
runs attention on the virtual Instinct for the predicted share of peak. Fails on registers that are
spilled to memory, on scratch, on LDS beyond the target's and on decode that asks for too little
ahead. `make check-amd` calls it.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {"gfx942": 64 * 1024, "gfx950": 160 * 1024}  # bytes of LDS
FIELDS_OF_A_TILE = ("tile_kv", "head_dim_qk")
LEAST_IN_FLIGHT = 24 * 1024  # bytes a compute unit, for decode


@dataclass
class Kernel:
    """The resources of one compiled kernel."""

    name: str
    target: str
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    lds: int
    scratch: int
    threads: int
    resident: int  # workgroups on a compute unit
    mix: dict[str, int]

    def failures(self) -> list[str]:
        """What must not be."""
        found = []
        if self.vgpr_spills or self.scratch:
            found.append(f"{self.vgpr_spills} VGPRs spilled, {self.scratch} bytes of scratch")
        if self.lds > TARGETS[self.target]:
            found.append(f"{self.lds} bytes of LDS")
        in_flight = loads_in_flight(self)
        if 0 < in_flight < LEAST_IN_FLIGHT:
            found.append(f"{in_flight} bytes of loads in flight on a compute unit")
        return found

    def waves_per_simd(self) -> float:
        """Waves that a SIMD holds, with as many workgroups as fit."""
        return self.resident * max(self.threads // 64, 1) / 4


def read_kernel(name: str, target: str, text: str) -> Kernel:
    """Reads what `wavefire-virtual list` prints of an object with one kernel."""
    numbers = re.search(
        r"(\d+) VGPRs \((\d+) AGPRs\), (\d+) SGPRs, (\d+) \+ (\d+) spilled; "
        r"(\d+) bytes of LDS, (\d+) of scratch",
        text,
    )
    blocks = re.search(r"blocks of up to (\d+) work items, (\d+) of them", text)
    units = re.search(r"\d+ instructions: (.*)", text)
    if numbers is None or blocks is None or units is None:
        raise SystemExit(f"{name} for {target}: cannot read\n{text}")
    mix = {}
    for part in units[1].split(","):
        count, unit = part.strip().split(" ", 1)
        mix[unit] = int(count)
    return Kernel(name, target, *map(int, numbers.groups()), *map(int, blocks.groups()), mix)


def compile_kernel(build: Path, folder: Path, line: str, target: str) -> Kernel:
    """Compiles a line of the list, or takes it from the cache."""
    operation, _, fields = line.partition(":")
    spec = f"{operation}.{target}:{fields}"
    path = folder / f"{target}-{re.sub('[^a-z0-9]', '_', line)}.co"
    wavefire = build / "python" / "wavefire" / "lib" / "wavefire"
    subprocess.run(
        [wavefire, "compile", spec, "--object", path], check=True, stdout=subprocess.DEVNULL
    )
    listed = subprocess.run(
        [build / "virtual" / "cli" / "wavefire-virtual", "list", path],
        check=True,
        capture_output=True,
        text=True,
    )
    return read_kernel(line, target, listed.stdout)


def print_table(kernels: list[Kernel]) -> None:
    """One line for each kernel; instructions by unit as they stand in the code."""
    units = ["scalar", "vector", "transcendental", "matrix", "LDS", "vector memory"]
    print(
        f"{'VGPR':>5}{'AGPR':>5}{'SGPR':>5}{'LDS':>7}{'waves':>6}"
        f"{'spill v':>8}{'s':>4}{'scratch':>8}  {' '.join(f'{u:>7.7}' for u in units)}  kernel"
    )
    for k in kernels:
        mix = " ".join(f"{k.mix.get(unit, 0):>7}" for unit in units)
        print(
            f"{k.vgprs:>5}{k.agprs:>5}{k.sgprs:>5}{k.lds:>7}{k.waves_per_simd():>6.2g}"
            f"{k.vgpr_spills:>8}{k.sgpr_spills:>4}{k.scratch:>8}  {mix}  {k.target} {k.name}"
        )


def loads_in_flight(kernel: Kernel) -> int:
    """Bytes of K and V that decode asks for ahead on a compute unit; 0 for other kernels."""
    if "few_rows=1" not in kernel.name:
        return 0
    tile_kv, dims = (int(re.search(rf"{f}=(\d+)", kernel.name)[1]) for f in FIELDS_OF_A_TILE)
    return tile_kv * dims * 2 * 2 * kernel.resident


def run_attention(queries: int, heads: int, keys: int, head_dim: int, batch: int) -> None:
    """One work item for each request, in bfloat16, with one KV head."""
    import torch
    import wavefire

    q = torch.randn(queries * batch, heads, head_dim, dtype=torch.bfloat16)
    k, v = torch.randn(2, keys * batch, 1, head_dim, dtype=torch.bfloat16)
    attention = wavefire.BatchPrefillWithRaggedKVCacheWrapper(None, "NHD")
    attention.plan(
        torch.arange(batch + 1, dtype=torch.int32) * queries,
        torch.arange(batch + 1, dtype=torch.int32) * keys,
        heads,
        1,
        head_dim,
        q_data_type=torch.bfloat16,
        disable_split_kv=True,
    )
    attention.run(q, k, v)


def predict(build: Path, target: str) -> None:
    """Runs attention on the virtual Instinct and prints what the model says of it."""
    os.environ.setdefault("WAVEFIRE_VIRTUAL_HOST_MEMORY", "any")
    os.environ.setdefault("WAVEFIRE_VIRTUAL_CHECKS", "none")
    sys.path.insert(0, str(build / "python"))
    import wavefire

    wavefire.use_device(f"virtual:{target}")
    virtual = ctypes.CDLL(build / "python" / "wavefire" / "lib" / "libwavefire_virtual.so")
    virtual.wavefireVirtualLastProfile.restype = ctypes.c_char_p
    virtual.wavefireVirtualSetProfiling(1)

    def profile() -> str:
        return virtual.wavefireVirtualLastProfile().decode()

    for head_dim in (64, 128, 256):
        run_attention(256 if head_dim <= 128 else 128, 1, 4096, head_dim, 1)
        shares = re.findall(r"predicted share of peak \(matrix unit busy\): ([\d.]+)%", profile())
        print(
            f"{target} prefill, bfloat16, head dim {head_dim}, 4096 keys: {shares[0]} % of the "
            f"matrix peak, {shares[1]} % in the main loop"
        )
    for group in (4, 8):
        run_attention(1, group, 256, 128, 4 * wavefire.current_device().multiprocessors)
        cycles = re.search(r"(\d+) cycles;", profile())[1]
        print(f"{target} decode, bfloat16, head dim 128, a group of {group}: {cycles} cycles")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "default")
    parser.add_argument("--predict", choices=sorted(TARGETS), help="only run attention on it")
    parser.add_argument("--list", type=Path, default=ROOT / "src/generate/bundles/amd.txt")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    if arguments.predict:
        predict(build, arguments.predict)
        return 0
    lines = [x for x in arguments.list.read_text().splitlines() if x and not x.startswith("#")]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(compile_kernel, build, Path(folder), line, target)
            for line in lines
            for target in TARGETS
        ]
        kernels = [job.result() for job in jobs]
    print_table(kernels)
    for kernel in kernels:
        if in_flight := loads_in_flight(kernel):
            print(f"{kernel.target} {kernel.name}: {in_flight >> 10} KiB of loads in flight")
    bad = [f"{k.target} {k.name}: {f}" for k in kernels for f in k.failures()]
    print(f"{len(kernels)} kernels, {len(bad)} failures")
    for failure in bad:
        print(failure, file=sys.stderr)
    sys.stdout.flush()
    for target in TARGETS:
        # A process has its devices once.
        subprocess.run(
            [sys.executable, __file__, "--build", build, "--predict", target], check=True
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
