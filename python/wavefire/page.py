"""Writing into a paged KV cache (FlashInfer's ``flashinfer.page``)."""

from __future__ import annotations

from typing import Any

from ._attention import kv_layout_is_hnd, split_paged_cache
from ._library import function
from ._tensors import empty

_append = function("append_paged_kv_cache")
_batch_indices_positions = function("batch_indices_positions")
_sequence_lengths = function("sequence_lengths")


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
) -> None:
    """Writes ``append_key, append_value [nnz, num_kv_heads, head_dim]`` to their pages.

    Token i goes to page ``kv_indices[kv_indptr[b] + pos // page_size]``, slot ``pos % page_size``,
    with ``b = batch_indices[i]`` (-1: padding, skipped) and ``pos = positions[i]``. The tables are
    those after the append. Checked before the first byte is written.
    """
    hnd = kv_layout_is_hnd(kv_layout)
    k, v = split_paged_cache(paged_kv_cache, hnd)
    _append(
        append_key, append_value, batch_indices, positions, k, v, kv_indptr, kv_indices,
        kv_last_page_len, k.shape[2 if hnd else 1], hnd,
    )  # fmt: skip


def get_batch_indices_positions(
    append_indptr: Any, seq_lens: Any, nnz: int, batch_indices: Any = None, positions: Any = None
) -> tuple[Any, Any]:
    """For tokens ``append_indptr [batch + 1]`` appended to sequences that are ``seq_lens [batch]``
    long afterwards: request and position of each, int32 ``[nnz]``. The tail holds -1 and 0.
    """
    batch_indices = (
        empty(append_indptr, (nnz,), "int32") if batch_indices is None else batch_indices
    )
    positions = empty(append_indptr, (nnz,), "int32") if positions is None else positions
    _batch_indices_positions(append_indptr, seq_lens, batch_indices, positions)
    return batch_indices, positions


def get_seq_lens(kv_indptr: Any, kv_last_page_len: Any, page_size: int) -> Any:
    """Lengths in tokens, int32 ``[batch]``; 0 for requests without pages."""
    out = empty(kv_last_page_len, tuple(kv_last_page_len.shape), "int32")
    _sequence_lengths(kv_indptr, kv_last_page_len, page_size, out)
    return out
