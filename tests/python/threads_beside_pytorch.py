"""Works beside PyTorch, phase after phase, while test_threads.py counts this process's threads.

Each phase prints its name and has two Python threads at work at the same time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import torch
import wavefire

Work = Callable[[], object]
SECONDS = 0.5

x, weight = torch.randn(4096, 512), torch.ones(512)
a = torch.randn(384, 384)
probs = torch.softmax(torch.randn(64, 32000), -1)
q, kv = torch.randn(256, 4, 64), torch.randn(256, 4, 64)


def pytorch() -> None:
    a @ a
    torch.nn.functional.rms_norm(x, (512,), weight)
    torch.nn.functional.silu(x)


def ours() -> None:
    wavefire.rmsnorm(x, weight)
    wavefire.sampling_from_probs(probs, seed=1)
    wavefire.single_prefill_with_kv_cache(q, kv, kv)


class Worker(threading.Thread):
    """Repeats its work of the moment. It stays: OpenMP gives every new thread a team of its own."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work
        self.rounds = 0
        self.stop = False

    def run(self) -> None:
        while not self.stop:
            self.work()
            self.rounds += 1


def phase(name: str, workers: list[Worker], second: Work) -> None:
    workers[1].work = second
    before = [w.rounds for w in workers]
    while any(w.rounds < n + 2 for w, n in zip(workers, before, strict=True)):
        time.sleep(0.01)  # what belongs to the former phase has come to its end
    print(name, flush=True)
    time.sleep(SECONDS)
    print("between", flush=True)
    time.sleep(0.05)  # the reader of these lines is late


def main() -> None:
    workers = [Worker(pytorch), Worker(pytorch)]
    for worker in workers:
        worker.start()
    phase("warm", workers, pytorch)
    phase("pytorch", workers, pytorch)
    phase("both", workers, ours)
    wavefire.configure(parallel="threads", num_threads=2)  # a pool of our own, to be noticed
    phase("apart", workers, ours)
    print("end", flush=True)
    for worker in workers:
        worker.stop = True


if __name__ == "__main__":
    main()
