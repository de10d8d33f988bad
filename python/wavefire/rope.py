"""Rotary position embedding (FlashInfer's ``flashinfer.rope``).

``q [nnz, num_qo_heads, head_dim]``, ``k [nnz, num_kv_heads, head_dim]``. The first ``rotary_dim``
dimensions are rotated, the rest copied; ``interleave`` pairs (2i, 2i + 1) instead of the two
halves.
"""

from __future__ import annotations

from typing import Any

from ._errors import number, whole
from ._hints import require_backend
from ._library import function
from ._tensors import (
    empty,
    empty_like,
    is_jax,
    is_torch,
    require_tensor,
    require_writable,
    returned,
)

_FREQUENCIES = (
    "rope_scale", "rope_theta", "low_freq_factor", "high_freq_factor", "old_context_len"
)  # fmt: skip
_apply_rope = function(
    "apply_rope", "Tensor q", "Tensor k", "Tensor positions", "Tensor? cos_sin_cache",
    "Tensor! q_out", "Tensor! k_out", "int rotary_dim", "bool interleave",
    *(f"float {name}" for name in _FREQUENCIES),
)  # fmt: skip
_rope_positions = function("rope_positions", "Tensor indptr", "Tensor offsets", "Tensor! positions")


def _positions(operation: str, q: Any, indptr: Any, offsets: Any) -> Any:
    require_tensor(operation, "q", q, 3)
    positions = empty(q, (q.shape[0],), "int32")
    _rope_positions(operation, indptr, offsets, positions)
    return positions


def _rotate(
    operation: str, q: Any, k: Any, where: tuple[Any, ...], rotary_dim: int | None,
    interleave: bool, frequencies: tuple[float, ...], *, in_place: bool = False,
) -> Any:  # fmt: skip
    """`where`: positions, or indptr and offsets. `frequencies`: scale, theta and LLaMA 3.1's
    parameters.
    """
    require_tensor(operation, "q", q)
    require_tensor(operation, "k", k)
    if in_place:
        require_writable(operation, q=q, k=k)
    rotary_dim = 0 if rotary_dim is None else whole(operation, "rotary_dim", rotary_dim, 2)
    positions = where[0] if len(where) == 1 else _positions(operation, q, *where)
    q_out, k_out = (q, k) if in_place else (empty_like(q), empty_like(k))
    _apply_rope(
        operation, q, k, positions, None, q_out, k_out, rotary_dim, interleave,
        *(
            number(operation, name, x)
            for name, x in zip(_FREQUENCIES, frequencies, strict=True)
        ),
    )  # fmt: skip
    return None if in_place else (returned(q, q_out), returned(k, k_out))


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
    return _rotate(
        "apply_rope", q, k, (indptr, offsets), rotary_dim, interleave,
        (rope_scale, rope_theta, 0, 0, 0),
    )  # fmt: skip


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
    _rotate(
        "apply_rope_inplace", q, k, (indptr, offsets), rotary_dim, interleave,
        (rope_scale, rope_theta, 0, 0, 0), in_place=True,
    )  # fmt: skip


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
    return _rotate(
        "apply_rope_pos_ids", q, k, (pos_ids,), rotary_dim, interleave,
        (rope_scale, rope_theta, 0, 0, 0),
    )  # fmt: skip


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
    _rotate(
        "apply_rope_pos_ids_inplace", q, k, (pos_ids,), rotary_dim, interleave,
        (rope_scale, rope_theta, 0, 0, 0), in_place=True,
    )  # fmt: skip


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
    return _rotate(
        "apply_llama31_rope", q, k, (indptr, offsets), rotary_dim, interleave,
        (rope_scale, rope_theta, low_freq_factor, high_freq_factor, old_context_len),
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
    _rotate(
        "apply_llama31_rope_inplace", q, k, (indptr, offsets), rotary_dim, interleave,
        (rope_scale, rope_theta, low_freq_factor, high_freq_factor, old_context_len),
        in_place=True,
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
    return _rotate(
        "apply_llama31_rope_pos_ids", q, k, (pos_ids,), rotary_dim, interleave,
        (rope_scale, rope_theta, low_freq_factor, high_freq_factor, old_context_len),
    )  # fmt: skip


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
    _rotate(
        "apply_llama31_rope_pos_ids_inplace", q, k, (pos_ids,), rotary_dim, interleave,
        (rope_scale, rope_theta, low_freq_factor, high_freq_factor, old_context_len),
        in_place=True,
    )  # fmt: skip


def apply_rope_with_cos_sin_cache(
    positions: Any,
    query: Any,
    key: Any,
    head_size: int,
    cos_sin_cache: Any,
    is_neox: bool = True,
    backend: str = "auto",
) -> tuple[Any, Any]:
    """Angles from a table: ``cos_sin_cache [max_position, rotary_dim]``, float32, float16 or
    bfloat16, cosines in the first half of a row, sines in the second.

    ``query [nnz, num_qo_heads * head_size]``, ``key [nnz, num_kv_heads * head_size]``. Returns new
    tensors. ``is_neox=False`` pairs neighbours.
    """
    operation = "apply_rope_with_cos_sin_cache"
    require_backend(operation, backend)
    require_tensor(operation, "query", query, 2)
    require_tensor(operation, "key", key, 2)
    q_out, k_out = empty_like(query), empty_like(key)
    _with_cache(operation, positions, query, key, q_out, k_out, head_size, cos_sin_cache, is_neox)
    return returned(query, q_out), returned(key, k_out)


def apply_rope_with_cos_sin_cache_inplace(
    positions: Any,
    query: Any,
    key: Any,
    head_size: int,
    cos_sin_cache: Any,
    is_neox: bool = True,
    backend: str = "auto",
) -> None:
    """``apply_rope_with_cos_sin_cache`` in place."""
    operation = "apply_rope_with_cos_sin_cache_inplace"
    require_backend(operation, backend)
    require_tensor(operation, "query", query, 2)
    require_tensor(operation, "key", key, 2)
    require_writable(operation, query=query, key=key)
    _with_cache(operation, positions, query, key, query, key, head_size, cos_sin_cache, is_neox)


def _with_cache(
    operation: str, positions: Any, query: Any, key: Any, q_out: Any, k_out: Any, head_size: int,
    cache: Any, neox: bool,
) -> None:  # fmt: skip
    require_tensor(operation, "cos_sin_cache", cache)
    head_size = whole(operation, "head_size", head_size, 1)

    def heads(x: Any) -> Any:
        if x.shape[-1] % head_size != 0:
            raise ValueError(
                f"{operation}: 'head_size' is {head_size}, of tensors [nnz, heads * head_size]; "
                f"accepted: a divisor of the last dimension of {tuple(x.shape)}"
            )
        return _split_last(x, head_size)

    if cache.ndim != 2:
        raise ValueError(
            f"{operation}: 'cos_sin_cache' has shape {tuple(cache.shape)}; accepted: "
            "[max_position, rotary_dim]"
        )
    _apply_rope(
        operation, heads(query), heads(key), positions, cache, heads(q_out), heads(k_out),
        cache.shape[1], not neox, 1.0, 1e4, 0.0, 0.0, 0.0,
    )  # fmt: skip


def _split_last(x: Any, size: int) -> Any:
    """``[n, heads * size]`` as ``[n, heads, size]``, never a copy."""
    shape = (x.shape[0], x.shape[1] // size, size)
    if is_torch(x):
        return x.view(shape)
    if is_jax(x):
        return x.reshape(shape)
    view = x.view()
    view.shape = shape
    return view
