"""kernels/control.hip: branches, loops, calls, barriers, sizes of grids."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def control(kernels, order):
    return kernels("control")


def wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def launch_with(control, kernel, values):
    out = np.full(64, 12345, np.int32)
    control.launch(kernel, [1], [64], [values, out])
    return out


def test_diverging_loop(control, rng):
    values = rng.integers(-5, 150, 64, np.int32)
    expected = []
    for start in values:
        value, total = int(start), 0
        while value > 0:
            if value % 3 == 0:
                total += value
            else:
                total -= 2
                if total < -40:
                    break
            value -= 1 + (value & 1)
        expected.append(total)
    np.testing.assert_array_equal(launch_with(control, "diverging_loop", values), expected)


def test_nested_loops(control, rng):
    values = rng.integers(0, 100, 64, np.int32)
    expected = [
        sum(
            i * 10 + j + 1
            for i in range(values[lane] % 5)
            for j in range(i, values[lane ^ 1] % 4)
            if (i + j) % 2 == 0
        )
        for lane in range(64)
    ]
    np.testing.assert_array_equal(launch_with(control, "nested", values), expected)


def test_switches(control, rng):
    values = rng.integers(0, 1000, 64, np.int32)
    cases = [values * 3, (values ^ 0x55) - 7, values - 7, -values, 99, values << 2]
    expected = np.select([values % 6 == i for i in range(6)], cases)
    np.testing.assert_array_equal(launch_with(control, "switches", values), expected)


def mix(x: int, y: int) -> int:
    return wrapped(x * y + (x >> 3) - (y << 1))


def test_calls(control, rng):
    values = rng.integers(0, 1000, 64, np.int32)
    expected = []
    for value in values.tolist():
        total = 1
        for i in range(value % 7):
            total = mix(value + i, total)
        expected.append(total)
    np.testing.assert_array_equal(launch_with(control, "calls", values), expected)


def test_recursion(control, rng):
    values = rng.integers(0, 1000, 64, np.int32)
    numbers = np.array([0, 1, 1, 2, 3, 5, 8, 13, 21])
    np.testing.assert_array_equal(launch_with(control, "recursion", values), numbers[values % 9])


def test_function_pointers(control, rng):
    values = rng.integers(0, 1000, 64, np.int32)
    expected = [mix(v, 11) if v % 2 else max(v, 11) for v in values.tolist()]
    np.testing.assert_array_equal(launch_with(control, "function_pointers", values), expected)


@pytest.mark.parametrize("rounds", [0, 1, 8])
def test_barriers(control, rng, rounds):
    values = rng.integers(-1000, 1000, 256, np.int32)
    out = np.zeros(256, np.int32)
    control.launch("barriers", [1], [256], [values, out, rounds])
    np.testing.assert_array_equal(out, values[(np.arange(256) + 37 * rounds) % 256] + rounds)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 100, 128])
def test_early_exit(control, rng, count):
    values = rng.integers(-1000, 1000, 128, np.int32)
    out = np.full(128, 7, np.int32)
    control.launch("early_exit", [1], [128], [values, out, count])
    np.testing.assert_array_equal(out, np.where(np.arange(128) < count, values * 2, 7))


@pytest.mark.parametrize(
    ("grid", "block"),
    [((3,), (64,)), ((2, 3), (8, 4)), ((2, 2, 2), (4, 4, 5)), ((1, 1, 3), (1, 2, 3)), ((2,), (7,))],
)
def test_places(control, grid, block):
    size = np.array([*grid, 1, 1][:3]) * np.array([*block, 1, 1][:3])
    out = np.zeros(size[::-1], np.uint32)
    control.launch("places", grid, block, [out])
    z, y, x = np.indices(out.shape)
    np.testing.assert_array_equal(out, x + 100 * y + 10000 * z)


@pytest.mark.parametrize("threads", [64, 100, 256, 1024])
def test_dynamic_lds(control, threads):
    out = np.zeros((2, threads), np.uint32)
    control.launch("dynamic_lds", [2], [threads], [out], dynamic_lds=threads * 4)
    np.testing.assert_array_equal(out, np.tile(np.arange(threads)[::-1] * 3, (2, 1)))


def test_clocks(control):
    out = np.zeros(2, np.uint64)
    control.launch("clocks", [1], [64], [out])
    np.testing.assert_array_equal(out, 1)
