"""Launches kernels of code objects on the virtual Instinct, from NumPy.

    module = Module("kernels.gfx942.co")
    seconds = module.launch("add", grid=(4,), block=(256,), args=[a, b, c, 1000])

Arrays are passed as pointers to their memory, and only that memory may be touched. Integers, floats
and NumPy scalars are passed by value, with the size that the kernel has for them (a float is an
f32; use np.float64 for a double).
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

BUILD = Path(os.environ.get("WAVEFIRE_BUILD", Path(__file__).parents[2] / "build" / "default"))
LIBRARY = Path(
    os.environ.get("WAVEFIRE_VIRTUAL_LIBRARY", BUILD / "virtual" / "hip" / "libwavefire_virtual.so")
)
KERNELS = BUILD / "tests" / "virtual" / "kernels"  # compiled
TARGETS = ("gfx942", "gfx950")
_MACHINES = {0x4C: "gfx942", 0x4F: "gfx950"}  # EF_AMDGPU_MACH in the flags of the ELF header
_FLAGS_AT = 48

_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """The library, with one device for each target."""
    global _library
    if _library is None:
        os.environ.setdefault("WAVEFIRE_VIRTUAL_DEVICES", ",".join(TARGETS))
        os.environ.setdefault("WAVEFIRE_VIRTUAL_QUIET", "1")
        _library = ctypes.CDLL(str(LIBRARY))
        for name in ("hipGetErrorName", "wavefireVirtualLastError", "wavefireVirtualLastReport",
                     "wavefireVirtualLastProfile"):  # fmt: skip
            getattr(_library, name).restype = ctypes.c_char_p
        _library.wavefireVirtualReportCount.restype = ctypes.c_uint64
        _library.wavefireVirtualSetSeed.argtypes = [ctypes.c_uint64]
    return _library


class HipError(RuntimeError):
    """A HIP function failed. `report` is what the checks found, if they found something."""

    def __init__(self, code: int, report: str) -> None:
        self.code = code
        self.name = library().hipGetErrorName(code).decode()
        self.report = report
        super().__init__(report or library().wavefireVirtualLastError().decode())


def call(name: str, *args: Any) -> None:
    """Calls a HIP function, and raises HipError if it fails."""
    before = library().wavefireVirtualReportCount()
    code = getattr(library(), name)(*args)
    if code:
        found = library().wavefireVirtualReportCount() > before
        raise HipError(code, library().wavefireVirtualLastReport().decode() if found else "")


@contextmanager
def settings(checks: str = "all", seed: int = 0, threads: int = 0) -> Iterator[None]:
    """Checks, wave order and threads of the launches inside."""
    call("wavefireVirtualSetChecks", checks.encode())
    call("wavefireVirtualSetSeed", seed)
    call("wavefireVirtualSetThreads", threads)
    try:
        yield
    finally:
        call("wavefireVirtualSetChecks", b"all")
        call("wavefireVirtualSetSeed", 0)
        call("wavefireVirtualSetThreads", 0)


def profile(launch: Any) -> str:
    """The counts and cycles of what `launch()` runs."""
    call("wavefireVirtualSetProfiling", 1)
    try:
        launch()
    finally:
        call("wavefireVirtualSetProfiling", 0)
    return library().wavefireVirtualLastProfile().decode()


@contextmanager
def _visible(arrays: Sequence[np.ndarray]) -> Iterator[None]:
    """Registers the memory of arrays; ranges that overlap count as one."""
    ranges: list[list[int]] = []
    for start, end in sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays):
        if start == end:
            continue
        if ranges and start < ranges[-1][1]:
            ranges[-1][1] = max(ranges[-1][1], end)
        else:
            ranges.append([start, end])
    registered = []
    try:
        for start, end in ranges:
            call("hipHostRegister", ctypes.c_void_p(start), ctypes.c_size_t(end - start), 0)
            registered.append(start)
        yield
    finally:
        for start in registered:
            call("hipHostUnregister", ctypes.c_void_p(start))


def _value(argument: Any) -> Any:
    """A ctypes object whose first bytes are the argument as the kernel wants it."""
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, DeviceArray):
        return argument.pointer
    if isinstance(argument, bool | int):
        return ctypes.c_int64(argument) if argument < 2**63 else ctypes.c_uint64(argument)
    if isinstance(argument, float) and not isinstance(argument, np.generic):
        return ctypes.c_float(argument)
    data = bytes(argument) if isinstance(argument, bytes | bytearray) else argument.tobytes()
    return ctypes.create_string_buffer(data, len(data) + 8)  # reads of 8 bytes stay inside


class DeviceArray:
    """Memory of the current device. What nothing wrote to it counts as undefined."""

    def __init__(self, size: int) -> None:
        self.pointer = ctypes.c_void_p()
        self.size = size
        call("hipMalloc", ctypes.byref(self.pointer), ctypes.c_size_t(size))

    def put(self, values: np.ndarray) -> DeviceArray:
        data = np.ascontiguousarray(values)
        call("hipMemcpy", self.pointer, ctypes.c_void_p(data.ctypes.data),
             ctypes.c_size_t(data.nbytes), 1)  # fmt: skip
        return self

    def get(self, dtype: Any) -> np.ndarray:
        values = np.empty(self.size // np.dtype(dtype).itemsize, dtype)
        call("hipMemcpy", ctypes.c_void_p(values.ctypes.data), self.pointer,
             ctypes.c_size_t(values.nbytes), 2)  # fmt: skip
        return values

    def free(self) -> None:
        call("hipFree", self.pointer)


class Module:
    """A code object, loaded on the device of its target."""

    def __init__(self, path: str | Path) -> None:
        data = Path(path).read_bytes()
        machine = int.from_bytes(data[_FLAGS_AT : _FLAGS_AT + 1], "little")
        self.target = _MACHINES.get(machine, TARGETS[0])
        self._device = TARGETS.index(self.target)
        self._handle = ctypes.c_void_p()
        self._functions: dict[str, ctypes.c_void_p] = {}
        self.use()
        call("wavefireVirtualModuleLoad", ctypes.byref(self._handle), data,
             ctypes.c_size_t(len(data)))  # fmt: skip

    def use(self) -> None:
        """Makes its device the current one."""
        call("hipSetDevice", self._device)

    def function(self, name: str) -> ctypes.c_void_p:
        if name not in self._functions:
            found = ctypes.c_void_p()
            call("hipModuleGetFunction", ctypes.byref(found), self._handle, name.encode())
            self._functions[name] = found
        return self._functions[name]

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        dynamic_lds: int = 0,
    ) -> float:
        """Runs a kernel to its end; `grid` counts workgroups. Returns the seconds it took."""
        self.use()
        function = self.function(name)
        values = [_value(argument) for argument in args]
        pointers = (ctypes.c_void_p * max(len(values), 1))(
            *(ctypes.addressof(value) for value in values)
        )
        sizes = [*grid, 1, 1][:3] + [*block, 1, 1][:3]
        with _visible([a for a in args if isinstance(a, np.ndarray)]):
            start = time.perf_counter()
            try:
                call("hipModuleLaunchKernel", function, *(ctypes.c_uint(n) for n in sizes),
                     ctypes.c_uint(dynamic_lds), None, pointers, None)  # fmt: skip
                call("hipDeviceSynchronize")
            except HipError:
                library().hipDeviceSynchronize()  # what it would tell again is told
                library().hipGetLastError()
                raise
            return time.perf_counter() - start
