#!/usr/bin/env python3
"""Writes docs/performance.md from results of run.py and gpu.py: a section for each JSON file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEAD = """# Performance

Measured by `make bench` and, on a CUDA GPU, `make gpu-bench`: ours and the peer in turn in one
process, the median of repeats, each result checked before it is timed. The ceilings are measured in
the same run: reading is a sum over 256 MiB (2 GiB on a GPU), copying a `copy_` of them, the product
PyTorch's faster square matrix product (float32 or bfloat16). The share of the ceiling is the time
that the ceiling would allow over the time taken; where the ceiling is a copy, more than 100 % says
that PyTorch's copy is not the best one. On a CPU a copy takes turns with each row operation, and a
sum over as many bytes with each decode: memory that others use too is not always equally fast. On
a GPU times are those of the device.

Other machines: run them, then `benchmarks/report.py FILE.json...`, which writes this page.
"""


def row(result: dict) -> str:
    share = "" if result["floor"] is None else f"{100 * result['floor'] / result['ours']:.0f} %"
    peer = "" if result["ratio"] is None else f"{result['ratio']:.2f} x {result['peer_name']}"
    rate = "" if result["floor"] is None else f"{result['rate'] / 1e9:.1f} G{result['unit']}"
    cells = [result["case"], f"{1e3 * result['ours']:.3f} ms", rate, share, peer]
    cells.append(f"{100 * result['spread']:.0f} %")
    return "| " + " | ".join(cells) + " |"


def section(path: Path) -> str:
    record = json.loads(path.read_text())
    cpu = f", {record['threads']} threads, CPU level {record['level']}" if "level" in record else ""
    lines = [
        f"## {record['processor']}{cpu}",
        "",
        f"Commit {record['commit'][:12]}, torch {record['torch']}. Ceilings: "
        f"read {record['read_bandwidth'] / 1e9:.1f} GB/s, "
        f"copy {record['copy_bandwidth'] / 1e9:.1f} GB/s, "
        f"product {record['multiply_rate'] / 1e9:.0f} GFLOP/s.",
    ]
    if "run_seconds" in record:
        host = 1e6 * record["run_seconds"]
        lines.append(f"`run()` of a small batch takes {host:.1f} us of the host.")
    groups = dict.fromkeys(result["group"] for result in record["results"])
    for group in groups:
        lines += ["", f"### {group}", "", "| case | time | rate | of ceiling | against | spread |"]
        lines.append("|---|---|---|---|---|---|")
        lines += [row(result) for result in record["results"] if result["group"] == group]
    plot = path.with_suffix(".png")
    if plot.exists():
        lines += ["", f"![times as fast as the peer]({plot.relative_to(ROOT / 'docs')})"]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="JSON files in docs/measurements")
    args = parser.parse_args()
    parts = [HEAD.rstrip()] + [section(path.resolve()) for path in args.files]
    (ROOT / "docs/performance.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
