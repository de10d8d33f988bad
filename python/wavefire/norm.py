"""Normalisations (FlashInfer's ``flashinfer.norm``). float32, float16, bfloat16; float32 inside."""

from __future__ import annotations

from typing import Any

from ._hints import require_backend
from ._library import function
from ._tensors import empty_like, require_array, require_writable, returned

_rms_norm = function(
    "rms_norm", "Tensor input", "Tensor weight", "Tensor! out", "float eps", "float weight_bias"
)
_fused_add_rms_norm = function(
    "fused_add_rms_norm", "Tensor! input", "Tensor! residual", "Tensor weight", "float eps",
    "float weight_bias",
)  # fmt: skip
_layer_norm = function(
    "layer_norm", "Tensor input", "Tensor gemma", "Tensor beta", "Tensor! out", "float eps"
)


def _rms(operation: str, x: Any, weight: Any, eps: float, out: Any, weight_bias: float) -> Any:
    if out is None:
        require_array(operation, "input", x)
        result = empty_like(x)
        _rms_norm(operation, x, weight, result, eps, weight_bias)
        return returned(x, result)
    require_writable(operation, out=out)
    _rms_norm(operation, x, weight, out, eps, weight_bias)
    return out


def rmsnorm(
    input: Any,  # noqa: A002
    weight: Any,
    eps: float = 1e-6,
    out: Any = None,
    enable_pdl: bool | None = None,
    backend: str = "auto",
) -> Any:
    """``input / sqrt(mean(input^2) + eps) * weight`` over the last dimension, rounded once.

    ``input [batch, hidden]`` or ``[batch, heads, hidden]``, any row strides; ``weight [hidden]``.
    ``out`` may be ``input``.
    """
    require_backend("rmsnorm", backend)
    return _rms("rmsnorm", input, weight, eps, out, 0.0)


def fused_add_rmsnorm(
    input: Any,  # noqa: A002
    residual: Any,
    weight: Any,
    eps: float = 1e-6,
    enable_pdl: bool | None = None,
    backend: str = "auto",
) -> None:
    """In place: ``residual += input``, ``input = rmsnorm(residual) * weight``.

    The norm is of the float32 sum, not of the one that is rounded for ``residual``.
    """
    require_backend("fused_add_rmsnorm", backend)
    require_writable("fused_add_rmsnorm", input=input, residual=residual)
    _fused_add_rms_norm("fused_add_rmsnorm", input, residual, weight, eps, 0.0)


def gemma_rmsnorm(
    input: Any,  # noqa: A002
    weight: Any,
    eps: float = 1e-6,
    out: Any = None,
    enable_pdl: bool | None = None,
) -> Any:
    """As ``rmsnorm`` with ``weight + 1``, added in float32."""
    return _rms("gemma_rmsnorm", input, weight, eps, out, 1.0)


def gemma_fused_add_rmsnorm(
    input: Any,  # noqa: A002
    residual: Any,
    weight: Any,
    eps: float = 1e-6,
    enable_pdl: bool | None = None,
) -> None:
    """As ``fused_add_rmsnorm`` with ``weight + 1``."""
    require_writable("gemma_fused_add_rmsnorm", input=input, residual=residual)
    _fused_add_rms_norm("gemma_fused_add_rmsnorm", input, residual, weight, eps, 1.0)


def layernorm(
    input: Any,  # noqa: A002
    gemma: Any,
    beta: Any,
    eps: float = 1e-6,
    out: Any = None,
) -> Any:
    """``(input - mean) / sqrt(variance + eps) * gemma + beta``; shapes as in ``rmsnorm``.

    ``gemma`` (gamma; the name is FlashInfer's) and ``beta [hidden]``: any of the three dtypes.
    ``out`` may be ``input``.
    """
    operation = "layernorm"
    if out is None:
        require_array(operation, "input", input)
        result = empty_like(input)
        _layer_norm(operation, input, gemma, beta, result, eps)
        return returned(input, result)
    require_writable(operation, out=out)
    _layer_norm(operation, input, gemma, beta, out, eps)
    return out
