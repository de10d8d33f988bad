"""`pip install .` gives a package that works without the tree it came from."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_wheel_is_complete(tmp_path: Path) -> None:
    pip_wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip_wheel, "--wheel-dir", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("wavefire-*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    files = {file.name for file in (site / "wavefire/lib").iterdir()}
    files.discard("kernels.bundle")  # only where a compiler for GPUs was found
    assert files == {"libwavefire.so", "libwavefire_ffi.so", "wavefire"}
    program = "import wavefire; print(wavefire.__version__, wavefire.__file__)"
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(site)}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    version, file = result.stdout.split()
    assert wheel.name.startswith(f"wavefire-{version}-")
    assert Path(file).is_relative_to(site)
