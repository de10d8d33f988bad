"""What a run of measurements leaves: JSON and a plot."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import matplotlib as mpl
import torch
import wavefire
from measure import Bench, Result

mpl.use("Agg")
import matplotlib.pyplot as plt


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


def write_record(bench: Bench, path: Path, machine: dict[str, object]) -> None:
    """Writes `path` and a plot beside it. `machine`: what was measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    record = {
        "commit": commit.stdout.strip(),
        **machine,
        "torch": torch.__version__,
        "wavefire": wavefire.__version__,
        "read_bandwidth": bench.read_bandwidth,
        "copy_bandwidth": bench.copy_bandwidth,
        "multiply_rate": bench.multiply_rate,
        "results": [{**asdict(r), "ratio": r.ratio} for r in bench.results],
    }
    path.write_text(json.dumps(record, indent=2) + "\n")
    plot(bench.results, path.with_suffix(".png"))
    print(f"wrote {path} and {path.with_suffix('.png')}")
