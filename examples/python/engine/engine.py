"""Continuous batching: every step computes tokens of all running requests together."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import wavefire

from .model import Llama, StepBatch
from .scheduler import Request, Scheduler, Work

Observer = Callable[[list[Work], torch.Tensor], None]


class Engine:
    """Runs requests to their ends. `observer` sees every step's work and its logits."""

    def __init__(
        self, model: Llama, scheduler: Scheduler, observer: Observer | None = None
    ) -> None:
        self.model = model
        self.scheduler = scheduler
        self.observer = observer
        self.most_pages_shared = 0
        self.most_pages_used = 0

    def _batch(self, works: list[Work]) -> StepBatch:
        cache = self.scheduler.cache
        tables = cache.tables([w.request.sequence for w in works])
        counts = torch.tensor([0] + [w.end - w.begin for w in works], dtype=torch.int32)
        qo_indptr = torch.cumsum(counts, 0, dtype=torch.int32)
        positions = torch.cat([torch.arange(w.begin, w.end, dtype=torch.int32) for w in works])
        batch_indices = torch.arange(len(works), dtype=torch.int32).repeat_interleave(counts[1:])
        tokens = [t for w in works for t in w.request.tokens[w.begin : w.end]]
        return StepBatch(
            torch.tensor(tokens), positions, batch_indices, qo_indptr,
            torch.from_numpy(tables.indptr),
            torch.from_numpy(tables.indices), torch.from_numpy(tables.last_page_len),
        )  # fmt: skip

    def step(self) -> list[tuple[Request, int]]:
        """Computes one step; returns the new token of every request that got one."""
        works, copies = self.scheduler.schedule()
        if not works:
            return []
        for copy in copies:
            self.model.copy_page(*copy)
        batch = self._batch(works)
        ends = batch.qo_indptr[1:].long() - 1
        complete = [i for i, w in enumerate(works) if w.needs_logits]
        logits = self.model.forward(batch, ends[complete])
        for work in works:
            self.scheduler.cache.commit(work.request.sequence)
        stats = self.scheduler.cache.stats()
        self.most_pages_shared = max(self.most_pages_shared, stats.shared)
        self.most_pages_used = max(self.most_pages_used, stats.used)
        if self.observer is not None:
            self.observer([works[i] for i in complete], logits)
        likeliest = logits.argmax(-1).tolist()  # all at once: each answer waits for the device
        return [
            self._take(works[i].request, logits[row], likeliest[row])
            for row, i in enumerate(complete)
        ]

    def _take(self, request: Request, logits: torch.Tensor, likeliest: int) -> tuple[Request, int]:
        token = likeliest if request.sampling.temperature == 0 else sample(logits, request)
        request.reply.append(token)
        request.token_times.append(time.perf_counter())
        if token == self.model.config.end_token or len(request.reply) >= request.max_tokens:
            self.scheduler.finish(request)
        return request, token


def sample(logits: torch.Tensor, request: Request) -> int:
    """A random next token. The number that chooses it depends on the request's seed and its
    position alone, so that a reply does not change with what else is in the batch.
    """
    s = request.sampling
    probs = wavefire.softmax(logits[None], s.temperature)
    if s.min_p > 0:
        kept = wavefire.sampling.min_p_sampling_from_probs
        return int(kept(probs, s.min_p, seed=s.seed, offset=len(request.tokens))[0])
    top_k = s.top_k if s.top_k > 0 else probs.shape[1]
    joint = wavefire.top_k_top_p_sampling_from_probs
    return int(joint(probs, top_k, s.top_p, seed=s.seed, offset=len(request.tokens))[0])
