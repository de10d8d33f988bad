"""NVRTC from pip compiles CUDA kernels where there is neither a GPU nor the CUDA toolkit."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
from pathlib import Path

import pytest
import wavefire

PROGRAM = Path(wavefire.__file__).parent / "lib" / "wavefire"
ATTENTION = "operand=bfloat16,element_bytes=2,head_dim_qk=64,head_dim_vo=64,stages=2,k_segments=1"


def folder_of_nvrtc() -> Path | None:
    try:
        files = importlib.metadata.files("nvidia-cuda-nvrtc") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(f.locate()).parent for f in files if f.name.startswith("libnvrtc.so")), None)


FOLDER = folder_of_nvrtc()


@pytest.mark.skipif(FOLDER is None, reason="no nvidia-cuda-nvrtc for this machine")
@pytest.mark.parametrize(
    "spec",
    [
        "append.sm80:lanes=16,teams=16",
        "norm.sm90:lanes=32,teams=8,kept=1",
        "norm.compute80:lanes=32,teams=8,kept=1",
        f"attention.sm90:{ATTENTION},tile_rows=64,tile_kv=64,rope=0",
    ],
)
def test_it_compiles_kernels(spec: str, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "WAVEFIRE_CACHE_DIR": str(tmp_path / "cache"),
        "WAVEFIRE_NVRTC": str(next(FOLDER.glob("libnvrtc.so.*"))),
        "LD_LIBRARY_PATH": str(FOLDER),  # NVRTC opens libnvrtc-builtins by its name
    }
    environment.pop("WAVEFIRE_NVCC", None)

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "NVRTC" in run("doctor")
    origin = run("compile", spec).partition(": ")[2]
    assert origin.startswith(("compiled, ", "built in, "))
    if origin.startswith("compiled") and ".compute" not in spec:
        (listed,) = (line.split() for line in run("kernels").splitlines() if "cache" in line[:8])
        assert 16 <= int(listed[2]) <= 255, "registers, as the cubin says"
