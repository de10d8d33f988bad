"""Managing the pages of a KV cache: sequences, forks, prefixes shared by content."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ._library import Handle, function

_NAMES = {
    "create": ("num_pages", "page_size", "share_prefixes"), "create_sequence": ("cache", "tokens"),
    "append": ("cache", "sequence", "tokens"), "truncate": ("cache", "sequence", "length"),
    "commit": ("cache", "sequence", "length"), "pages_needed": ("cache", "sequence", "count"),
    "tables": ("cache", "sequences"),
    **dict.fromkeys(("fork", "release", "length", "tokens", "pages"), ("cache", "sequence")),
    **dict.fromkeys(("destroy", "drop_cached", "stats"), ("cache",)),
}  # fmt: skip
_f = {
    name: partial(function(f"kv_cache_{name}", *names), f"KvCache.{name}")
    for name, names in _NAMES.items()
}


class PageCopy(NamedTuple):
    """Copy the K and V of the first `tokens` slots of page `source` to page `target`."""

    source: int
    target: int
    tokens: int


class CacheStats(NamedTuple):
    """Pages: total = free + used + cached; `shared` of the used ones are in several tables."""

    total: int
    free: int
    used: int
    cached: int
    shared: int
    sequences: int
    tokens: int


class Tables(NamedTuple):
    """Page tables of a batch in CSR form, int32, as the attention wrappers take them."""

    indptr: np.ndarray
    indices: np.ndarray
    last_page_len: np.ndarray
    seq_lens: np.ndarray


class KvCache(Handle):
    """Pages and tables of a KV cache; the tensors stay the caller's. Calls from several threads
    take turns.

    >>> cache = KvCache(num_pages=64, page_size=16)
    >>> sequence, cached_tokens = cache.create([1, 2, 3])
    >>> cache.append(sequence, [1, 2, 3])
    []
    >>> cache.length(sequence)
    3

    Every call succeeds or raises and changes nothing: ``MemoryError`` with the numbers when pages
    run out, ``ValueError`` for an unknown sequence or a bad length.
    """

    def __init__(self, num_pages: int, page_size: int = 16, share_prefixes: bool = True) -> None:
        self._handle: int | None = None
        self._handle = _f["create"](num_pages, page_size, share_prefixes)
        self.page_size = page_size

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            _f["destroy"](handle)

    def create(self, tokens: Sequence[int] | np.ndarray = ()) -> tuple[int, int]:
        """A new sequence that holds the longest known prefix of `tokens` in whole pages, at least
        one token short of all. Returns its id and how many tokens are there.
        """
        sequence, cached = _f["create_sequence"](self._handle, _tokens(tokens))
        return int(sequence), int(cached)

    def append(self, sequence: int, tokens: Sequence[int] | np.ndarray) -> list[PageCopy]:
        """Reserves slots behind the end. Carry out the copies before anything is written."""
        flat = [int(x) for x in _f["append"](self._handle, sequence, _tokens(tokens))]
        return [PageCopy(*flat[i : i + 3]) for i in range(0, len(flat), 3)]

    def truncate(self, sequence: int, length: int) -> None:
        """Cuts down to `length` tokens."""
        _f["truncate"](self._handle, sequence, length)

    def fork(self, sequence: int) -> int:
        """A second sequence with the same content; pages are shared until one of the two writes."""
        return int(_f["fork"](self._handle, sequence))

    def commit(self, sequence: int, length: int | None = None) -> None:
        """The first `length` (default: all) tokens' K and V are written: others may find their full
        pages.

        May replace pages in the sequence's table by equal ones that are known already.
        """
        _f["commit"](self._handle, sequence, self.length(sequence) if length is None else length)

    def release(self, sequence: int) -> None:
        """Ends the sequence. Committed pages stay for their content until pages run out."""
        _f["release"](self._handle, sequence)

    def length(self, sequence: int) -> int:
        return int(_f["length"](self._handle, sequence))

    def tokens(self, sequence: int) -> list[int]:
        return [int(x) for x in _f["tokens"](self._handle, sequence)]

    def pages(self, sequence: int) -> list[int]:
        return [int(x) for x in _f["pages"](self._handle, sequence)]

    def pages_needed(self, sequence: int, count: int) -> int:
        """Pages that `count` more tokens would take, copies included."""
        return int(_f["pages_needed"](self._handle, sequence, count))

    def tables(self, sequences: Sequence[int]) -> Tables:
        lists = _f["tables"](self._handle, list(sequences))
        return Tables(*(np.array(list(x), dtype=np.int32) for x in lists))

    def stats(self) -> CacheStats:
        return CacheStats(*(int(x) for x in _f["stats"](self._handle)))

    def drop_cached(self) -> None:
        """Gives up all pages that are held for their content only."""
        _f["drop_cached"](self._handle)


def _tokens(tokens: Sequence[int] | np.ndarray) -> np.ndarray:
    ids = np.asarray(tokens)
    if ids.ndim != 1 or (ids.size > 0 and ids.dtype.kind not in "iu"):
        raise ValueError(
            f"KvCache: 'tokens' is {ids.dtype}{list(ids.shape)}; accepted: whole numbers, in one "
            "dimension"
        )
    if ids.size > 0 and (ids.min() < -(2**31) or ids.max() >= 2**31):
        raise ValueError(
            f"KvCache: 'tokens' holds {ids.min()} to {ids.max()}; accepted: 32-bit integers"
        )
    return np.ascontiguousarray(ids, dtype=np.int32)
