"""Errors at the border to the library, in the caller's terms.

The library's own errors are lines of "operation: 'argument' is VALUE; accepted: WHAT". What does
not even reach it (a list for a tensor, text for a number, a sparse tensor) is told in that form.
"""

from __future__ import annotations

import operator
import re
import sys
from typing import Any

from ._arrays import is_without_data
from ._graphs import in_graphs

_MISMATCH = re.compile(r"Mismatched type on argument #(\d+) .*Expected `([^`]+)`", re.DOTALL)
_ACCEPTED = {
    "DLTensor*": "a tensor",
    "Optional<ffi.Tensor>": "a tensor",
    "int": "a whole number",
    "float": "a number",
    "Optional<float>": "a number",
    "bool": "True or False",
    "Array<int>": "whole numbers",
}
_DTYPES = {"q_dtype": "q_data_type", "kv_dtype": "kv_data_type", "o_dtype": "o_data_type"}
_PAGES = ("kv_indptr", "kv_indices", "kv_last_page_len")
_POSITIONS = {"positions": "pos_ids"}
_CALLED = {  # what the callers of an operation call the library's arguments
    "BatchDecodeWithPagedKVCacheWrapper": {x: x.removeprefix("kv_") for x in _PAGES} | _DTYPES,
    "BatchPrefillWithPagedKVCacheWrapper": {x: f"paged_{x}" for x in _PAGES} | _DTYPES,
    "BatchPrefillWithRaggedKVCacheWrapper": _DTYPES,
    "apply_rope_pos_ids": _POSITIONS,
    "apply_rope_pos_ids_inplace": _POSITIONS,
    "apply_llama31_rope_pos_ids": _POSITIONS,
    "apply_llama31_rope_pos_ids_inplace": _POSITIONS,
    "layernorm": {"gamma": "gemma"},
}
_KINDS = (NotImplementedError, ValueError, MemoryError, RuntimeError)


def shown(x: Any) -> str:
    """A value in a message: short, and with its type where the text alone would not tell it."""
    if isinstance(x, int) and x.bit_length() > 128:  # of thousands of digits repr() fails
        return f"an integer of {x.bit_length()} bits"
    text = repr(x)
    if len(text) > 60 or "\n" in text:
        text = f"a {type(x).__name__}"
    elif x is not None and not isinstance(x, (bool, int, float, str)):
        text = f"{text} ({type(x).__name__})"
    return text


def message(operation: str, argument: str, value: str, accepted: str) -> str:
    return f"{operation}: '{argument}' is {value}; accepted: {accepted}"


def _in_callers_words(operation: str, text: str) -> str:
    """A message, with the argument that it begins with called as the caller calls it."""
    called = _CALLED.get(operation, {})
    return re.sub(r"^(\w+: )'(\w+)'", lambda m: f"{m[1]}'{called.get(m[2], m[2])}'", text)


def explained(
    operation: str, names: tuple[str, ...], arguments: tuple[Any, ...], error: Exception
) -> Exception:
    """What to raise for `error`, which a call of the library raised."""
    told = _explained(operation, names, arguments, error)
    return told if told is error else type(told)(_in_callers_words(operation, str(told)))


def _explained(
    operation: str, names: tuple[str, ...], arguments: tuple[Any, ...], error: Exception
) -> Exception:
    text = str(error)
    mismatch = _MISMATCH.match(text)
    if mismatch:
        i = int(mismatch[1])
        accepted = _ACCEPTED.get(mismatch[2], mismatch[2])
        if accepted == "a whole number" and isinstance(arguments[i], int):
            return ValueError(message(operation, names[i], shown(arguments[i]), "a 32-bit integer"))
        return TypeError(message(operation, names[i], shown(arguments[i]), accepted))
    kind = next((k for k in _KINDS if isinstance(error, k)), None)
    if kind is None or "\n" in text or text.startswith("tensor:"):
        for name, x in zip(names, arguments, strict=True):
            value = untakable(x)
            if value is not None:
                return ValueError(message(operation, name, value, _TAKEN))
    return error if kind is None else kind(f"{operation}: {text.partition(': ')[2] or text}")


_TAKEN = "a dense tensor of a real type, of rank 0 to 6, on the CPU"
_unknown_dtypes: dict[Any, str | None] = {}  # the name of one that is not taken


def _unknown_dtype(dtype: Any) -> str | None:
    name = str(dtype)
    unknown = name.startswith(("torch.complex", "torch.q", "complex", "object", "<U", "|S"))
    return _unknown_dtypes.setdefault(dtype, name if unknown else None)


def untakable(x: Any) -> str | None:
    """What speaks against a tensor, whatever the operation; None: nothing."""
    dtype = getattr(x, "dtype", None)
    unknown = _unknown_dtypes[dtype] if dtype in _unknown_dtypes else _unknown_dtype(dtype)
    if unknown is not None:
        return unknown
    if getattr(x, "ndim", 0) > 6:
        return f"of rank {x.ndim}"
    if not hasattr(x, "is_neg"):  # not PyTorch's
        return None
    if x.device.type not in ("cpu", "cuda"):
        return f"on {x.device}"
    if x.layout is not sys.modules["torch"].strided:
        return str(x.layout)
    if x.is_neg():
        return "a view that is negated when it is read (resolve_neg() gives a plain tensor)"
    if is_without_data(x):
        return f"without data, though it has {x.numel()} elements"
    return None


@in_graphs(lambda *_: None)  # when the graph runs, its tensors are looked at
def require_takable(operation: str, argument: str, x: Any) -> None:
    value = untakable(x)
    if value is not None:
        raise ValueError(message(operation, argument, value, _TAKEN))


def number(operation: str, argument: str, x: Any, default: float | None = None) -> Any:
    """A float from a number or a tensor of one element; `default` for None."""
    if x is None:
        return default
    try:
        if not isinstance(x, (str, bytes, bytearray)):
            return float(x)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        pass
    raise TypeError(message(operation, argument, shown(x), "a number"))


def whole(operation: str, argument: str, x: Any, least: int, most: int = 2**63 - 1) -> int:
    """An integer from `least` to `most`."""
    try:
        value = operator.index(x)
    except TypeError:
        raise TypeError(message(operation, argument, shown(x), "a whole number")) from None
    if not least <= value <= most:
        largest = "a 32-bit integer" if most == 2**31 - 1 else f"{most} or less"
        accepted = f"{least} or more" if value < least else largest
        raise ValueError(message(operation, argument, shown(value), accepted))
    return value
