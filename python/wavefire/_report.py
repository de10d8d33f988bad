"""``python -m wavefire doctor --report FILE``: what a maintainer needs to know, in one text."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

import wavefire

PACKAGES = ("apache-tvm-ffi", "numpy", "ml_dtypes", "torch", "jax", "flashinfer-python", "vllm")
VARIABLES = ("WAVEFIRE_", "OMP_", "GOMP_", "KMP_", "CUDA_", "HIP_", "ROCR_", "LD_LIBRARY_PATH")
Make = Callable[[np.ndarray], Any]


def _versions() -> Iterator[str]:
    yield f"wavefire {wavefire.__version__}, {Path(wavefire.__file__).parent}"
    yield f"python {platform.python_version()}, {sys.executable}"
    for package in PACKAGES:
        try:
            yield f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            yield f"{package}: not installed"


def _machine() -> Iterator[str]:
    yield platform.platform()
    yield f"{os.cpu_count()} processors, {len(os.sched_getaffinity(0))} of them ours"
    for file, key in (("/proc/cpuinfo", "model name"), ("/proc/meminfo", "MemTotal")):
        lines = Path(file).read_text().splitlines() if Path(file).exists() else []
        yield from [line for line in lines if line.startswith(key)][:1]
    nvidia = Path("/proc/driver/nvidia/version")
    yield nvidia.read_text().splitlines()[0] if nvidia.exists() else "no NVIDIA kernel driver"


def _environment() -> Iterator[str]:
    for name, value in sorted(os.environ.items()):
        if name.startswith(VARIABLES):
            yield f"{name}={value}"


def _program(*arguments: str) -> Iterator[str]:
    """What the program beside the library prints."""
    program = Path(__file__).parent / "lib" / "wavefire"
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield str(error)
        return
    yield from (done.stdout + done.stderr).splitlines()


def _operations(make: Make) -> dict[str, Callable[[], Any]]:
    """A small call of each family, on tensors that `make` places."""

    def array(*shape: int, dtype: Any = np.float16) -> Any:
        return make((np.arange(np.prod(shape)).reshape(shape) % 7 / 8).astype(dtype))

    def index(*values: int) -> Any:
        return make(np.array(values, np.int32))

    x, weight, q, kv = array(3, 64), array(64), array(2, 4, 64), array(2, 2, 64)
    cache, pages = array(2, 2, 16, 2, 64), (index(0, 1, 2), index(1, 0), index(3, 16))
    probs = make(np.full((2, 100), 0.01, np.float32))
    lse = make(np.zeros((2, 4), np.float32))

    def decode() -> Any:
        wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(q, "NHD")
        wrapper.plan(*pages, 4, 2, 64, 16, q_data_type="float16")
        return wrapper.run(q, cache)

    def append() -> Any:
        tables = pages[1], pages[0], pages[2]
        wavefire.append_paged_kv_cache(kv, kv, index(0, 1), index(2, 15), cache, *tables)
        return cache

    def add_and_norm() -> Any:
        residual = array(3, 64)
        wavefire.fused_add_rmsnorm(array(3, 64), residual, weight)
        return residual

    return {
        "rmsnorm": lambda: wavefire.rmsnorm(x, weight),
        "fused_add_rmsnorm": add_and_norm,
        "silu_and_mul": lambda: wavefire.silu_and_mul(x),
        "apply_rope_pos_ids": lambda: wavefire.apply_rope_pos_ids(q, kv, index(0, 9))[0],
        "append_paged_kv_cache": append,
        "decode": decode,
        "prefill": lambda: wavefire.single_prefill_with_kv_cache(q, kv, kv, causal=True),
        "merge_state": lambda: wavefire.merge_state(q, lse, q, lse)[0],
        "softmax": lambda: wavefire.softmax(probs),
        "sampling_from_probs": lambda: wavefire.sampling_from_probs(probs, seed=1),
        "packbits": lambda: wavefire.packbits(make(np.ones(20, bool))),
    }


def _placing(device: str) -> Make:
    """Puts arrays where the device's tensors are; a GPU's are PyTorch's."""
    if device == "cpu" or device.startswith("virtual:"):
        return lambda values: values
    import torch  # may be missing: that is then the line

    place = device.replace("hip", "cuda")
    return lambda values: torch.from_numpy(values).to(place)


def _smoke(device: str) -> Iterator[str]:
    """Each operation on the device, with the time of its first call or its error."""
    try:
        wavefire.use_device(device)
        operations = _operations(_placing(device))
    except Exception as error:
        yield f"{device}: {type(error).__name__}: {error}"
        return
    for name, call in operations.items():
        begin = time.perf_counter()
        try:
            out = call()
            values = np.asarray(out.cpu() if hasattr(out, "cpu") else out)
            finite = "" if np.isfinite(values.astype(np.float64)).all() else ", NOT FINITE"
            yield f"{name}: {1e3 * (time.perf_counter() - begin):.1f} ms{finite}"
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {error}"
    wavefire.use_device("cpu")


def _section(file: TextIO, title: str, lines: Iterator[str]) -> None:
    file.write(f"== {title}\n")
    for line in lines:
        file.write(f"{line}\n")
        file.flush()  # what comes next may end the process
    file.write("\n")


def write_report(path: Path) -> None:
    """Raises ``OSError`` if the file cannot be written."""
    with path.open("w") as file:
        _section(file, "versions", _versions())
        _section(file, "machine", _machine())
        _section(file, "environment", _environment())
        _section(file, "wavefire doctor", _program("doctor"))
        built_in = (line for line in _program("kernels") if not line.startswith("cache"))
        _section(file, "kernels built in", built_in)
        os.environ.setdefault("WAVEFIRE_VIRTUAL_HOST_MEMORY", "any")  # NumPy's arrays
        for device in wavefire.devices():
            _section(file, f"operations on {device.id}, {device.name}", _smoke(device.id))
    sys.stderr.write(f"wavefire: the report is in {path}; read it before you send it\n")
