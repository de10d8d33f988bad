"""Packing booleans into bits (FlashInfer's ``flashinfer.quantization``)."""

from __future__ import annotations

from typing import Any

from ._library import function
from ._tensors import dtype_name, empty, is_torch, require_tensor, returned

_packbits = function("packbits", "Tensor x", "bool bitorder", "Tensor! out")
_segment_packbits = function("segment_packbits", "x", "indptr", "bitorder", "out", "out_indptr")
_segment_packbits_indptr = function("segment_packbits_indptr", "indptr", "out_indptr")


def _little(bitorder: str) -> bool:
    if bitorder not in ("big", "little"):
        raise ValueError(f"packbits: 'bitorder' is {bitorder!r}; accepted: 'big', 'little'")
    return bitorder == "little"


def _as_bits(operation: str, x: Any) -> Any:
    if dtype_name(x.dtype, operation, "x") in ("bool", "uint8"):
        return x
    return x.bool() if is_torch(x) else x.astype(bool)


def packbits(x: Any, bitorder: str = "big") -> Any:
    """As ``numpy.packbits`` of a 1-D tensor: uint8 ``[(n + 7) // 8]``."""
    operation = "packbits"
    require_tensor(operation, "x", x, 1)
    out = empty(x, ((x.shape[0] + 7) // 8,), "uint8")
    _packbits(operation, _as_bits(operation, x), _little(bitorder), out)
    return returned(x, out)


def segment_packbits(x: Any, indptr: Any, bitorder: str = "big") -> tuple[Any, Any]:
    """Packs each segment ``x[indptr[i] : indptr[i + 1]]``; returns bytes and their ``indptr``."""
    operation = "segment_packbits"
    require_tensor(operation, "x", x, 1)
    require_tensor(operation, "indptr", indptr, 1)
    new_indptr = empty(indptr, tuple(indptr.shape), "int32")
    _segment_packbits_indptr(operation, indptr, new_indptr)
    out = empty(x, (int(new_indptr[-1]),), "uint8")
    _segment_packbits(operation, _as_bits(operation, x), indptr, _little(bitorder), out, new_indptr)
    return returned(x, out), returned(indptr, new_indptr)
