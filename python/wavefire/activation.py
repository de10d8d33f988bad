"""Gated activations (FlashInfer's ``flashinfer.activation``)."""

from __future__ import annotations

from typing import Any

from ._library import function
from ._tensors import empty

_gated_activation = function("gated_activation")


def _gated(kind: int, x: Any, out: Any) -> Any:
    if out is None:
        out = empty(x, (*x.shape[:-1], x.shape[-1] // 2))
    _gated_activation(kind, x, out)
    return out


def silu_and_mul(input: Any, out: Any = None, enable_pdl: bool | None = None) -> Any:  # noqa: A002
    """``silu(input[..., :h]) * input[..., h:]`` for ``input [..., 2h]``; returns ``[..., h]``."""
    return _gated(0, input, out)


def gelu_and_mul(input: Any, out: Any = None, enable_pdl: bool | None = None) -> Any:  # noqa: A002
    """The same with the exact GELU."""
    return _gated(1, input, out)


def gelu_tanh_and_mul(input: Any, out: Any = None, enable_pdl: bool | None = None) -> Any:  # noqa: A002
    """The same with GELU's tanh approximation."""
    return _gated(2, input, out)
