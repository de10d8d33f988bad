"""References in float64 with NumPy, written independently of the library."""

from __future__ import annotations

import math

import numpy as np
import torch


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    window_left: int = -1,
    mask: np.ndarray | None = None,
    sm_scale: float | None = None,
    soft_cap: float = 0.0,
    sinks: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """q [n, hq, d], k [m, hkv, d], v [m, hkv, dv]; output and base-2 LSE."""
    q, k, v = (x.double().numpy() for x in (q, k, v))
    n, m, group = q.shape[0], k.shape[0], q.shape[1] // k.shape[1]
    k, v = k.repeat(group, 1), v.repeat(group, 1)
    logits = np.einsum("nhd,mhd->hnm", q, k) * (
        q.shape[2] ** -0.5 if sm_scale is None else sm_scale
    )
    if soft_cap > 0:
        logits = soft_cap * np.tanh(logits / soft_cap)
    position = np.arange(n)[:, None] + m - n
    keys = np.arange(m)[None, :]
    keep = np.ones((n, m), bool)
    if causal:
        keep &= keys <= position
    if window_left >= 0:
        keep &= keys >= position - window_left
    if mask is not None:
        keep &= mask
    logits = np.where(keep, logits, -np.inf)
    sink = np.full(q.shape[1], -np.inf) if sinks is None else np.asarray(sinks, np.float64)
    top = np.maximum(logits.max(-1, initial=-np.inf), sink[:, None])
    safe = np.where(np.isinf(top), 0.0, top)
    weights = np.exp(logits - safe[..., None])
    total = weights.sum(-1) + np.exp(sink[:, None] - safe)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(
            total[..., None] > 0, np.einsum("hnm,mhd->hnd", weights, v) / total[..., None], 0
        )
        lse = np.where(total > 0, (safe + np.log(total)) / math.log(2), -np.inf)
    return out.transpose(1, 0, 2), lse.T


def rope(x: torch.Tensor, positions: np.ndarray, *, theta: float = 1e4, scale: float = 1.0,
         rotary_dim: int | None = None, interleave: bool = False) -> np.ndarray:  # fmt: skip
    """x [n, h, d]."""
    out = x.double().numpy().copy()
    dim = x.shape[2] if rotary_dim is None else rotary_dim
    frequency = theta ** (-np.arange(0, dim, 2) / dim) / scale
    angle = positions[:, None].astype(np.float64) * frequency
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    first = slice(0, dim, 2) if interleave else slice(0, dim // 2)
    second = slice(1, dim, 2) if interleave else slice(dim // 2, dim)
    a, b = out[..., first].copy(), out[..., second].copy()
    out[..., first] = a * cos - b * sin
    out[..., second] = b * cos + a * sin
    return out


def top_k_keep(p: np.ndarray, k: int) -> np.ndarray:
    return p >= np.sort(p)[::-1][min(k, len(p)) - 1]


def top_p_keep(p: np.ndarray, top_p: float) -> np.ndarray:
    order = np.sort(p)[::-1]
    reached = np.searchsorted(np.cumsum(order), top_p * p.sum() * (1 - 1e-12))
    return p >= order[min(reached, len(p) - 1)]
