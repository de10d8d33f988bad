"""Paged caches: appending, positions, lengths. Packing of bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import wavefire
from compare import ints


@pytest.mark.parametrize("layout", ["NHD", "HND"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e5m2])
def test_append_writes_exactly_its_slots(layout: str, dtype: torch.dtype) -> None:
    shape = (6, 2, 4, 3, 8) if layout == "NHD" else (6, 2, 3, 4, 8)
    cache = torch.zeros(shape).to(dtype)
    key, value = torch.randn(4, 3, 8).to(dtype), torch.randn(4, 3, 8).to(dtype)
    wavefire.append_paged_kv_cache(
        key,
        value,
        ints(0, 1, -1, 1),
        ints(5, 0, 99, 3),
        cache,
        ints(4, 2, 5),
        ints(0, 2, 3),
        ints(2, 4),
        layout,
    )
    expected = torch.zeros(shape).to(dtype)
    view = expected if layout == "NHD" else expected.transpose(2, 3)
    for token, page, slot in ((0, 2, 1), (1, 5, 0), (3, 5, 3)):
        view[page, 0, slot], view[page, 1, slot] = key[token], value[token]
    assert torch.equal(cache.float(), expected.float())
    before = cache.float().clone()
    with pytest.raises(
        ValueError, match=r"'positions' is 8 at 1; accepted: 0 to 7, what the pages of request 0"
    ):
        wavefire.append_paged_kv_cache(
            key[:2],
            value[:2],
            ints(0, 0),
            ints(0, 8),
            cache,
            ints(4, 2, 5),
            ints(0, 2, 3),
            ints(2, 4),
            layout,
        )
    assert torch.equal(cache.float(), before)


def test_batch_indices_and_positions() -> None:
    batch, positions = wavefire.get_batch_indices_positions(ints(0, 2, 2, 5), ints(4, 9, 3), 7)
    assert batch.tolist() == [0, 0, 2, 2, 2, -1, -1]
    assert positions.tolist() == [2, 3, 0, 1, 2, 0, 0]
    assert wavefire.get_seq_lens(ints(0, 2, 2, 3), ints(5, 0, 16), 16).tolist() == [21, 0, 16]


@pytest.mark.parametrize("page_size", [1, 3, 64])
def test_every_token_carries_its_own_number(page_size: int) -> None:
    """Token t has value t everywhere: reading the cache back by the tables gives 0, 1, 2, ..."""
    lengths = [5, 0, 131, 64]
    pages = [-(-n // page_size) for n in lengths]
    indptr = torch.tensor(np.cumsum([0, *pages]), dtype=torch.int32)
    indices = torch.randperm(sum(pages) + 3)[: sum(pages)].int()
    last = torch.tensor([(n - 1) % page_size + 1 if n else 0 for n in lengths], dtype=torch.int32)
    append_indptr = torch.tensor(np.cumsum([0, *lengths]), dtype=torch.int32)
    seq_lens = wavefire.get_seq_lens(indptr, last, page_size)
    assert seq_lens.tolist() == lengths
    total = sum(lengths)
    batch, positions = wavefire.get_batch_indices_positions(append_indptr, seq_lens, total + 4)
    key = torch.arange(total + 4.0)[:, None, None].expand(-1, 2, 8).contiguous()
    cache = torch.full((sum(pages) + 3, 2, page_size, 2, 8), -1.0)
    wavefire.append_paged_kv_cache(key, -key, batch, positions, cache, indices, indptr, last)
    token = 0
    for b, n in enumerate(lengths):
        rows = cache[indices[indptr[b] : indptr[b + 1]].long()]
        k, v = (rows[:, side].reshape(-1, 2, 8)[:n] for side in (0, 1))
        expected = torch.arange(token, token + n)[:, None, None].expand(-1, 2, 8).float()
        assert torch.equal(k, expected)
        assert torch.equal(v, -expected)
        token += n
    assert int((cache == -1).sum()) >= 3 * 2 * page_size * 16, "other pages are not touched"


def test_views_of_packed_caches_and_other_strides() -> None:
    key, value = torch.randn(3, 2, 16), torch.randn(3, 2, 16)
    tables = (ints(2, 0), ints(0, 2), ints(2))
    where = (ints(0, 0, 0), ints(0, 3, 5))
    plain = torch.zeros(3, 2, 4, 2, 16)
    wavefire.append_paged_kv_cache(key, value, *where, plain, *tables)
    packed = torch.zeros(3, 4, 2, 32)  # K and V side by side in the last dimension
    wavefire.append_paged_kv_cache(
        key, value, *where, (packed[..., :16], packed[..., 16:]), *tables
    )
    assert torch.equal(packed[..., :16], plain[:, 0])
    assert torch.equal(packed[..., 16:], plain[:, 1])
    apart = torch.zeros(3, 4, 2, 16), torch.zeros(6, 4, 2, 16)[::2]  # pages at other strides
    wavefire.append_paged_kv_cache(key, value, *where, apart, *tables)
    assert torch.equal(apart[1], plain[:, 1])
    hnd = torch.zeros(3, 2, 4, 2, 16)  # NHD memory that is seen as HND
    wavefire.append_paged_kv_cache(key, value, *where, hnd.transpose(2, 3), *tables, "HND")
    assert torch.equal(hnd, plain)
    with pytest.raises(ValueError, match="contiguous last dimension"):
        strided = torch.zeros(3, 2, 4, 2, 32)[..., ::2]
        wavefire.append_paged_kv_cache(key, value, *where, strided, *tables)


def test_a_cache_without_a_page_axis_has_pages_of_one() -> None:
    k, v = torch.zeros(6, 2, 16), torch.zeros(6, 2, 16)
    key = torch.randn(2, 2, 16)
    wavefire.append_paged_kv_cache(
        key, -key, ints(0, 0), ints(0, 1), (k, v), ints(4, 1), ints(0, 2), ints(1)
    )
    assert torch.equal(k[[4, 1]], key)
    assert torch.equal(v[[4, 1]], -key)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn])
def test_append_mla(dtype: torch.dtype) -> None:
    ckv, kpe = torch.randn(3, 512).to(dtype), torch.randn(3, 64).to(dtype)
    cache = torch.zeros(4, 2, 576).to(dtype)  # both parts in one buffer
    wavefire.append_paged_mla_kv_cache(
        ckv, kpe, ints(0, -1, 1), ints(3, 0, 0), cache[..., :512], cache[..., 512:],
        ints(1, 3, 0), ints(0, 2, 3), ints(2, 1),
    )  # fmt: skip
    expected = torch.zeros(4, 2, 576).to(dtype)
    expected[3, 1], expected[0, 0] = torch.cat([ckv, kpe], 1)[0], torch.cat([ckv, kpe], 1)[2]
    assert torch.equal(cache.view(torch.uint8), expected.view(torch.uint8))


def test_append_to_pages_far_apart() -> None:
    cache = torch.empty(131073, 2, 16, 8, 128, dtype=torch.float16)  # committed lazily
    key = torch.randn(3, 8, 128).half()
    pages = [3, 65536, 131072]
    wavefire.append_paged_kv_cache(
        key, -key, ints(0, 0, 0), ints(1, 17, 33), cache, ints(*pages), ints(0, 3), ints(16)
    )
    for token, page in enumerate(pages):
        assert torch.equal(cache[page, 0, 1], key[token])
        assert torch.equal(cache[page, 1, 1], -key[token])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"kv_indptr": ints(1, 2, 3)}, "'kv_indptr' is 1 at 0; accepted: 0"),
        ({"kv_indptr": ints(0, 3, 2)}, "'kv_indptr' is 2 at 2 after 3"),
        ({"kv_indptr": ints(0, 2, 3).long()}, "'kv_indptr' is int64; accepted: int32"),
        ({"kv_indices": ints(4, 2)}, "accepted: at least 3 entries"),
        ({"kv_indices": ints(4, 6, 5)}, "'kv_indices' is 6; accepted: 0 to 5"),
        ({"kv_indices": ints(4, -1, 5)}, "'kv_indices' is -1"),
        ({"batch_indices": ints(0, 2)}, "'batch_indices' is 2 at 1"),
        ({"positions": ints(0, 8)}, "'positions' is 8 at 1; accepted: 0 to 7"),
        ({"append_value": torch.zeros(2, 3, 8).half()}, "'append_value' is float16"),
    ],
)
def test_bad_tables_are_rejected(changes: dict, text: str) -> None:
    call = {
        "append_key": torch.ones(2, 3, 8), "append_value": torch.ones(2, 3, 8),
        "batch_indices": ints(0, 0), "positions": ints(0, 5),
        "paged_kv_cache": torch.zeros(6, 2, 4, 3, 8), "kv_indices": ints(4, 2, 5),
        "kv_indptr": ints(0, 2, 3), "kv_last_page_len": ints(2, 4),
    }  # fmt: skip
    call.update(changes)
    with pytest.raises(ValueError, match=text):
        wavefire.append_paged_kv_cache(**call)
    assert not call["paged_kv_cache"].any()


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000])
def test_packbits(order: str, n: int) -> None:
    x = torch.rand(n) < 0.5
    assert np.array_equal(
        wavefire.packbits(x, order).numpy(), np.packbits(x.numpy(), bitorder=order)
    )
    indptr = torch.tensor([0, n // 3, n // 3, n], dtype=torch.int32)
    packed, new = wavefire.segment_packbits(x, indptr, order)
    parts = [np.packbits(x[a:b].numpy(), bitorder=order) for a, b in itertools.pairwise(indptr)]
    assert np.array_equal(packed.numpy(), np.concatenate(parts))
    assert new.tolist() == np.cumsum([0] + [len(p) for p in parts]).tolist()


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.int16, torch.uint16, torch.int64, torch.uint64, torch.float64]
)
def test_append_moves_bytes_of_any_type(dtype: torch.dtype) -> None:
    key = torch.randint(0, 100, (2, 3, 8)).to(dtype)
    cache = torch.zeros(2, 2, 4, 3, 8, dtype=dtype)
    wavefire.append_paged_kv_cache(
        key, key.flip(0), ints(0, 0), ints(1, 6), cache, ints(1, 0), ints(0, 2), ints(3)
    )
    assert torch.equal(cache[1, 0, 1], key[0])
    assert torch.equal(cache[0, 1, 2], key[0])
    with pytest.raises(ValueError, match="'append_value' is float32; accepted: " + str(dtype)[6:]):
        wavefire.append_paged_kv_cache(
            key, key.float(), ints(0, 0), ints(1, 6), cache, ints(1, 0), ints(0, 2), ints(3)
        )


@pytest.mark.parametrize("last", [0, 5, -1])
def test_last_pages_are_within_the_page(last: int) -> None:
    text = rf"'kv_last_page_len' is {last} at 1; accepted: 1 to page_size \(4\)"
    tables = ints(0, 1, 2), ints(4, last)
    with pytest.raises(ValueError, match="get_seq_lens: " + text):
        wavefire.get_seq_lens(*tables, 4)
    key = torch.ones(1, 3, 8)
    cache = torch.zeros(2, 2, 4, 3, 8)
    with pytest.raises(ValueError, match="append_paged_kv_cache: " + text):
        wavefire.append_paged_kv_cache(key, key, ints(0), ints(0), cache, ints(0, 1), *tables)
    assert not cache.any()
    assert wavefire.get_seq_lens(ints(0, 1, 1), ints(4, last), 4).tolist() == [4, 0]


@pytest.mark.parametrize("order", ["big", "little"])
def test_whatever_is_not_zero_is_a_set_bit(order: str) -> None:
    x = torch.randint(0, 256, (999,)) * (torch.rand(999) < 0.5)
    for values in (x.byte(), x.short(), x.float() / 512, x.byte().repeat_interleave(2)[::2]):
        packed = wavefire.packbits(values, order)
        assert np.array_equal(packed, np.packbits(x.numpy() != 0, bitorder=order))
    for bit in range(8):
        one = torch.full((16,), 1 << bit, dtype=torch.uint8)
        assert wavefire.packbits(one, order).tolist() == [255, 255]
