"""Finds the compiled library at once, and loads it when it is first called.

tvm_ffi, which calls it, imports PyTorch where that is installed: that takes seconds, so `import
wavefire` leaves it to the first operation. Nothing here needs PyTorch.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._arrays import exporters
from ._errors import explained
from ._graphs import in_graphs, operator


def _library_path() -> Path:
    override = os.environ.get("WAVEFIRE_LIBRARY")
    candidates = [Path(override)] if override else []
    candidates += sorted((Path(__file__).parent / "lib").glob("libwavefire_ffi.*"))
    for path in candidates:
        if path.exists():
            return path
    raise ImportError(
        "wavefire: the compiled library is missing: looked for "
        + ", ".join(str(p) for p in candidates or [Path(__file__).parent / "lib"])
        + "; build the package (pip install .) or set WAVEFIRE_LIBRARY"
    )


_path = _library_path()


_loaded: Any = None


def _library() -> Any:
    global _loaded
    if _loaded is not None:
        return _loaded
    import tvm_ffi

    # Of the kinds of the library's errors, the one that tvm_ffi would turn into a RuntimeError.
    tvm_ffi.register_error(NotImplementedError)
    _loaded = tvm_ffi.load_module(str(_path))
    if sys.stderr is not None and sys.stderr.isatty():
        observe = _loaded.get_function("set_compile_observer")
        observe(_show_compilation)
        atexit.register(observe, None)
    return _loaded


def _show_compilation(stage: str, kernel: str, compiler: str, seconds: float) -> None:
    """On a terminal, which kernel is compiled at run time, and how long that took."""
    took = "..." if stage == "started" else f"{stage} in {seconds:.1f} s"
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"wavefire: compiling {kernel} with {compiler} {took}\n")


def function(name: str, *parameters: str) -> Callable[..., Any]:
    """The exported function of that name, as ``f(operation, *arguments)``. In messages `operation`
    stands for it, and the names of `parameters` for its arguments. Graphs of ``torch.compile`` may
    hold it if these have types: see _graphs.py.
    """
    names = tuple(p.split()[-1] for p in parameters)
    call: Callable[..., Any] | None = None

    def convert_and_call(operation: str, *arguments: Any) -> Any:
        nonlocal call
        if call is None:
            call = _library().get_function(name)
        try:
            return call(
                *[x if (convert := exporters[type(x)]) is None else convert(x) for x in arguments]
            )
        except Exception as error:
            raise explained(operation, names, arguments, error) from None

    convert_and_call.__name__ = name
    if parameters and all(" " in p for p in parameters):
        in_graphs(operator(name, parameters, convert_and_call))(convert_and_call)
    return convert_and_call


class Handle:
    """Base of classes that own an object of the library: they are neither copied nor pickled."""

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(f"{type(self).__name__} objects can be neither copied nor pickled")


_library_version = function("library_version")
_cpu_level = function("cpu_level")
_set_config_values = function("set_config_values", "names", "values")


def version() -> str:
    """The version of the library."""
    return str(_library_version("version"))


def cpu_level() -> str:
    """The instruction set level at which CPU kernels run: scalar, avx2 or avx512."""
    return str(_cpu_level("cpu_level"))


def configure(**settings: object) -> None:
    """Changes settings of the process: ``cpu_level``, ``parallel``, ``num_threads``, ``log_level``,
    ``virtual_library``.

    The same as the environment variables ``WAVEFIRE_CPU_LEVEL`` and so on, which are read once, at
    the first operation. Raises ``ValueError`` for an unknown setting or value, and changes nothing
    then.
    """
    _set_config_values("configure", list(settings), [str(x) for x in settings.values()])
