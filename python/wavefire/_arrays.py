"""NumPy and JAX arrays as DLPack tensors.

NumPy exports neither read-only arrays to the older protocol nor the dtypes of ml_dtypes at all:
those go through the newer protocol as unsigned integers, and get their dtype there. JAX's arrays on
the CPU are seen through NumPy, without a copy; they are immutable.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from ._graphs import Opaque

_EXTENSION_CODES = {  # DLDataTypeCode
    "bfloat16": 4,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
}
# DLManagedTensorVersioned: version, manager_ctx, deleter, flags, then the DLTensor: data, device,
# ndim, dtype.
_DTYPE_CODE_OFFSET = 8 + 8 + 8 + 8 + 8 + 8 + 4

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _from_dlpack(capsule: Any) -> Any:
    import tvm_ffi  # late: see _library.py

    return tvm_ffi.from_dlpack(capsule)


def export(array: np.ndarray) -> Any:
    """The array as something that the library takes; no copy."""
    code = _EXTENSION_CODES.get(array.dtype.name) if array.dtype.kind not in "biu" else None
    if code is None:
        if array.flags.writeable:
            return array
        return _from_dlpack(array.__dlpack__(max_version=(1, 0)))
    bits = array.view(np.uint16 if array.itemsize == 2 else np.uint8)
    capsule = bits.__dlpack__(max_version=(1, 0))
    pointer = _pointer_of(capsule, b"dltensor_versioned")
    ctypes.c_uint8.from_address(pointer + _DTYPE_CODE_OFFSET).value = code
    return _from_dlpack(capsule)


def is_without_data(x: Any) -> bool:
    """True for a PyTorch tensor with elements whose storage was resized to nothing, is fake, or
    belongs to a transformation.
    """
    try:
        return bool(x.numel() > 0 and x.untyped_storage().data_ptr() == 0)
    except RuntimeError:  # PyTorch refuses to show it
        return True


def export_torch(x: Any) -> Any:
    if x.is_neg():  # DLPack does not tell: the values would be read with the wrong sign
        raise ValueError("tensor: a lazily negated view")
    try:
        offset = x.storage_offset()
        released = offset > 0 and x.data_ptr() == offset * x.element_size()
    except RuntimeError:  # no storage: the library does not take it
        return x
    if released:  # the library would take an offset from null for a pointer
        raise ValueError("tensor: without data")
    return x


def _export_jax(x: Any) -> Any:
    on_cpu = all(device.platform == "cpu" for device in x.devices())
    return export(np.asarray(x)) if on_cpu else x


def is_jax_type(kind: type) -> bool:
    """True for the type of a JAX array; never imports JAX."""
    jax = sys.modules.get("jax")
    return jax is not None and hasattr(jax, "Array") and issubclass(kind, jax.Array)


class _Exporters(dict[type, Callable[[Any], Any] | None]):
    def __missing__(self, kind: type) -> Callable[[Any], Any] | None:
        torch = sys.modules.get("torch")
        chosen: Callable[[Any], Any] | None = None
        if issubclass(kind, np.ndarray):
            chosen = export
        elif torch is not None and issubclass(kind, torch.Tensor):
            chosen = export_torch
        elif is_jax_type(kind):
            chosen = _export_jax
        elif kind is Opaque:
            chosen = attrgetter("held")
        self[kind] = chosen
        return chosen


# What turns an argument of a type into one that the library takes; None: neither a tensor nor an
# object of the library.
exporters = _Exporters()
