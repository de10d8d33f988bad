"""Joining attention states (FlashInfer's ``flashinfer.cascade``). LSE in base 2."""

from __future__ import annotations

from typing import Any

from ._library import function
from ._tensors import empty, empty_like, is_torch, require_tensor, require_writable, returned

_WRITTEN = ("Tensor! v", "Tensor! s", "Tensor? mask")
_merge_state = function(
    "merge_state", "Tensor v_a", "Tensor s_a", "Tensor v_b", "Tensor s_b", *_WRITTEN
)
_merge_in_place = function(
    "merge_state", "Tensor v", "Tensor s", "Tensor v_other", "Tensor s_other", *_WRITTEN
)
_merge_states = function("merge_states", "Tensor v", "Tensor s", "Tensor! v_out", "Tensor! s_out")


def _name(s: Any) -> str:
    return str(s.dtype).removeprefix("torch.")  # also of dtypes that the library has no name for


def _float32(operation: str, argument: str, s: Any) -> Any:
    require_tensor(operation, argument, s)
    if _name(s) == "float32":
        return s
    return s.float() if is_torch(s) else s.astype("float32")


def merge_state(v_a: Any, s_a: Any, v_b: Any, s_b: Any) -> tuple[Any, Any]:
    """``v [seq_len, num_heads, head_dim]``, ``s [seq_len, num_heads]``; the joint state, its LSE in
    float32.
    """
    operation = "merge_state"
    require_tensor(operation, "v_a", v_a)
    s_a, s_b = _float32(operation, "s_a", s_a), _float32(operation, "s_b", s_b)
    v, s = empty_like(v_a), empty_like(s_a)
    _merge_state(operation, v_a, s_a, v_b, s_b, v, s, None)
    return returned(v_a, v), returned(v_a, s)


def merge_state_in_place(v: Any, s: Any, v_other: Any, s_other: Any, mask: Any = None) -> None:
    """Joins ``(v_other, s_other)`` into ``(v, s)``; only rows with ``mask [seq_len]``, if given.

    ``s`` is float32: of another dtype only a copy could be changed.
    """
    operation = "merge_state_in_place"
    require_tensor(operation, "s", s)
    require_writable(operation, v=v, s=s)
    if _name(s) != "float32":
        raise ValueError(f"{operation}: 's' is {_name(s)}; accepted: float32")
    _merge_in_place(operation, v, s, v_other, _float32(operation, "s_other", s_other), v, s, mask)


def merge_states(v: Any, s: Any) -> tuple[Any, Any]:
    """``v [seq_len, num_states, num_heads, head_dim]``, ``s [seq_len, num_states, num_heads]``."""
    operation = "merge_states"
    require_tensor(operation, "v", v, 4)
    s = _float32(operation, "s", s)
    require_tensor(operation, "s", s, 3)
    v_out = empty(v, (v.shape[0], v.shape[2], v.shape[3]))
    s_out = empty(s, (s.shape[0], s.shape[2]))
    _merge_states(operation, v, s, v_out, s_out)
    return returned(v, v_out), returned(v, s_out)
