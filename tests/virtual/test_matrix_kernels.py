"""kernels/matrix.hip: every shape and type against a product in float64."""

from __future__ import annotations

import numpy as np
import pytest
from formats import FP4, bf8, bf16_bits, fp8, from_bf16, small_float
from layouts import Shape

FP6 = small_float(2, 3, 1)
BF6 = small_float(3, 2, 3)


def small_fp8(target, table):
    """Bits of a format's values of moderate size."""
    values = table(target)
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(np.abs(values) <= 8).astype(np.uint8)


def make_float(dtype):
    return lambda rng, shape, _: rng.standard_normal(shape).astype(dtype)


def make_bits(table):
    return lambda rng, shape, target: rng.choice(small_fp8(target, table), shape)


# How to make operands, and what they mean.
F16 = (make_float(np.float16), lambda x, _: x.astype(np.float64))
F32 = (make_float(np.float32), lambda x, _: x.astype(np.float64))
F64 = (make_float(np.float64), lambda x, _: x)
BF16 = (lambda rng, shape, _: bf16_bits(rng.standard_normal(shape)), lambda x, _: from_bf16(x))
I8 = (lambda rng, shape, _: rng.integers(-128, 128, shape, np.int8), lambda x, _: x.astype(int))
FP8 = (make_bits(fp8), lambda x, target: fp8(target)[x])
BF8 = (make_bits(bf8), lambda x, target: bf8(target)[x])
# Of f32, xf32 takes the upper 19 bits.
XF32 = (
    lambda rng, shape, _: (
        rng.standard_normal(shape).astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    ).view(np.float32),
    lambda x, _: x.astype(np.float64),
)

BOTH = {
    "f32_32x32x8f16": (Shape(32, 8), F16, F16),
    "f32_16x16x16f16": (Shape(16, 16), F16, F16),
    "f32_32x32x4f16": (Shape(32, 4, 2), F16, F16),
    "f32_16x16x4f16": (Shape(16, 4, 4), F16, F16),
    "f32_4x4x4f16": (Shape(4, 4, 16), F16, F16),
    "f32_32x32x8bf16_1k": (Shape(32, 8), BF16, BF16),
    "f32_16x16x16bf16_1k": (Shape(16, 16), BF16, BF16),
    "f32_32x32x4bf16_1k": (Shape(32, 4, 2), BF16, BF16),
    "f32_16x16x4bf16_1k": (Shape(16, 4, 4), BF16, BF16),
    "f32_4x4x4bf16_1k": (Shape(4, 4, 16), BF16, BF16),
    "f32_32x32x2f32": (Shape(32, 2), F32, F32),
    "f32_16x16x4f32": (Shape(16, 4), F32, F32),
    "f32_32x32x1f32": (Shape(32, 1, 2), F32, F32),
    "f32_16x16x1f32": (Shape(16, 1, 4), F32, F32),
    "f32_4x4x1f32": (Shape(4, 1, 16), F32, F32),
    "i32_32x32x16_i8": (Shape(32, 16), I8, I8),
    "i32_16x16x32_i8": (Shape(16, 32), I8, I8),
    "f32_16x16x32_fp8_fp8": (Shape(16, 32), FP8, FP8),
    "f32_16x16x32_fp8_bf8": (Shape(16, 32), FP8, BF8),
    "f32_16x16x32_bf8_fp8": (Shape(16, 32), BF8, FP8),
    "f32_16x16x32_bf8_bf8": (Shape(16, 32), BF8, BF8),
    "f32_32x32x16_fp8_fp8": (Shape(32, 16), FP8, FP8),
    "f32_32x32x16_bf8_bf8": (Shape(32, 16), BF8, BF8),
    "f64_16x16x4f64": (Shape(16, 4), F64, F64),
}
GFX942 = {
    "f32_16x16x8_xf32": (Shape(16, 8), XF32, XF32),
    "f32_32x32x4_xf32": (Shape(32, 4), XF32, XF32),
}
GFX950 = {
    "f32_16x16x32_f16": (Shape(16, 32), F16, F16),
    "f32_32x32x16_f16": (Shape(32, 16), F16, F16),
    "f32_16x16x32_bf16": (Shape(16, 32), BF16, BF16),
    "f32_32x32x16_bf16": (Shape(32, 16), BF16, BF16),
    "i32_16x16x64_i8": (Shape(16, 64), I8, I8),
    "i32_32x32x32_i8": (Shape(32, 32), I8, I8),
}
CASES = [(target, name, case) for target, extra in (("gfx942", GFX942), ("gfx950", GFX950))
         for name, case in {**BOTH, **extra}.items()]  # fmt: skip


def close(got, expected, magnitude, terms):
    """Within what rounding each step of a sum of `terms` to f32 can do."""
    if got.dtype == np.int32:
        np.testing.assert_array_equal(got, expected)
        return
    unit = 2.0**-53 if got.dtype == np.float64 else 2.0**-24
    assert (np.abs(got - expected) <= (terms + 1) * 2 * unit * magnitude).all()


@pytest.mark.parametrize(("target", "name", "case"), CASES, ids=[f"{t}-{n}" for t, n, _ in CASES])
def test_shape(kernels, rng, target, name, case):
    shape, (make_a, value_a), (make_b, value_b) = case
    dtype = {"f32": np.float32, "i32": np.int32, "f64": np.float64}[name[:3]]
    a, b = (make(rng, (shape.blocks, shape.size, shape.k), target) for make in (make_a, make_b))
    c = (rng.standard_normal((shape.blocks, shape.size, shape.size)) * 10).astype(dtype)
    d = np.zeros_like(shape.registers(c))
    kernels("matrix").launch(
        name, [1], [64], [shape.operand(a), shape.operand(b), shape.registers(c), d]
    )
    left, right = value_a(a, target), value_b(b, target).swapaxes(1, 2)
    close(shape.accumulator(d), left @ right + c, np.abs(left) @ np.abs(right) + np.abs(c), shape.k)


def packed(words: np.ndarray, bits: int) -> np.ndarray:
    """From [lane][element] of small integers to eight words a lane, as the registers hold them."""
    lanes = np.zeros((64, 8), np.uint32)
    for lane in range(64):
        number = sum(int(w) << bits * i for i, w in enumerate(words[lane]))
        for i in range(8):
            lanes[lane, i] = number >> 32 * i & 0xFFFFFFFF
    return lanes


SMALL = {"fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}


def table_of(name, target):
    return {"fp8": fp8(target), "bf8": bf8(target), "fp6": FP6, "bf6": BF6, "fp4": FP4}[name]


@pytest.mark.parametrize("target", ["gfx950"])
@pytest.mark.parametrize(
    ("name", "shape", "left", "right"),
    [
        ("scaled_16x16x128_fp8", Shape(16, 128), "fp8", "fp8"),
        ("scaled_16x16x128_bf8_fp4", Shape(16, 128), "bf8", "fp4"),
        ("scaled_16x16x128_fp6", Shape(16, 128), "fp6", "fp6"),
        ("scaled_16x16x128_bf6", Shape(16, 128), "bf6", "bf6"),
        ("scaled_16x16x128_fp4", Shape(16, 128), "fp4", "fp4"),
        ("scaled_32x32x64_fp8", Shape(32, 64), "fp8", "fp8"),
        ("scaled_32x32x64_fp4", Shape(32, 64), "fp4", "fp4"),
    ],
)
def test_scaled(kernels, rng, target, name, shape, left, right):
    operands, words, scales = [], [], []
    for format_name in (left, right):
        table = table_of(format_name, target)
        bits = rng.choice(np.flatnonzero(np.abs(table) <= 8), (1, shape.size, shape.k))
        exponents = rng.integers(-4, 5, (shape.size, shape.k // 32))  # one for 32 consecutive k
        operands.append(table[bits][0] * 2.0 ** exponents.repeat(32, 1))
        size = SMALL[format_name]
        words.append(packed(shape.operand(bits, in_chunks=size == 8), size))
        lane = np.arange(64)
        scales.append((127 + exponents[lane % shape.size, lane // shape.size]).astype(np.uint32))
    c = rng.standard_normal((1, shape.size, shape.size)).astype(np.float32)
    d = np.zeros_like(shape.registers(c))
    kernels("matrix").launch(name, [1], [64], [*words, shape.registers(c), d, *scales])
    a, b = operands
    expected = a @ b.T + c[0]
    close(shape.accumulator(d)[0], expected, np.abs(a) @ np.abs(b).T + np.abs(c[0]), shape.k)


@pytest.mark.parametrize("count", [1, 5])
def test_chained(kernels, rng, count):
    shape = Shape(32, 8)
    a, b = rng.standard_normal((2, count, 1, 32, 8)).astype(np.float16)
    d = np.zeros((64, 16), np.float32)
    operands = [np.stack([shape.operand(m) for m in x]) for x in (a, b)]
    kernels("matrix").launch("chained", [1], [64], [*operands, d, count])
    left, right = (x.astype(np.float64) for x in (a[:, 0], b[:, 0]))
    expected = (left @ right.swapaxes(1, 2)).sum(0) / 2
    magnitude = (np.abs(left) @ np.abs(right).swapaxes(1, 2)).sum(0)
    close(shape.accumulator(d)[0], expected, magnitude, 8 * count)


def test_in_agprs(kernels, rng):
    shape = Shape(32, 8)
    a, b = bf16_bits(rng.standard_normal((2, 1, 32, 8)))
    d = np.zeros((64, 16), np.float32)
    kernels("matrix").launch("in_agprs", [1], [64], [shape.operand(a), shape.operand(b), d])
    left, right = from_bf16(a)[0], from_bf16(b)[0]
    close(shape.accumulator(d)[0], left @ right.T, np.abs(left) @ np.abs(right).T, 8)


def test_agpr_moves(kernels, rng):
    values = rng.standard_normal((64, 4)).astype(np.float32)
    out = np.zeros_like(values)
    kernels("matrix").launch("agpr_moves", [1], [64], [values, out])
    np.testing.assert_array_equal(out, values[::-1])
