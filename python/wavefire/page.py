"""Writing into a paged KV cache (FlashInfer's ``flashinfer.page``)."""

from __future__ import annotations

from typing import Any

from ._attention import kv_layout_is_hnd, split_paged_cache
from ._errors import whole
from ._hints import require_backend
from ._library import function
from ._tensors import empty, require_tensor, require_writable, returned

_PLACES = ("Tensor batch_indices", "Tensor positions")
_TABLES = ("Tensor kv_indptr", "Tensor kv_indices", "Tensor kv_last_page_len", "int page_size")
_append = function(
    "append_paged_kv_cache", "Tensor append_key", "Tensor append_value", *_PLACES,
    "Tensor! paged_kv_cache", "Tensor! paged_kv_cache", *_TABLES, "bool kv_layout",
)  # fmt: skip
_append_mla = function(
    "append_paged_mla_kv_cache", "Tensor append_ckv", "Tensor append_kpe", *_PLACES,
    "Tensor! ckv_cache", "Tensor! kpe_cache", *_TABLES,
)  # fmt: skip
_batch_indices_positions = function(
    "batch_indices_positions", "Tensor append_indptr", "Tensor seq_lens", "Tensor! batch_indices",
    "Tensor! positions",
)  # fmt: skip
_sequence_lengths = function(
    "sequence_lengths", "Tensor kv_indptr", "Tensor kv_last_page_len", "int page_size",
    "Tensor! out",
)  # fmt: skip


def append_paged_kv_cache(
    append_key: Any,
    append_value: Any,
    batch_indices: Any,
    positions: Any,
    paged_kv_cache: Any,
    kv_indices: Any,
    kv_indptr: Any,
    kv_last_page_len: Any,
    kv_layout: str = "NHD",
    backend: str = "auto",
) -> None:
    """Writes ``append_key, append_value [nnz, num_kv_heads, head_dim]`` to their pages.

    Token i goes to page ``kv_indices[kv_indptr[b] + pos // page_size]``, slot ``pos % page_size``,
    with ``b = batch_indices[i]`` (-1: padding, skipped) and ``pos = positions[i]``. The tables are
    those after the append. Checked before the first byte is written. Any dtype, the same for keys,
    values and cache; their head dims may differ.
    """
    operation = "append_paged_kv_cache"
    require_backend(operation, backend)
    hnd = kv_layout_is_hnd(kv_layout)
    k, v = split_paged_cache(operation, paged_kv_cache, hnd)
    require_writable(operation, paged_kv_cache=k)
    require_writable(operation, paged_kv_cache=v)
    _append(
        operation, append_key, append_value, batch_indices, positions, k, v, kv_indptr, kv_indices,
        kv_last_page_len, k.shape[2 if hnd else 1], hnd,
    )  # fmt: skip


def append_paged_mla_kv_cache(
    append_ckv: Any,
    append_kpe: Any,
    batch_indices: Any,
    positions: Any,
    ckv_cache: Any,
    kpe_cache: Any,
    kv_indices: Any,
    kv_indptr: Any,
    kv_last_page_len: Any,
) -> None:
    """Writes ``append_ckv [nnz, ckv_dim]`` and ``append_kpe [nnz, kpe_dim]`` to their pages in
    ``ckv_cache [pages, page_size, ckv_dim]`` and ``kpe_cache [pages, page_size, kpe_dim]``.
    """
    operation = "append_paged_mla_kv_cache"
    require_tensor(operation, "ckv_cache", ckv_cache, 3)
    require_writable(operation, ckv_cache=ckv_cache, kpe_cache=kpe_cache)
    _append_mla(
        operation, append_ckv, append_kpe, batch_indices, positions, ckv_cache, kpe_cache,
        kv_indptr, kv_indices, kv_last_page_len, ckv_cache.shape[1],
    )  # fmt: skip


def get_batch_indices_positions(
    append_indptr: Any, seq_lens: Any, nnz: int, batch_indices: Any = None, positions: Any = None
) -> tuple[Any, Any]:
    """For tokens ``append_indptr [batch + 1]`` appended to sequences that are ``seq_lens [batch]``
    long afterwards: request and position of each, int32 ``[nnz]``. The tail holds -1 and 0.
    """
    operation = "get_batch_indices_positions"
    require_tensor(operation, "append_indptr", append_indptr)
    nnz = whole(operation, "nnz", nnz, 0)
    if batch_indices is not None:
        require_writable(operation, batch_indices=batch_indices)
    if positions is not None:
        require_writable(operation, positions=positions)
    batches = empty(append_indptr, (nnz,), "int32") if batch_indices is None else batch_indices
    places = empty(append_indptr, (nnz,), "int32") if positions is None else positions
    _batch_indices_positions(operation, append_indptr, seq_lens, batches, places)
    return (
        returned(append_indptr, batches) if batch_indices is None else batches,
        returned(append_indptr, places) if positions is None else places,
    )


def get_seq_lens(kv_indptr: Any, kv_last_page_len: Any, page_size: int) -> Any:
    """Lengths in tokens, int32 ``[batch]``; 0 for requests without pages. Others have 1 to
    ``page_size`` tokens on their last page.
    """
    operation = "get_seq_lens"
    require_tensor(operation, "kv_last_page_len", kv_last_page_len)
    out = empty(kv_last_page_len, tuple(kv_last_page_len.shape), "int32")
    _sequence_lengths(operation, kv_indptr, kv_last_page_len, page_size, out)
    return returned(kv_last_page_len, out)
