"""Comparisons that tests of several families share."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
ULP = {torch.float32: 3e-6, torch.float16: 1.1e-3, torch.bfloat16: 8.5e-3}


def close(ours: torch.Tensor, theirs: Any, dtype: torch.dtype, terms: Any = None) -> None:
    """Relative to each value, or to 3 % of the largest one where sums and tails cancel. Or relative
    to `terms`: what a sum of two would be if they had one sign.
    """
    theirs = np.asarray(theirs, np.float64)
    error = np.abs(ours.double().numpy() - theirs)
    size = np.abs(theirs if terms is None else np.asarray(terms, np.float64))
    magnitude = np.maximum(size, 0.03 * size.max(initial=0))
    worst = (error / np.maximum(magnitude, 1e-30)).max(initial=0)
    assert worst <= ULP[dtype], worst


ATTENTION = {torch.float32: 6e-5, torch.float16: 6e-4, torch.bfloat16: 8e-3}


def attention_close(ours: torch.Tensor, theirs: np.ndarray, dtype: torch.dtype) -> None:
    """Relative to the largest value: outputs are means, whose terms cancel."""
    error = np.abs(ours.double().numpy() - theirs).max(initial=0)
    assert error <= ATTENTION[dtype] * max(1.0, np.abs(theirs).max(initial=0)), error


def lse_close(ours: torch.Tensor, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=4e-5, atol=4e-5)


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)
