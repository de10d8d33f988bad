"""Python shows on a terminal which kernel is being compiled, and elsewhere nothing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import wavefire

DEVICE = "virtual:gfx942"  # its kernels for float32 are not built in, and any clang compiles them
CODE = f"""
import numpy as np, wavefire
wavefire.use_device({DEVICE!r})
wavefire.rmsnorm(np.ones((4, 64), np.float32), np.ones(64, np.float32))
"""


def run(cache: Path, terminal: bool) -> str:
    """What the code writes to stderr."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    environment = {
        **os.environ,
        "WAVEFIRE_CACHE_DIR": str(cache),
        "WAVEFIRE_VIRTUAL_HOST_MEMORY": "any",  # NumPy's
    }
    subprocess.run([sys.executable, "-c", CODE], env=environment, stderr=theirs, check=True)
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as output:
        try:
            return output.read(10000).decode()
        except OSError:  # a terminal whose other side is closed, and nothing in it
            return ""


@pytest.mark.skipif(
    all(device.id != DEVICE for device in wavefire.devices()), reason="no virtual Instinct here"
)
def test_compilations_are_shown_on_a_terminal(tmp_path: Path) -> None:
    started, ended = run(tmp_path / "first", terminal=True).splitlines()
    assert started.startswith("wavefire: compiling norm.gfx942:dtype=float32")
    assert started.endswith(" ...")
    assert " finished in " in ended
    assert run(tmp_path / "first", terminal=True) == "", "it comes from the cache"
    assert run(tmp_path / "second", terminal=False) == ""
