"""How far logits may lie from others of the same model and weights."""

from __future__ import annotations

import torch

# From transformers in float32, with the same weights. Logits of SmolLM2 lie within about +-30, and
# float32 keeps seven digits in each of some 30 layers. bfloat16 keeps two and a half: over 92 rows
# the root mean square of its error was 0.13 in transformers' own bfloat16 and 0.11 in ours. The
# largest error of a single logit, of six million, was 1.27.
TOLERANCE = {torch.float32: 5e-3, torch.bfloat16: 2.0}


def tie(dtype: torch.dtype) -> float:
    """Two logits this close may change places by rounding alone: what two computations make of
    their distance differs by 0.24 in bfloat16 (root mean square of four errors of 0.12), and this
    is four times that. Another choice between logits further apart is a fault.
    """
    return TOLERANCE[dtype] / 2
