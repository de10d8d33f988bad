"""Packing booleans into bits (FlashInfer's ``flashinfer.quantization``)."""

from __future__ import annotations

from typing import Any

from ._library import function
from ._tensors import dtype_name, empty, is_torch

_packbits = function("packbits")
_segment_packbits = function("segment_packbits")
_segment_packbits_indptr = function("segment_packbits_indptr")


def _little(bitorder: str) -> bool:
    if bitorder not in ("big", "little"):
        raise ValueError(f"packbits: 'bitorder' is {bitorder!r}; accepted: 'big', 'little'")
    return bitorder == "little"


def _as_bits(x: Any) -> Any:
    if dtype_name(x.dtype) in ("bool", "uint8"):
        return x
    return x.bool() if is_torch(x) else x.astype(bool)


def packbits(x: Any, bitorder: str = "big") -> Any:
    """As ``numpy.packbits`` of a 1-D tensor: uint8 ``[(n + 7) // 8]``."""
    out = empty(x, ((x.shape[0] + 7) // 8,), "uint8")
    _packbits(_as_bits(x), _little(bitorder), out)
    return out


def segment_packbits(x: Any, indptr: Any, bitorder: str = "big") -> tuple[Any, Any]:
    """Packs each segment ``x[indptr[i] : indptr[i + 1]]``; returns bytes and their ``indptr``."""
    new_indptr = empty(indptr, tuple(indptr.shape), "int32")
    _segment_packbits_indptr(indptr, new_indptr)
    out = empty(x, (int(new_indptr[-1]),), "uint8")
    _segment_packbits(_as_bits(x), indptr, _little(bitorder), out, new_indptr)
    return out, new_indptr
