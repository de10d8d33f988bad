"""Small helpers that clients import."""

from __future__ import annotations

import enum

from ._hints import ArchCapabilityError

__all__ = ["ArchCapabilityError", "MaskMode", "PosEncodingMode", "TensorLayout"]


class PosEncodingMode(enum.Enum):
    NONE = 0
    ROPE_LLAMA = 1
    ALIBI = 2


class MaskMode(enum.Enum):
    NON_CAUSAL = 0
    CAUSAL = 1
    CUSTOM = 2
    MULTIITEMSCORING = 3


class TensorLayout(enum.Enum):
    NHD = 0
    HND = 1
