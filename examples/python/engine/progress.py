"""Progress of a long step: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time

from tqdm import tqdm


class Progress:
    """Counts up to `total`. Where standard error is no terminal a bar would fill the log with
    itself, so there it is a line every ten seconds, and one at the end.
    """

    interval = 10.0  # seconds between lines

    def __init__(self, what: str, total: int, unit: str, *, hidden: bool = False) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.count, self.begin = 0, time.perf_counter()
        self.due = self.begin + self.interval
        self.bar: tqdm | None = None
        self.lines = not hidden and not sys.stderr.isatty()
        if not hidden and not self.lines:
            self.bar = tqdm(total=total, desc=what, unit=unit)

    def update(self, count: int = 1) -> None:
        self.count += count
        if self.bar is not None:
            self.bar.update(count)
        elif self.lines and time.perf_counter() >= self.due:
            self._line()
            self.due += self.interval

    def _line(self) -> None:
        seconds = time.perf_counter() - self.begin
        print(
            f"{self.what}: {self.count} of at most {self.total} {self.unit}s after {seconds:.1f} s",
            file=sys.stderr,
            flush=True,
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.lines:
            self._line()

    @staticmethod
    def write(text: str) -> None:
        """A line of output that does not break the bar."""
        tqdm.write(text)
