"""Number formats that NumPy lacks, as float64."""

from __future__ import annotations

import numpy as np


def bf16_bits(values: np.ndarray) -> np.ndarray:
    """Rounds to nearest, ties to even; finite values only."""
    words = values.astype(np.float32).view(np.uint32)
    return ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(words: np.ndarray) -> np.ndarray:
    return (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def small_float(exponent: int, mantissa: int, bias: int, *, special: str = "none") -> np.ndarray:
    """All values of a format of 1 + exponent + mantissa bits, by their bits.

    `special`: "fnuz" (the negative zero is NaN), "fn" (all ones is NaN), "ieee" (infinities and
    NaNs), "none".
    """
    bits = np.arange(2 ** (1 + exponent + mantissa))
    sign = np.where(bits >> (exponent + mantissa), -1.0, 1.0)
    e = bits >> mantissa & (2**exponent - 1)
    m = (bits & (2**mantissa - 1)) / 2**mantissa
    values = sign * np.where(e == 0, m * 2.0 ** (1 - bias), (1 + m) * 2.0 ** (e - bias))
    top = e == 2**exponent - 1
    if special == "fnuz":
        values[2 ** (exponent + mantissa)] = np.nan
    elif special == "fn":
        values[top & (m == 1 - 2.0**-mantissa)] = np.nan
    elif special == "ieee":
        values[top] = np.where(m == 0, sign * np.inf, np.nan)[top]
    return values


FP4 = small_float(2, 1, 1)


def fp8(target: str) -> np.ndarray:
    if target == "gfx942":
        return small_float(4, 3, 8, special="fnuz")
    return small_float(4, 3, 7, special="fn")


def bf8(target: str) -> np.ndarray:
    if target == "gfx942":
        return small_float(5, 2, 16, special="fnuz")
    return small_float(5, 2, 15, special="ieee")


def nearest(values: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The bits of the nearest value of a format, ties to even bits, for values in its range."""
    finite = np.flatnonzero(np.isfinite(table))
    distance = np.abs(values[..., None] - table[finite])
    ties = distance == distance.min(-1, keepdims=True)
    # -0 is as near as 0, and of two neighbours the one with an even mantissa wins.
    preference = (finite & 1) + 2.0 * (np.signbit(table[finite]) != np.signbit(values[..., None]))
    return finite[np.argmin(np.where(ties, preference, np.inf), -1)]
