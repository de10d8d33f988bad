"""kernels/lanes.hip: DPP, reads of one lane, ballots, permutations, swaps."""

from __future__ import annotations

import numpy as np
import pytest

LANES = np.arange(64)
ROW = LANES & ~15
IN_ROW = LANES & 15


@pytest.fixture
def lanes(kernels, order):
    return kernels("lanes")


@pytest.fixture
def values(rng):
    return rng.integers(-1000, 1000, 64, np.int32)


def moved(values, source, valid=True, written=True, keep=None):
    """What each lane gets: its source's value, zero or the old value without one."""
    old = 1000 + LANES
    valid = np.broadcast_to(valid, 64)
    written = np.broadcast_to(written, 64)
    missing = old if keep is None else np.full(64, keep)
    return np.where(written, np.where(valid, values[source % 64], missing), old)


def test_dpp_moves(lanes, values):
    quad = LANES & ~3
    half = LANES & ~7
    right = IN_ROW >= 5
    rows = LANES // 16
    expected = [
        moved(values, quad + 3 - LANES % 4),
        moved(values, quad + (LANES % 4 ^ 2)),
        moved(values, LANES + 3, IN_ROW + 3 < 16),
        moved(values, LANES - 5, right),
        moved(values, ROW + (IN_ROW - 4) % 16),
        moved(values, ROW + 15 - IN_ROW),
        moved(values, half + 7 - LANES % 8),
        moved(values, ROW - 1, rows > 0),
        moved(values, 31 + 0 * LANES, rows > 1),
        moved(values, ROW + 7),
        moved(values, LANES + 1, LANES < 63),
        moved(values, LANES - 1, LANES > 0),
        moved(values, LANES + 1),
        moved(values, LANES - 1),
        moved(values, LANES - 5, right, keep=0),
        moved(values, LANES - 5, right, rows % 2 == 0),
        moved(values, LANES - 5, right, IN_ROW // 4 % 2 == 1),
        moved(values, ROW - 1, rows > 0, rows % 2 == 1),
    ]
    out = np.zeros((len(expected), 64), np.int32)
    lanes.launch("dpp_moves", [1], [64], [values, out])
    for row, (got, wanted) in enumerate(zip(out, expected, strict=True)):
        np.testing.assert_array_equal(got, wanted, err_msg=f"row {row}")


def test_dpp_reads_only_active_lanes(lanes, values):
    out = np.zeros(64, np.int32)
    lanes.launch("dpp_divergent", [1], [64], [values, out])
    odd = values % 2 != 0
    source = (LANES & ~3) + 3 - LANES % 4
    np.testing.assert_array_equal(
        out, np.where(odd, np.where(odd[source], values[source], 1000), -1)
    )


def test_dpp_sums(lanes, rng):
    values = rng.integers(-1000, 1000, (3, 64)).astype(np.float32)
    out = np.zeros(3, np.float32)
    lanes.launch("dpp_sum", [3], [64], [values, out])
    np.testing.assert_array_equal(out, values.sum(1))


@pytest.mark.parametrize("which", [0, 17, 63])
def test_one_lane(lanes, values, which):
    out = np.zeros((4, 64), np.int32)
    lanes.launch("one_lane", [1], [64], [values, out, which])
    active = values % 3 == 0
    np.testing.assert_array_equal(out[0], values[which])
    np.testing.assert_array_equal(out[1], np.where(which == LANES, 42, values))
    np.testing.assert_array_equal(out[2], np.where(active, values[np.argmax(active)], -1))
    np.testing.assert_array_equal(out[3], LANES)


def test_ballots(lanes, values):
    values[:3] = values[60:] = -1
    out = np.zeros(4, np.uint64)
    lanes.launch("ballots", [1], [64], [values, out])
    mask = sum(1 << int(lane) for lane in LANES if values[lane] > 0)
    lowest = (mask & -mask).bit_length() - 1
    assert out.tolist() == [mask, mask.bit_count(), lowest, 64 - mask.bit_length()]


def test_permutes(lanes, values, rng):
    where = rng.permutation(64).astype(np.int32)
    out = np.zeros((6, 64), np.int32)
    lanes.launch("permutes", [1], [64], [values, where, out])
    pushed = np.zeros(64, np.int32)
    pushed[where] = values
    half = LANES & ~31
    for got, wanted in zip(
        out,
        [values[where], pushed, values[LANES ^ 16], values[half + (LANES & 16)],
         values[half + (LANES & 30 | 7)], values[LANES ^ 1]],
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(got, wanted)


def test_permutes_read_zero_from_inactive_lanes(lanes, values):
    out = np.zeros(64, np.int32)
    lanes.launch("permute_divergent", [1], [64], [values, out])
    odd = values % 2 != 0
    source = LANES ^ 1
    np.testing.assert_array_equal(out, np.where(odd, np.where(odd[source], values[source], 0), -1))


def test_block_sums(lanes, rng):
    values = rng.integers(-1000, 1000, 4 * 256).astype(np.float32)
    out = np.zeros(4, np.float32)
    lanes.launch("block_sums", [4], [256], [values, out, 1000])
    values[1000:] = 0
    np.testing.assert_array_equal(out, values.reshape(4, 256).sum(1))


@pytest.mark.parametrize("target", ["gfx950"])
def test_swaps(lanes, rng):
    a, b = rng.integers(0, 2**32, (2, 64), np.uint32)
    out = np.zeros((4, 64), np.uint32)
    lanes.launch("swaps", [1], [64], [a, b, out])
    a, b = a.reshape(4, 16), b.reshape(4, 16)
    expected = [
        [a[0], a[1], b[0], b[1]],
        [a[2], a[3], b[2], b[3]],
        [a[0], b[0], a[2], b[2]],
        [a[1], b[1], a[3], b[3]],
    ]
    np.testing.assert_array_equal(out, np.array(expected).reshape(4, 64))
