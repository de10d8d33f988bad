"""Normalisations (FlashInfer's ``flashinfer.norm``). float32, float16, bfloat16; float32 inside."""

from __future__ import annotations

from typing import Any

from ._library import function
from ._tensors import empty_like

_rms_norm = function("rms_norm")
_fused_add_rms_norm = function("fused_add_rms_norm")


def rmsnorm(
    input: Any,  # noqa: A002
    weight: Any,
    eps: float = 1e-6,
    out: Any = None,
    enable_pdl: bool | None = None,
) -> Any:
    """``input / sqrt(mean(input^2) + eps) * weight`` over the last dimension.

    ``input [batch, hidden]`` or ``[batch, heads, hidden]``, any row strides; ``weight [hidden]``.
    """
    out = empty_like(input) if out is None else out
    _rms_norm(input, weight, out, eps, 0.0)
    return out


def fused_add_rmsnorm(
    input: Any,  # noqa: A002
    residual: Any,
    weight: Any,
    eps: float = 1e-6,
    enable_pdl: bool | None = None,
) -> None:
    """In place: ``residual += input``, ``input = rmsnorm(residual) * weight``; float32 inside."""
    _fused_add_rms_norm(input, residual, weight, eps, 0.0)


def gemma_rmsnorm(
    input: Any,  # noqa: A002
    weight: Any,
    eps: float = 1e-6,
    out: Any = None,
    enable_pdl: bool | None = None,
) -> Any:
    """As ``rmsnorm`` with ``weight + 1``."""
    out = empty_like(input) if out is None else out
    _rms_norm(input, weight, out, eps, 1.0)
    return out


def gemma_fused_add_rmsnorm(
    input: Any,  # noqa: A002
    residual: Any,
    weight: Any,
    eps: float = 1e-6,
    enable_pdl: bool | None = None,
) -> None:
    """As ``fused_add_rmsnorm`` with ``weight + 1``."""
    _fused_add_rms_norm(input, residual, weight, eps, 1.0)
