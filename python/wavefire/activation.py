"""Gated activations (FlashInfer's ``flashinfer.activation``)."""

from __future__ import annotations

from typing import Any

from ._errors import message
from ._hints import require_backend
from ._library import function
from ._tensors import empty, require_array, require_writable, returned

_gated_activation = function("gated_activation", "int kind", "Tensor input", "Tensor! out")


def _gated(operation: str, kind: int, x: Any, out: Any) -> Any:
    if out is None:
        require_array(operation, "input", x)
        if x.ndim == 0:
            raise ValueError(message(operation, "input", "a single number", "rank 1 or more"))
        result = empty(x, (*x.shape[:-1], x.shape[-1] // 2))
        _gated_activation(operation, kind, x, result)
        return returned(x, result)
    require_writable(operation, out=out)
    _gated_activation(operation, kind, x, out)
    return out


def silu_and_mul(
    input: Any,  # noqa: A002
    out: Any = None,
    enable_pdl: bool | None = None,
    backend: str = "auto",
) -> Any:
    """``silu(input[..., :h]) * input[..., h:]`` for ``input [..., 2h]``; returns ``[..., h]``."""
    require_backend("silu_and_mul", backend)
    return _gated("silu_and_mul", 0, input, out)


def gelu_and_mul(input: Any, out: Any = None, enable_pdl: bool | None = None) -> Any:  # noqa: A002
    """The same with the exact GELU."""
    return _gated("gelu_and_mul", 1, input, out)


def gelu_tanh_and_mul(input: Any, out: Any = None, enable_pdl: bool | None = None) -> Any:  # noqa: A002
    """The same with GELU's tanh approximation."""
    return _gated("gelu_tanh_and_mul", 2, input, out)
