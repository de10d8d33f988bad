"""Timing: works in turn, ceilings of the machine, results that were checked before."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

Work = Callable[[], object]


@dataclass
class Result:
    """Times in seconds; `floor` is what the machine's ceiling allows at best."""

    group: str
    case: str
    ours: float
    peer: float | None
    peer_name: str
    floor: float | None
    unit: str  # of `rate`
    rate: float
    ceiling: float | None
    spread: float

    @property
    def ratio(self) -> float | None:
        return None if self.peer is None else self.peer / self.ours


def seconds(work: Work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class Bench:
    def __init__(self, quick: bool, timer: Callable[[Work], float] = seconds) -> None:
        self.repeats = 5 if quick else 11
        self.quick = quick
        self.timer = timer
        self.results: list[Result] = []
        self.read_bandwidth, self.copy_bandwidth, self.multiply_rate = self._ceilings()

    def _ceilings(self) -> tuple[float, float, float]:
        """Bytes a second read and copied; operations a second of PyTorch's faster matrix product,
        float32 or bfloat16."""
        x = torch.ones(64 * 1024 * 1024)
        y = torch.empty_like(x)
        a = torch.randn(2048, 2048)
        b = a.bfloat16()
        read, copy, single, half = self.alternate(
            [x.sum, lambda: y.copy_(x), lambda: a @ a, lambda: b @ b]
        )
        product = 2 * 2048**3 / min(*single, *half)
        return 4 * x.numel() / min(read), 8 * x.numel() / min(copy), product

    def alternate(self, works: list[Work]) -> list[list[float]]:
        """The times of each work, which take turns, warm."""
        for work in works:
            self.timer(work)
        times: list[list[float]] = [[] for _ in works]
        for _ in range(self.repeats):
            for work, taken in zip(works, times, strict=True):
                taken.append(self.timer(work))
        return times

    def add(
        self,
        group: str,
        case: str,
        ours: Work,
        peer: Work | None,
        peer_name: str,
        check: Callable[[], bool],
        amount: float,
        unit: str,
        ceiling: float | None,
        beside: tuple[Work, float] | None = None,
    ) -> None:
        """`amount` operations or bytes; `check` must hold before anything is timed. `beside`: work
        and its amount that take turns with ours, and whose rate is the ceiling: that of the moment,
        on a machine that has other things to do.
        """
        if not check():
            raise SystemExit(f"{group} {case}: the result is wrong; nothing is measured")
        works = [ours, *([] if peer is None else [peer]), *([] if beside is None else [beside[0]])]
        times = self.alternate(works)
        mine = statistics.median(times[0])
        other = None if peer is None else statistics.median(times[1])
        if beside is not None:
            ceiling = beside[1] / statistics.median(times[-1])
        spread = (max(times[0]) - min(times[0])) / mine
        floor = None if ceiling is None else amount / ceiling
        self.results.append(
            Result(group, case, mine, other, peer_name, floor, unit, amount / mine, ceiling, spread)
        )
        self.show(self.results[-1])

    @staticmethod
    def show(r: Result) -> None:
        share = "" if r.ceiling is None else f"  {100 * r.rate / r.ceiling:5.1f} % of ceiling"
        peer = "" if r.ratio is None else f"  {r.ratio:6.2f} x {r.peer_name}"
        print(
            f"{r.group:10s} {r.case:46s} {1e3 * r.ours:9.3f} ms  "
            f"{r.rate / 1e9:8.1f} G{r.unit}{share}{peer}",
            flush=True,  # progress, also in a log
        )


def close(ours: torch.Tensor, theirs: torch.Tensor, tolerance: float) -> bool:
    return float((ours.float() - theirs.float()).abs().max()) <= tolerance * float(
        theirs.float().abs().max()
    )
