"""Which tokens of which requests a step computes."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

import wavefire


@dataclass
class SamplingParams:
    temperature: float = 0.0  # 0: the largest logit
    top_p: float = 1.0
    top_k: int = 0  # 0: all
    min_p: float = 0.0
    seed: int = 0


@dataclass
class Request:
    """A prompt and what has come of it. `tokens` is prompt and reply so far."""

    id: int
    prompt: list[int]
    max_tokens: int
    sampling: SamplingParams = field(default_factory=SamplingParams)
    arrival_step: int = 0
    reply: list[int] = field(default_factory=list)
    sequence: int | None = None  # in the KV cache, while running
    cached_tokens: int = 0  # of the prompt, found in the cache
    arrived_at: float = 0.0
    token_times: list[float] = field(default_factory=list)
    finished: bool = False

    @property
    def tokens(self) -> list[int]:
        return self.prompt + self.reply


@dataclass
class Work:
    """Tokens [begin, end) of a request are computed in this step."""

    request: Request
    begin: int
    end: int

    @property
    def needs_logits(self) -> bool:
        """True when the step reaches the end of what is known: the next token follows from it."""
        return self.end == len(self.request.tokens)


class Scheduler:
    """Decodes first, then prompts in chunks, up to `max_tokens_per_step`. When pages run out the
    youngest running request gives its pages up and waits to be computed again.
    """

    def __init__(
        self, cache: wavefire.KvCache, max_tokens_per_step: int = 256, max_running: int = 64
    ) -> None:
        self.cache = cache
        self.max_tokens_per_step = max_tokens_per_step
        self.max_running = max_running
        self.arriving: list[Request] = []
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self.preemptions = 0
        self.step = 0

    def add(self, request: Request) -> None:
        self.arriving.append(request)

    @property
    def busy(self) -> bool:
        return bool(self.arriving or self.waiting or self.running)

    def _arrive(self) -> None:
        due = [r for r in self.arriving if r.arrival_step <= self.step]
        self.arriving = [r for r in self.arriving if r.arrival_step > self.step]
        for request in due:
            request.arrived_at = time.perf_counter()
            self.waiting.append(request)

    def _preempt(self) -> Request:
        request = self.running.pop()
        self.cache.release(request.sequence)
        request.sequence = None
        self.waiting.appendleft(request)
        self.preemptions += 1
        return request

    def _reserve(
        self, request: Request, tokens: list[int], copies: list[wavefire.kv_cache.PageCopy]
    ) -> bool:
        """Slots for `tokens`; False when the request itself had to give way."""
        while True:
            try:
                copies += self.cache.append(request.sequence, tokens)
                return True
            except MemoryError:
                if self.running == [request]:
                    raise  # alone and still too large for the pool
                if self._preempt() is request:
                    return False

    def _admit(self) -> Request | None:
        if not self.waiting or len(self.running) >= self.max_running:
            return None
        request = self.waiting[0]
        needed = -(-len(request.tokens) // self.cache.page_size)
        stats = self.cache.stats()
        if self.running and needed > stats.free + stats.cached:
            return None
        self.waiting.popleft()
        request.sequence, cached = self.cache.create(request.tokens)
        request.cached_tokens = max(request.cached_tokens, min(cached, len(request.prompt)))
        self.running.append(request)
        return request

    def schedule(self) -> tuple[list[Work], list[wavefire.kv_cache.PageCopy]]:
        """The work of the next step, and pages to copy before it."""
        self._arrive()
        self.step += 1
        budget = self.max_tokens_per_step
        works: list[Work] = []
        copies: list[wavefire.kv_cache.PageCopy] = []

        def take(request: Request) -> None:
            nonlocal budget
            begin = self.cache.length(request.sequence)
            count = min(len(request.tokens) - begin, budget)
            if count > 0 and self._reserve(request, request.tokens[begin : begin + count], copies):
                works.append(Work(request, begin, begin + count))
                budget -= count

        for request in list(self.running):  # the older first: the youngest gives way
            if request in self.running and budget > 0:
                take(request)
        while budget > 0 and (request := self._admit()) is not None:
            take(request)
        alive = {id(r) for r in self.running}
        return [w for w in works if id(w.request) in alive], copies

    def finish(self, request: Request) -> None:
        request.finished = True
        self.cache.release(request.sequence)
        request.sequence = None
        self.running.remove(request)
