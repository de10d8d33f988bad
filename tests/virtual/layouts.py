"""Where matrix instructions keep operands (CDNA3 ISA guide, "Matrix Arithmetic Instructions").

Lane l holds row `l % M` of A (column of B alike). The lanes with the same row are groups; each
holds consecutive k of one block. Multi-block instructions multiply several pairs of matrices. Of
8-bit operands of the f8f6f4 instructions, a lane holds 16 consecutive k, and 16 of the upper half
of k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LANES = np.arange(64)


@dataclass(frozen=True)
class Shape:
    size: int  # rows of A, columns of B
    k: int
    blocks: int = 1

    @property
    def per_lane(self) -> int:
        """Elements of A that a lane holds."""
        return self.blocks * self.size * self.k // 64

    def operand(self, matrices: np.ndarray, *, in_chunks: bool = False) -> np.ndarray:
        """From [block][row][k] to [lane][element]; `in_chunks` for 8 bits of f8f6f4."""
        groups = self.k // self.per_lane  # of one block
        group = LANES // self.size
        element = np.arange(self.per_lane)
        k = (group % groups)[:, None] * self.per_lane + element
        if in_chunks:
            k = element // 16 * (self.k // 2) + group[:, None] * 16 + element % 16
        return np.ascontiguousarray(
            matrices[(group // groups)[:, None], (LANES % self.size)[:, None], k]
        )

    def accumulator(self, registers: np.ndarray) -> np.ndarray:
        """From [lane][register] to [block][row][column]."""
        out = np.zeros((self.blocks, self.size, self.size), registers.dtype)
        lane, register = np.indices(registers.shape)
        block, row, column = self._places(lane, register, registers.dtype == np.float64)
        out[block, row, column] = registers
        return out

    def registers(self, matrices: np.ndarray) -> np.ndarray:
        """The inverse of `accumulator`."""
        count = self.blocks * self.size * self.size // 64
        lane, register = np.indices((64, count))
        return np.ascontiguousarray(
            matrices[self._places(lane, register, matrices.dtype == np.float64)]
        )

    def _places(self, lane, register, double):
        if self.size == 32:
            within = register % 16
            return register // 16, 8 * (within // 4) + 4 * (lane // 32) + within % 4, lane % 32
        if self.size == 16 and double:
            return 0 * lane, 4 * register + lane // 16, lane % 16
        if self.size == 16:
            return register // 4, 4 * (lane // 16) + register % 4, lane % 16
        return lane // 4, register, lane % 4
