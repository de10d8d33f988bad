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
    yield from _amd()


def _amd(root: Path = Path("/")) -> Iterator[str]:
    """AMD's kernel driver, ROCm's versions, and the GPUs that the driver tells of."""
    if not (root / "sys/module/amdgpu").exists():
        yield "no AMD kernel driver (amdgpu)"
    for pattern in ("sys/module/amdgpu/version", "opt/rocm*/.info/version"):
        for file in sorted(root.glob(pattern)):
            yield f"{file}: {file.read_text().strip()}"
    for file in sorted(root.glob("sys/class/kfd/kfd/topology/nodes/*/properties")):
        try:
            words = dict(line.split(maxsplit=1) for line in file.read_text().splitlines())
        except (OSError, ValueError) as error:  # containers may see the name and not read it
            yield f"{file}: {error}"
            continue
        if words.get("gfx_target_version", "0") != "0":  # 0: a processor
            keys = ("gfx_target_version", "device_id", "simd_count", "num_xcc", "lds_size_in_kb")
            yield f"{file}: " + ", ".join(f"{key} {words.get(key, '?')}" for key in keys)


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
    order = np.argsort(np.sin(np.arange(200)).reshape(2, 100)) + 1  # no two are equal
    probs = make((order / 5050).astype(np.float32))
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
        "layernorm": lambda: wavefire.layernorm(x, weight, weight),
        "fused_add_rmsnorm": add_and_norm,
        "silu_and_mul": lambda: wavefire.silu_and_mul(x),
        "gelu_and_mul": lambda: wavefire.gelu_and_mul(x),
        "apply_rope_pos_ids": lambda: wavefire.apply_rope_pos_ids(q, kv, index(0, 9))[0],
        "append_paged_kv_cache": append,
        "decode": decode,
        "prefill": lambda: wavefire.single_prefill_with_kv_cache(q, kv, kv, causal=True),
        "merge_state": lambda: wavefire.merge_state(q, lse, q, lse)[0],
        "softmax": lambda: wavefire.softmax(probs),
        "sampling_from_probs": lambda: wavefire.sampling_from_probs(probs, seed=1),
        "top_k_top_p_sampling_from_probs": lambda: wavefire.top_k_top_p_sampling_from_probs(
            probs, 20, 0.5, seed=1
        ),
        "top_p_renorm_probs": lambda: wavefire.top_p_renorm_probs(probs, 0.5),
        "top_k_mask_logits": lambda: wavefire.top_k_mask_logits(probs, 20),
        "get_batch_indices_positions": lambda: wavefire.get_batch_indices_positions(
            index(0, 1, 2), index(3, 16), 2
        )[1],
        "packbits": lambda: wavefire.packbits(make(np.ones(20, bool))),
    }


def _placing(device: str) -> Make:
    """Puts arrays where the device's tensors are; a GPU's are PyTorch's."""
    if device == "cpu" or device.startswith("virtual:"):
        return lambda values: values
    import torch  # may be missing: that is then the line

    place = device.replace("hip", "cuda")
    return lambda values: torch.from_numpy(values).to(place)


def _values(out: Any) -> np.ndarray:
    return np.array(out.cpu() if hasattr(out, "cpu") else out).astype(np.float64)


def _judged(values: np.ndarray, expected: np.ndarray | None) -> str:
    """How far it lies from the CPU's; four units of the last place of float16 are rounding."""
    if expected is None:
        return "NOT A NUMBER" if np.isnan(values).any() else "numbers"
    if values.shape != expected.shape:
        return f"WRONG: shape {values.shape} instead of {expected.shape}"
    other = values != expected  # what is masked out is -inf in both
    apart = np.abs(values[other] - expected[other]).max(initial=0)
    right = np.isclose(values, expected, rtol=2.0**-8, atol=2.0**-8).all()
    return f"{'' if right else 'WRONG: '}{apart:.1e} from the CPU"


class SelfTest:
    """A small call of each family on one device after the other, the CPU first: what comes out
    there is what the others must give.
    """

    def __init__(self) -> None:
        self.expected: dict[str, np.ndarray] = {}

    def lines(self, device: str) -> Iterator[str]:
        """Each operation with its error, the time of the first call, which may compile a kernel,
        and the shortest of five more.
        """
        try:
            wavefire.use_device(device)
            operations = _operations(_placing(device))
        except Exception as error:
            yield f"{device}: {type(error).__name__}: {error}"
            return
        for name, call in operations.items():
            try:
                yield f"{name}: {self._run(device, name, call)}"
            except Exception as error:
                yield f"{name}: {type(error).__name__}: {error}"
        wavefire.use_device("cpu")

    def _run(self, device: str, name: str, call: Callable[[], Any]) -> str:
        milliseconds = []
        for _ in range(6):
            begin = time.perf_counter()
            values = _values(call())  # waits for the device
            milliseconds.append(1e3 * (time.perf_counter() - begin))
        judged = _judged(values, self.expected.get(name))
        if device == "cpu":
            self.expected[name] = values
        return f"{judged}; {milliseconds[0]:.1f} ms, then {min(milliseconds[1:]):.2f} ms"


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
        test = SelfTest()
        for device in wavefire.devices():
            title = f"operations on {device.id}, {device.name}, {device.architecture}"
            _section(file, title, test.lines(device.id))
    sys.stderr.write(f"wavefire: the report is in {path}; read it before you send it\n")
