"""Rotary position embedding (FlashInfer's ``flashinfer.rope``).

``q [nnz, num_qo_heads, head_dim]``, ``k [nnz, num_kv_heads, head_dim]``. The first ``rotary_dim``
dimensions are rotated, the rest copied; ``interleave`` pairs (2i, 2i + 1) instead of the two
halves.
"""

from __future__ import annotations

from typing import Any

from ._library import function
from ._tensors import empty, empty_like

_apply_rope = function("apply_rope")
_rope_positions = function("rope_positions")


def _positions(q: Any, indptr: Any, offsets: Any) -> Any:
    positions = empty(q, (q.shape[0],), "int32")
    _rope_positions(indptr, offsets, positions)
    return positions


def _apply(
    q: Any, k: Any, positions: Any, q_out: Any, k_out: Any, rotary_dim: int | None,
    interleave: bool,
    scale: float, theta: float, low: float = 0.0, high: float = 0.0, old_context: float = 0.0,
) -> None:  # fmt: skip
    _apply_rope(
        q, k, positions, None, q_out, k_out, rotary_dim or 0, interleave, float(scale),
        float(theta),
        float(low), float(high), float(old_context),
    )  # fmt: skip


def apply_rope(
    q: Any,
    k: Any,
    indptr: Any,
    offsets: Any,
    rotary_dim: int | None = None,
    interleave: bool = False,
    rope_scale: float = 1,
    rope_theta: float = 1e4,
) -> tuple[Any, Any]:
    """Token i of request b is at position ``offsets[b] + i - indptr[b]``; returns new q and k."""
    return apply_rope_pos_ids(
        q, k, _positions(q, indptr, offsets), rotary_dim, interleave, rope_scale, rope_theta
    )


def apply_rope_inplace(
    q: Any,
    k: Any,
    indptr: Any,
    offsets: Any,
    rotary_dim: int | None = None,
    interleave: bool = False,
    rope_scale: float = 1,
    rope_theta: float = 1e4,
) -> None:
    """``apply_rope`` in place."""
    _apply(
        q, k, _positions(q, indptr, offsets), q, k, rotary_dim, interleave, rope_scale, rope_theta
    )


def apply_rope_pos_ids(
    q: Any,
    k: Any,
    pos_ids: Any,
    rotary_dim: int | None = None,
    interleave: bool = False,
    rope_scale: float = 1,
    rope_theta: float = 1e4,
) -> tuple[Any, Any]:
    """Positions given for every token, int32 or int64 ``[nnz]``; returns new q and k."""
    q_out, k_out = empty_like(q), empty_like(k)
    _apply(q, k, pos_ids, q_out, k_out, rotary_dim, interleave, rope_scale, rope_theta)
    return q_out, k_out


def apply_rope_pos_ids_inplace(
    q: Any,
    k: Any,
    pos_ids: Any,
    rotary_dim: int | None = None,
    interleave: bool = False,
    rope_scale: float = 1,
    rope_theta: float = 1e4,
) -> None:
    """``apply_rope_pos_ids`` in place."""
    _apply(q, k, pos_ids, q, k, rotary_dim, interleave, rope_scale, rope_theta)


def apply_llama31_rope(
    q: Any,
    k: Any,
    indptr: Any,
    offsets: Any,
    rotary_dim: int | None = None,
    interleave: bool = False,
    rope_scale: float = 8,
    rope_theta: float = 5e5,
    low_freq_factor: float = 1,
    high_freq_factor: float = 4,
    old_context_len: int = 8192,
) -> tuple[Any, Any]:
    """``apply_rope`` with LLaMA 3.1's smoothed frequencies."""
    return apply_llama31_rope_pos_ids(
        q, k, _positions(q, indptr, offsets), rotary_dim, interleave, rope_scale, rope_theta,
        low_freq_factor, high_freq_factor, old_context_len,
    )  # fmt: skip


def apply_llama31_rope_inplace(
    q: Any,
    k: Any,
    indptr: Any,
    offsets: Any,
    rotary_dim: int | None = None,
    interleave: bool = False,
    rope_scale: float = 8,
    rope_theta: float = 5e5,
    low_freq_factor: float = 1,
    high_freq_factor: float = 4,
    old_context_len: int = 8192,
) -> None:
    """``apply_llama31_rope`` in place."""
    _apply(
        q, k, _positions(q, indptr, offsets), q, k, rotary_dim, interleave, rope_scale, rope_theta,
        low_freq_factor, high_freq_factor, old_context_len,
    )  # fmt: skip


def apply_llama31_rope_pos_ids(
    q: Any,
    k: Any,
    pos_ids: Any,
    rotary_dim: int | None = None,
    interleave: bool = False,
    rope_scale: float = 8,
    rope_theta: float = 5e5,
    low_freq_factor: float = 1,
    high_freq_factor: float = 4,
    old_context_len: int = 8192,
) -> tuple[Any, Any]:
    """``apply_rope_pos_ids`` with LLaMA 3.1's smoothed frequencies."""
    q_out, k_out = empty_like(q), empty_like(k)
    _apply(
        q, k, pos_ids, q_out, k_out, rotary_dim, interleave, rope_scale, rope_theta,
        low_freq_factor, high_freq_factor, old_context_len,
    )  # fmt: skip
    return q_out, k_out


def apply_llama31_rope_pos_ids_inplace(
    q: Any,
    k: Any,
    pos_ids: Any,
    rotary_dim: int | None = None,
    interleave: bool = False,
    rope_scale: float = 8,
    rope_theta: float = 5e5,
    low_freq_factor: float = 1,
    high_freq_factor: float = 4,
    old_context_len: int = 8192,
) -> None:
    """``apply_llama31_rope_pos_ids`` in place."""
    _apply(
        q, k, pos_ids, q, k, rotary_dim, interleave, rope_scale, rope_theta, low_freq_factor,
        high_freq_factor, old_context_len,
    )  # fmt: skip


def apply_rope_with_cos_sin_cache(
    positions: Any, query: Any, key: Any, head_size: int, cos_sin_cache: Any, is_neox: bool = True
) -> tuple[Any, Any]:
    """``query [nnz, num_qo_heads * head_size]``, ``key`` likewise; ``cos_sin_cache
    [max_position, rotary_dim]``: cosines, then sines. Returns new tensors.
    """
    q_out, k_out = empty_like(query), empty_like(key)
    _with_cache(positions, query, key, q_out, k_out, head_size, cos_sin_cache, is_neox)
    return q_out, k_out


def apply_rope_with_cos_sin_cache_inplace(
    positions: Any, query: Any, key: Any, head_size: int, cos_sin_cache: Any, is_neox: bool = True
) -> None:
    """``apply_rope_with_cos_sin_cache`` in place."""
    _with_cache(positions, query, key, query, key, head_size, cos_sin_cache, is_neox)


def _with_cache(
    positions: Any,
    query: Any,
    key: Any,
    q_out: Any,
    k_out: Any,
    head_size: int,
    cache: Any,
    neox: bool,
) -> None:
    def heads(x: Any) -> Any:
        if x.shape[-1] % head_size != 0:
            raise ValueError(
                f"apply_rope_with_cos_sin_cache: 'head_size' is {head_size}; "
                f"accepted: a divisor of the last dimension ({x.shape[-1]})"
            )
        shape = (x.shape[0], x.shape[-1] // head_size, head_size)
        return x.view(shape) if hasattr(x, "view") and hasattr(x, "stride") else x.reshape(shape)

    _apply_rope(
        heads(query), heads(key), positions, cache, heads(q_out), heads(k_out), cache.shape[1],
        not neox, 1.0, 1e4, 0.0, 0.0, 0.0,
    )  # fmt: skip
