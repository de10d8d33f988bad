"""kernels/arithmetic.hip: what each operation gives, by NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from formats import FP4, bf8, bf16_bits, fp8, nearest

only_gfx950 = pytest.mark.parametrize("target", ["gfx950"])


@pytest.fixture
def arithmetic(kernels):
    return kernels("arithmetic")


def run(module, kernel, inputs, shape, dtype):
    out = np.zeros(shape, dtype)
    module.launch(kernel, [1], [inputs[0].shape[0] if inputs[0].ndim else 64], [*inputs, out])
    return out


def columns(got, expected, rtol=0.0):
    """Compares one column after another, so that a failure names the operation."""
    got = got.reshape(len(got), len(expected), -1)
    for i, wanted in enumerate(expected):
        wanted = np.asarray(wanted).reshape(len(got), -1)
        np.testing.assert_allclose(got[:, i], wanted, rtol=rtol, atol=0, err_msg=f"column {i}")


def specials(values):
    """Replaces some by what is hard."""
    values[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3e-42, 3.4e38]
    return values


def test_floats(arithmetic, rng):
    a, b, c = (rng.standard_normal((3, 64)) * 4).astype(np.float32)
    specials(a)
    a[8:12] = [2.5, -2.5, 0.5, -0.49999997]
    b[20:24] = [0.0, 1e-41, np.inf, 2.0]
    got = run(arithmetic, "floats", [a, b, c], (64, 16), np.float32)
    wide = a.astype(np.float64), b.astype(np.float64), c.astype(np.float64)
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(a)
        exponent = np.where(np.isfinite(a), exponent, 0)
        middle = np.sort(np.stack([a, b, c]), 0)[1]
        smaller = np.where(np.isnan(a), np.fmin(b, c), middle)  # of a NaN and two others: v_min3
        expected = [
            a + b, a - b, a * b, (wide[0] * wide[1] + wide[2]).astype(np.float32), a / b,
            np.fmin(a, b), np.fmax(a, b), smaller, np.floor(a), np.ceil(a), np.trunc(a),
            np.rint(a), np.ldexp(a, c.astype(np.int32)), mantissa, exponent,
            np.where(np.abs(a) < b, -a, np.copysign(c, a)),
        ]  # fmt: skip
    columns(got, expected)


def test_transcendental(arithmetic, rng):
    x = (rng.standard_normal(64) * 5).astype(np.float32)
    x[:6] = [0.0, 1.0, np.inf, -np.inf, np.nan, 4.0]
    got = run(arithmetic, "transcendental", [x], (64, 7), np.float32)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = [np.exp2(wide), np.log2(np.abs(wide)), 1 / wide, 1 / np.sqrt(np.abs(wide)),
                    np.sqrt(np.abs(wide))]  # fmt: skip
        columns(got[:, :5], expected, rtol=2.0**-22)
        for i, function in enumerate((np.sin, np.cos)):
            expected = function(wide / 8 * 2 * np.pi)
            np.testing.assert_allclose(got[:, 5 + i], expected, atol=2e-6)


def test_packed(arithmetic, rng):
    x, y = (rng.standard_normal((2, 64, 2)) * 4).astype(np.float32)
    got = run(arithmetic, "packed", [x, y], (64, 3, 2), np.float32)
    wide = x.astype(np.float64)
    columns(got, [x + y, x * y, (wide * y - wide).astype(np.float32)])


def test_halves(arithmetic, rng):
    x, y = (rng.standard_normal((2, 64, 2)) * 4).astype(np.float16)
    x[:4, 0] = [65504, 6e-8, 1e-5, -6e-8]
    got = run(arithmetic, "halves", [x, y], (64, 6, 2), np.float16)
    with np.errstate(all="ignore"):
        fused = (x.astype(np.float64) * y + y).astype(np.float16)
        swapped = np.stack([x[:, 1], -y[:, 0]], 1)
        columns(got, [x + y, x * y, fused, np.maximum(x, y), np.minimum(x, y), swapped])


def test_shorts(arithmetic, rng):
    x, y = rng.integers(-(2**15), 2**15, (2, 64, 2), np.int16)
    got = run(arithmetic, "shorts", [x, y], (64, 6, 2), np.int16)
    columns(got, [x + y, x - y, x * y, np.maximum(x, y), np.minimum(x, y), x >> np.int16([3, 1])])


def test_doubles(arithmetic, rng):
    x, y = rng.standard_normal((2, 64)) * 4
    x[:3] = [0.0, np.inf, 1e-310]
    got = run(arithmetic, "doubles", [x, y], (64, 7), np.float64)
    wide = x.astype(np.longdouble)
    with np.errstate(all="ignore"):
        fused = (wide * y - wide).astype(np.float64)
        exact = [x + y, x * y]
        columns(got[:, :2], exact)
        # An 80-bit product rounds twice; division and root are expansions of the compiler.
        columns(got[:, 2:], [fused, x / y, np.sqrt(np.abs(x)), np.fmax(x, y), np.floor(x)],
                rtol=2.0**-52)  # fmt: skip


def python_words(x: int, y: int) -> list[int]:
    sx, sy = (x ^ 2**31) - 2**31, (y ^ 2**31) - 2**31
    signed_divisor = ((y | 1) ^ 2**31) - 2**31
    remainder = abs(sx) % abs(signed_divisor)
    both = x << 32 | y
    picked = [both >> 8 * 2 & 255, both >> 8 & 255, both >> 8 * 5 & 255, 0]
    sad = sum(abs((x >> 8 * i & 255) - (y >> 8 * i & 255)) for i in range(4))
    field = x >> 7 & 511
    return [
        x * y, x * y >> 32, sx * sy >> 32, x << (y & 31), x >> (y & 31), sx >> (y & 31),
        x >> 5 & 2047, field - 512 if field & 256 else field, (x & y) | (~x & 0x12345678),
        both >> 13, sum(b << 8 * i for i, b in enumerate(picked)), x.bit_count(),
        32 - x.bit_length() if x else 99, (x & -x).bit_length() - 1 if x else 99,
        int(f"{x:032b}"[::-1], 2), sad + 17, min(sx, sy), x // (y | 1),
        remainder if sx >= 0 else -remainder, (x & 0xFFFFFF) * (y & 0xFFFFFF) + 3,
    ]  # fmt: skip


def test_words(arithmetic, rng):
    x, y = rng.integers(0, 2**32, (2, 64), np.uint32)
    x[:4] = [0, 1, 2**31, 2**32 - 1]
    y[10:20] = rng.integers(0, 1000, 10)
    got = run(arithmetic, "words", [x, y], (64, 20), np.uint32)
    expected = [
        [v % 2**32 for v in python_words(int(p), int(q))] for p, q in zip(x, y, strict=True)
    ]
    columns(got, np.array(expected, np.uint32).T)


def test_longs(arithmetic, rng):
    x, y = rng.integers(-(2**62), 2**62, (2, 64))
    y[10:20] = rng.integers(-1000, 1000, 10)
    got = run(arithmetic, "longs", [x, y], (64, 8), np.int64)
    divisor = y | 1
    quotient = np.abs(x) // np.abs(divisor) * np.sign(x) * np.sign(divisor)
    with np.errstate(over="ignore"):
        expected = [x + y, x - y, x * y, x << (y & 63), x >> (y & 63),
                    (x.view(np.uint64) >> (y & 63).view(np.uint64)).view(np.int64), quotient,
                    np.minimum(x, y)]  # fmt: skip
    columns(got, expected)


def test_conversions(arithmetic, rng):
    x = (rng.standard_normal(64) * 3).astype(np.float32)
    x[:3] = [0.0, 1e-5, -6e-8]
    got = run(arithmetic, "conversions", [x], (64, 10), np.int32)
    size = np.abs(x)
    as_bits = lambda values: values.astype(np.float32).view(np.int32)  # noqa: E731
    byte = np.clip(np.rint(size * np.float32(16)), 0, 255).astype(np.uint32)
    expected = [
        np.trunc(x * np.float32(100)).astype(np.int32),
        np.trunc(size * np.float32(1000)).astype(np.uint32).view(np.int32),
        as_bits(np.trunc(x * np.float32(1e7)).astype(np.int32)),
        as_bits(np.trunc(size * np.float32(1e8)).astype(np.uint32)),
        x.astype(np.float16).view(np.uint16).astype(np.int32),
        bf16_bits(x).astype(np.int32),
        as_bits(x.astype(np.float16)),
        as_bits(x.astype(np.float64) * 3),
        as_bits(np.trunc(x * np.float32(20)).astype(np.int32) & 255),
        (byte << 8 | np.uint32(0xAABB00DD)).view(np.int32),
    ]
    columns(got, expected)


def test_pack_halves_rounds_to_zero(arithmetic, rng):
    x = (rng.standard_normal((64, 2)) * 3).astype(np.float32)
    got = run(arithmetic, "pack_halves", [x], 64, np.uint32).view(np.float16).reshape(64, 2)
    near = x.astype(np.float16)
    away = np.abs(near.astype(np.float32)) > np.abs(x)
    np.testing.assert_array_equal(got, np.where(away, np.nextafter(near, np.float16(0)), near))


def test_dots(arithmetic, rng):
    x, y = rng.integers(0, 2**32, (2, 64), np.uint32)
    real, whole = np.zeros(64, np.float32), np.zeros((64, 3), np.int32)
    arithmetic.launch("dots", [1], [64], [x, y, real, whole])
    mask = np.uint32(0xBFFFBFFF)  # no large exponents
    halves = [(v & mask).view(np.float16).reshape(64, 2).astype(np.float64) for v in (x, y)]
    np.testing.assert_allclose(real, (halves[0] * halves[1]).sum(1) + 0.5, rtol=1e-6, atol=1e-6)
    signed = [v.view(np.int8).reshape(64, 4).astype(np.int64) for v in (x, y)]
    unsigned = [v.view(np.uint8).reshape(64, 4).astype(np.int64) for v in (x, y)]
    nibbles = [((v[:, None] >> np.uint32([4 * i for i in range(8)]) & 15).astype(np.int64) ^ 8) - 8
               for v in (x, y)]  # fmt: skip
    np.testing.assert_array_equal(whole[:, 0], (signed[0] * signed[1]).sum(1) + 5)
    np.testing.assert_array_equal(whole[:, 1], (nibbles[0] * nibbles[1]).sum(1) - 5)
    np.testing.assert_array_equal(whole[:, 2], (unsigned[0] * unsigned[1]).sum(1) + 9)


def test_from_fp8(arithmetic, target):
    every = np.arange(256, dtype=np.uint8)
    got = run(arithmetic, "from_fp8", [every], (3, 256), np.float32)
    np.testing.assert_array_equal(got, [fp8(target), bf8(target), fp8(target)])


def test_to_fp8(arithmetic, rng, target):
    x = (rng.standard_normal((64, 2)) * 16).astype(np.float32)
    x[:2] = [[0.0, 1e-3], [-1e-3, 224.0]]
    got = run(arithmetic, "to_fp8", [x], (64, 2), np.uint32)
    first, second = nearest(x, fp8(target)).astype(np.uint32).T
    np.testing.assert_array_equal(got[:, 0], first | second << 8 | second << 16 | first << 24)
    first, second = nearest(x, bf8(target)).astype(np.uint32).T
    np.testing.assert_array_equal(got[:, 1], first | second << 8 | 0x5A5A0000)


@only_gfx950
def test_to_bf16(arithmetic, rng):
    x = rng.standard_normal((64, 2)).astype(np.float32)
    np.testing.assert_array_equal(run(arithmetic, "to_bf16", [x], (64, 2), np.uint16), bf16_bits(x))


@only_gfx950
def test_bitop3(arithmetic, rng):
    x, y, z = rng.integers(0, 2**32, (3, 64), np.uint32)
    got = run(arithmetic, "bitop3", [x, y, z], (64, 3), np.uint32)
    columns(got, [x ^ y ^ z, (x & y) | (~x & z), (x & y) | (y & z) | (x & z)])


@only_gfx950
def test_from_fp4(arithmetic, rng):
    x = rng.integers(0, 2**32, 64, np.uint32)
    got = run(arithmetic, "from_fp4", [x], (64, 2), np.float32)
    np.testing.assert_array_equal(got, FP4[np.stack([x >> 8 & 15, x >> 12 & 15], 1)] * 4)
