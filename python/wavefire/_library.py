"""Finds and loads the compiled library. Nothing here needs PyTorch."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tvm_ffi

from ._arrays import exporter


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


# Of the kinds of the library's errors, the one that tvm_ffi would turn into a RuntimeError.
tvm_ffi.register_error(NotImplementedError)

library: Any = tvm_ffi.load_module(str(_library_path()))


def function(name: str) -> Callable[..., Any]:
    """The exported function of that name."""
    call = library.get_function(name)

    def convert_and_call(*arguments: Any) -> Any:
        for i, argument in enumerate(arguments):
            convert = exporter(type(argument))
            if convert is not None:
                converted = [*arguments[:i], convert(argument)]
                for other in arguments[i + 1 :]:
                    convert = exporter(type(other))
                    converted.append(other if convert is None else convert(other))
                return call(*converted)
        return call(*arguments)

    return convert_and_call


class Handle:
    """Base of classes that own an object of the library: they are neither copied nor pickled."""

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(f"{type(self).__name__} objects can be neither copied nor pickled")


__version__: str = str(function("library_version")())


def cpu_level() -> str:
    """The instruction set level at which CPU kernels run: scalar, avx2 or avx512."""
    return str(function("cpu_level")())


def configure(**settings: object) -> None:
    """Changes settings of the process: ``cpu_level``, ``parallel``, ``num_threads``, ``log_level``,
    ``virtual_library``.

    The same as the environment variables ``WAVEFIRE_CPU_LEVEL`` and so on, which are read once, at
    the first operation. Raises ``ValueError`` for an unknown setting or value.
    """
    for name, value in settings.items():
        function("set_config_value")(name, str(value))
