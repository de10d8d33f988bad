"""The same model on a device and on the CPU: where do their tokens part, and by how much?"""

from __future__ import annotations

import math

import torch
import wavefire

from .model import Llama, StepBatch
from .tolerance import TOLERANCE, tie


class Mirror:
    """Stands in for `model`: answers as it does, computes every step on the CPU too, with the same
    tokens and pages, and keeps the differences of the logits. Where the likeliest tokens are not
    the same it tells ties from faults.
    """

    def __init__(self, model: Llama, on_cpu: Llama) -> None:
        self.model, self.on_cpu = model, on_cpu
        self.config = model.config
        self.chosen = wavefire.current_device().id
        self.tolerance, self.tie = TOLERANCE[model.dtype], tie(model.dtype)
        self.steps = self.rows = self.other_tokens = 0
        self.largest = self.widest = 0.0
        self.first_other = ""

    def copy_page(self, source: int, target: int, tokens: int) -> None:
        self.model.copy_page(source, target, tokens)
        self.on_cpu.copy_page(source, target, tokens)

    def forward(self, batch: StepBatch, logit_rows: torch.Tensor) -> torch.Tensor:
        logits = self.model.forward(batch, logit_rows)
        wavefire.use_device("cpu")  # tensors of the host belong to a virtual device otherwise
        try:
            expected = self.on_cpu.forward(batch, logit_rows)
        finally:
            wavefire.use_device(self.chosen)
        self.steps += 1
        self._compare(logits.cpu(), expected, batch.positions[logit_rows].tolist())
        return logits

    def _compare(self, ours: torch.Tensor, cpu: torch.Tensor, positions: list[int]) -> None:
        self.rows += len(ours)
        for difference in (ours - cpu).abs().amax(-1).tolist():
            if not (difference <= self.largest or math.isnan(self.largest)):
                self.largest = difference
        for a, b, position in zip(ours, cpu, positions, strict=True):
            token, other = int(a.argmax()), int(b.argmax())
            if token == other:
                continue
            self.other_tokens += 1
            self.widest = max(self.widest, float(b[other] - b[token]))
            self.first_other = self.first_other or (
                f"; first in step {self.steps} behind position {position}: token {token} of logit "
                f"{a[token]:.4f} instead of {other} of {a[other]:.4f}, on the CPU "
                f"{b[token]:.4f} and {b[other]:.4f}"
            )

    @property
    def passed(self) -> bool:
        return self.rows > 0 and self.largest <= self.tolerance and self.widest <= self.tie

    def summary(self) -> dict[str, float]:
        return {
            "mirror_largest": self.largest,
            "mirror_other_tokens": self.other_tokens,
            "mirror_widest": self.widest,
        }

    def report(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        return (
            f"mirror: {self.rows} rows of logits beside the CPU's, largest difference "
            f"{self.largest:.2e}, tolerance {self.tolerance:.0e}; {self.other_tokens} with another "
            f"likeliest token, at most {self.widest:.2e} below the CPU's there, "
            f"a tie to {self.tie:.1e}: {verdict}{self.first_other}"
        )
