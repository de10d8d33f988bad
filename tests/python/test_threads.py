"""No oversubscription beside PyTorch: our work runs on the threads that PyTorch's would run on."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from threading import Thread


def most_threads(script: Path) -> dict[str, int]:
    """The largest number of threads that the script's process had in each of its phases."""
    most: dict[str, int] = {}
    phase = ""
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, bufsize=1
    )

    def read_phases() -> None:
        nonlocal phase
        for line in process.stdout:
            phase = line.strip()

    reader = Thread(target=read_phases)
    reader.start()
    tasks = Path(f"/proc/{process.pid}/task")
    while process.poll() is None:
        now = phase
        try:
            count = sum(1 for _ in tasks.iterdir())
        except FileNotFoundError:
            break
        time.sleep(0.0005)
        if now == phase:
            most[now] = max(most.get(now, 0), count)
    reader.join()
    assert process.wait() == 0
    return most


def test_pytorchs_threads_are_used_and_no_others() -> None:
    most = most_threads(Path(__file__).parent / "threads_beside_pytorch.py")
    assert most["both"] <= most["pytorch"], most
    # The same work on threads of its own is seen: the count above could have failed.
    assert most["apart"] > most["pytorch"], most


def test_one_openmp_runtime_serves_both() -> None:
    import torch
    import wavefire

    wavefire.rmsnorm(torch.randn(4096, 1024), torch.ones(1024))
    mapped = {
        Path(line.split()[-1]).name
        for line in Path("/proc/self/maps").read_text().splitlines()
        if any(name in line for name in ("libgomp", "libomp", "libiomp5"))
    }
    assert len(mapped) == 1, mapped
