"""kernels/memory.hip: buffers, LDS, loads to LDS, scratch, variables, atomics."""

from __future__ import annotations

import numpy as np
import pytest

LANES = np.arange(64)
only_gfx950 = pytest.mark.parametrize("target", ["gfx950"])
SIZES = {"b8": (np.uint8, 1), "b16": (np.uint16, 1), "b32": (np.uint32, 1), "b64": (np.uint32, 2),
         "b128": (np.uint32, 4)}  # fmt: skip


@pytest.fixture
def memory(kernels, order):
    return kernels("memory")


def integers(rng, shape, dtype=np.uint32):
    info = np.iinfo(dtype)
    return rng.integers(info.min, int(info.max) + 1, shape, dtype)


@pytest.mark.parametrize("size", SIZES)
def test_buffer_loads_read_zero_beyond_the_end(memory, rng, size):
    dtype, words = SIZES[size]
    values = integers(rng, (64, words), dtype)
    out = np.full_like(values, 9)
    memory.launch(f"buffer_load_{size}", [1], [64], [values, out, 50 * values[0].nbytes])
    np.testing.assert_array_equal(out, np.where(LANES[:, None] < 50, values, 0))


@pytest.mark.parametrize("size", SIZES)
def test_buffer_stores_beyond_the_end_are_dropped(memory, rng, size):
    dtype, words = SIZES[size]
    values = integers(rng, (64, words), dtype)
    out = np.full_like(values, 9)
    memory.launch(f"buffer_store_{size}", [1], [64], [values, out, 50 * values[0].nbytes])
    np.testing.assert_array_equal(out, np.where(LANES[:, None] < 50, values, 9))


def test_buffer_words_are_bounded_one_by_one(memory, rng):
    values = integers(rng, 192)
    out = np.full_like(values, 9)
    memory.launch("buffer_b96", [1], [64], [values, out, 100 * 4])
    at = np.arange(192)
    expected = np.where(at < 100, values, 0)
    np.testing.assert_array_equal(out, np.where(at < 190, expected, 9))


def test_buffer_offsets_add_up(memory, rng):
    values = integers(rng, 256)
    out = np.zeros(128, np.uint32)
    memory.launch("buffer_offsets", [1], [64], [values, out, 140 * 4, 64])
    at = np.arange(128) + 16
    np.testing.assert_array_equal(out, np.where(at < 140, values[at], 0))


def test_loads_go_to_lds(memory, rng):
    values = integers(rng, 256)
    for kernel, expected in (("dma_to_lds", values[::-1]), ("dma_swizzled", values)):
        out = np.zeros_like(values)
        memory.launch(kernel, [1], [256], [values, out])
        np.testing.assert_array_equal(out, expected)


def test_loads_to_lds_beyond_the_end_write_zero(memory, rng):
    values = integers(rng, 256)
    out = np.zeros_like(values)
    memory.launch("dma_from_buffer", [1], [256], [values, out, 150 * 4])
    np.testing.assert_array_equal(out, np.where(np.arange(256) < 150, values, 0))


@only_gfx950
def test_wide_loads_go_to_lds(memory, rng):
    values = integers(rng, (128, 4))
    out = np.zeros_like(values)
    memory.launch("dma_b128", [1], [128], [values, out])
    np.testing.assert_array_equal(out, values[::-1])
    values = integers(rng, (64, 3))
    out = np.zeros_like(values)
    memory.launch("dma_b96", [1], [64], [values, out])
    np.testing.assert_array_equal(out, values[::-1])


def test_lds_holds_bytes_halves_and_wide_words(memory, rng):
    at = np.arange(256)
    values = integers(rng, 256, np.uint8)
    out = np.zeros_like(values)
    memory.launch("lds_bytes", [1], [256], [values, out])
    np.testing.assert_array_equal(out, values[at * 7 & 255])

    halves = integers(rng, 256, np.int16)
    pairs = np.zeros((256, 2), np.int16)
    memory.launch("lds_halves", [1], [256], [halves, pairs])
    np.testing.assert_array_equal(pairs, np.stack([halves[at * 3 & 255], halves[at * 5 & 255]], 1))

    words = integers(rng, 256)
    wide = np.zeros((64, 5), np.uint32)
    memory.launch("lds_wide", [1], [64], [words, wide])
    total = np.zeros(64, np.uint32)
    for i in range(9):
        total = total * np.uint32(3) + words[((LANES ^ 5) + 29 * i) & 255]
    np.testing.assert_array_equal(wide[:, :4], words.reshape(64, 4)[::-1])
    np.testing.assert_array_equal(wide[:, 4], total)


def test_lds_atomics_count(memory, rng):
    values = integers(rng, 256)
    out = np.zeros(16, np.uint32)
    memory.launch("lds_histogram", [1], [256], [values, out])
    np.testing.assert_array_equal(out, np.bincount(values % 16, minlength=16))


def reductions(values):
    """max, min, and, or, xor as the kernels do them; `and` keeps the bits of `mask`."""
    return [max(0, values.max()), min(2**30, values.min()), np.bitwise_or.reduce(values),
            np.bitwise_xor.reduce(values)]  # fmt: skip


def test_lds_atomics_combine(memory, rng):
    values = integers(rng, 64, np.int32)
    out = np.zeros(8 + 64, np.int32)
    memory.launch("lds_atomics", [1], [64], [values, out])
    largest, smallest, any_bit, odd_bits = reductions(values)
    every_bit = np.bitwise_and.reduce(values | 15)
    np.testing.assert_array_equal(
        out[:7], [largest, smallest, every_bit, any_bit, odd_bits, 64, 2 + 64]
    )
    np.testing.assert_array_equal(out[8:], 1)


@only_gfx950
def test_lds_is_read_transposed(memory, rng):
    lane, element = np.meshgrid(LANES, np.arange(4), indexing="ij")
    row = lane // 16 * 16
    values = integers(rng, (64, 4), np.int16)
    out = np.zeros_like(values)
    memory.launch("lds_transposed_b16", [1], [64], [values, out])
    source = row + lane % 16 // 4 + 4 * element
    np.testing.assert_array_equal(out, values[source, lane % 4])

    lane, element = np.meshgrid(LANES, np.arange(8), indexing="ij")
    row = lane // 16 * 16
    values = integers(rng, (64, 8), np.uint8)
    out = np.zeros_like(values)
    memory.launch("lds_transposed_b8", [1], [64], [values, out])
    source = row + lane % 16 // 8 + 2 * element
    np.testing.assert_array_equal(out, values[source, lane % 8])


def test_scratch_belongs_to_each_lane(memory, rng):
    values = integers(rng, 128)
    out = np.zeros(128, np.uint32)
    memory.launch("scratch", [1], [128], [values, out])
    expected = []
    for thread in range(128):
        table = [int(values[(thread + i) % 128]) + i for i in range(24)]
        total = 0
        for i in range(12):
            at = int(values[(thread * 3 + i) % 128]) % 24
            total = (total * 5 + table[at]) % 2**32
            table[(at + i) % 24] = (table[(at + i) % 24] ^ total) % 2**32
        expected.append((total + table[int(values[thread]) % 24]) % 2**32)
    np.testing.assert_array_equal(out, np.array(expected, np.uint32))


def test_variables_of_the_module(memory, rng):
    values = integers(rng, 64)
    out = np.zeros(64, np.float32)
    memory.launch("variables", [1], [64], [values, out])
    table = np.array([2, 3, 5, 7, 11, 13, 17, 19])
    factors = np.array([1.0, 0.5, 0.25, -2.0])
    np.testing.assert_array_equal(out, table[values % 8] * factors[values // 8 % 4])


def test_global_atomics_combine(memory, rng):
    values = integers(rng, 4 * 64, np.int32)
    place = np.array([0, 2**30, -1, 0, 0, 0], np.int32)
    wide = np.array([5], np.uint64)
    real = np.array([1], np.float32)
    precise = np.array([1], np.float64)
    order = np.zeros(256, np.int32)
    memory.launch("global_atomics", [4], [64], [values, place, wide, real, precise, order])
    largest, smallest, any_bit, odd_bits = reductions(values)
    every_bit = np.bitwise_and.reduce(values | 255)
    np.testing.assert_array_equal(place, [largest, smallest, every_bit, any_bit, odd_bits, 256])
    assert wide[0] == 5 + (values.view(np.uint32).astype(np.uint64) << np.uint64(20)).sum()
    assert (real[0], precise[0]) == (1 + 128, 1 + 32)
    np.testing.assert_array_equal(order, 1)


def test_compare_and_swap_is_atomic(memory):
    place = np.array([1], np.uint32)
    memory.launch("compare_and_swap", [3], [64], [place])
    expected = 1
    for _ in range(12):
        expected = (expected * 3 + 1) % 2**32
    assert place[0] == expected


def test_last_workgroup_sees_the_others(memory, rng):
    values = integers(rng, 8 * 64)
    parts, count, out = np.zeros(8, np.uint32), np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    memory.launch("last_workgroup", [8], [64], [values, parts, count, out])
    assert out[0] == values.sum(dtype=np.uint32)
    assert count[0] == 8


def test_packed_atomics_add_both_halves(memory):
    brain = np.zeros((4, 2), np.uint16)
    half = np.ones((8, 2), np.float16)
    memory.launch("packed_atomics", [1], [64], [brain, half])
    as_float = (brain.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(as_float, [[16, 32]] * 4)
    np.testing.assert_array_equal(half, [[1 + 4, 1 - 8]] * 8)
