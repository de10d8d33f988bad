"""Row operations against copying memory, sampling against sorting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import wavefire
from measure import Bench, Work, close

TOKENS, HIDDEN, HEADS, KV_HEADS, DIM = 8192, 4096, 32, 8, 128


class Rows:
    """Row operations of one dtype. A copy of 256 MiB takes turns with each."""

    def __init__(self, bench: Bench, dtype: torch.dtype) -> None:
        self.bench, self.dtype = bench, dtype
        self.name = str(dtype).removeprefix("torch.")
        source = torch.ones(64 << 20)
        target = torch.empty_like(source)
        self.copy: tuple[Work, float] = (lambda: target.copy_(source), 8.0 * source.numel())

    def random(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape).to(self.dtype)

    def add(self, case: str, ours: Work, peer: Work | None, elements: int, good: bool) -> None:
        """`elements` read and written."""
        self.bench.add(
            "rows", f"{case} {self.name}", ours, peer, "torch", lambda: good,
            elements * self.dtype.itemsize, "B/s", None, beside=self.copy,
        )  # fmt: skip

    def norms(self) -> None:
        x, r, w = self.random(TOKENS, HIDDEN), self.random(TOKENS, HIDDEN), self.random(HIDDEN)
        out = torch.empty_like(x)
        f = torch.nn.functional

        def rms() -> torch.Tensor:
            return f.rms_norm(x, (HIDDEN,), w, 1e-6)

        def layer() -> torch.Tensor:
            return f.layer_norm(x, (HIDDEN,), w, w, 1e-6)

        good = close(wavefire.rmsnorm(x, w), rms(), 0.02)
        self.add(
            f"rmsnorm {TOKENS} x {HIDDEN}", lambda: wavefire.rmsnorm(x, w, out=out), rms,
            2 * x.numel(), good,
        )  # fmt: skip
        good = close(wavefire.layernorm(x, w, w), layer(), 0.02)
        self.add(
            f"layernorm {TOKENS} x {HIDDEN}", lambda: wavefire.layernorm(x, w, w, out=out), layer,
            2 * x.numel(), good,
        )  # fmt: skip
        y, s = x.clone(), r.clone()
        wavefire.fused_add_rmsnorm(y, s, w)
        total = x + r
        good = close(s, total, 0.02) and close(y, f.rms_norm(total, (HIDDEN,), w, 1e-6), 0.02)
        y, s, zero = torch.zeros_like(x), r.clone(), torch.zeros_like(x)

        def fused() -> None:
            wavefire.fused_add_rmsnorm(y, s, w)

        def apart() -> torch.Tensor:
            return f.rms_norm(r.add_(zero), (HIDDEN,), w, 1e-6)

        self.add(f"fused_add_rmsnorm {TOKENS} x {HIDDEN}", fused, apart, 4 * x.numel(), good)

    def activations(self) -> None:
        x, out = self.random(TOKENS, HIDDEN), torch.empty(TOKENS, HIDDEN // 2, dtype=self.dtype)
        f = torch.nn.functional
        references: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
            "silu": f.silu,
            "gelu": f.gelu,
            "gelu_tanh": lambda a: f.gelu(a, approximate="tanh"),
        }
        for name, reference in references.items():
            operation = getattr(wavefire, f"{name}_and_mul")

            def ours(g: Callable = operation) -> torch.Tensor:
                return g(x, out=out)

            def peer(g: Callable = reference) -> torch.Tensor:
                a, b = x.chunk(2, -1)
                return g(a) * b

            good = close(ours(), peer(), 0.02)
            self.add(f"{name}_and_mul {TOKENS} x {HIDDEN}", ours, peer, 3 * out.numel(), good)

    def rope(self) -> None:
        q, k = self.random(TOKENS, HEADS, DIM), self.random(TOKENS, KV_HEADS, DIM)
        positions = torch.arange(TOKENS)
        frequency = 1e4 ** (-torch.arange(0, DIM, 2) / DIM)
        angle = positions[:, None, None] * frequency
        cos, sin = angle.cos().to(self.dtype), angle.sin().to(self.dtype)
        cache = torch.cat([angle.cos(), angle.sin()], -1)[:, 0].float()

        def peer() -> list[torch.Tensor]:
            result = []
            for x in (q, k):
                a, b = x.chunk(2, -1)
                result.append(torch.cat([a * cos - b * sin, b * cos + a * sin], -1))
            return result

        elements = 2 * (q.numel() + k.numel())
        good = close(wavefire.apply_rope_pos_ids(q, k, positions)[0], peer()[0], 0.03)
        self.add(
            f"rope in place {TOKENS} x {HEADS}+{KV_HEADS} x {DIM}",
            lambda: wavefire.apply_rope_pos_ids_inplace(q, k, positions), peer, elements, good,
        )  # fmt: skip
        self.add(
            "rope in place, interleaved",
            lambda: wavefire.apply_rope_pos_ids_inplace(q, k, positions, interleave=True), None,
            elements, good,
        )  # fmt: skip
        flat = q.view(TOKENS, -1), k.view(TOKENS, -1)
        self.add(
            "rope in place, from a table",
            lambda: wavefire.apply_rope_with_cos_sin_cache_inplace(positions, *flat, DIM, cache),
            peer, elements, good,
        )  # fmt: skip

    def append(self) -> None:
        tokens, page = 8 * TOKENS, 16
        key, value = (self.random(tokens, KV_HEADS, DIM) for _ in range(2))
        cache = torch.zeros(tokens // page, 2, page, KV_HEADS, DIM, dtype=self.dtype)
        tables = (
            torch.randperm(tokens // page).int(),
            torch.tensor([0, tokens // page], dtype=torch.int32),
            torch.tensor([page], dtype=torch.int32),
        )
        request, position = torch.zeros(tokens).int(), torch.arange(tokens).int()
        pages, slots = tables[0][(position // page).long()].long(), (position % page).long()

        def ours() -> None:
            wavefire.append_paged_kv_cache(key, value, request, position, cache, *tables)

        def peer() -> None:
            cache[:, 0].index_put_((pages, slots), key)
            cache[:, 1].index_put_((pages, slots), value)

        ours()
        good = torch.equal(cache[pages, 0, slots], key) and torch.equal(
            cache[pages, 1, slots], value
        )
        self.add(f"append {tokens} tokens, page {page}", ours, peer, 4 * key.numel(), good)


def bench_packbits(bench: Bench) -> None:
    rows = Rows(bench, torch.bool)
    x = torch.rand(64 << 20) < 0.5
    array = x.numpy()
    good = bool((wavefire.packbits(x).numpy() == np.packbits(array)).all())
    bench.add(
        "rows", f"packbits {x.numel() >> 20} Mi", lambda: wavefire.packbits(x),
        lambda: np.packbits(array), "numpy", lambda: good, x.numel() * 9 / 8, "B/s", None,
        beside=rows.copy,
    )  # fmt: skip


def bench_rows(bench: Bench) -> None:
    for dtype in (torch.bfloat16,) if bench.quick else (torch.bfloat16, torch.float32):
        rows = Rows(bench, dtype)
        rows.norms()
        rows.activations()
        rows.rope()
        rows.append()
    bench_packbits(bench)


def sorted_sample(probs: torch.Tensor, top_k: int | None, top_p: float | None) -> torch.Tensor:
    """As engines do it in PyTorch: sort, mask by rank and by the sum of what comes before, draw."""
    ordered, index = probs.sort(-1, descending=True)
    if top_k is not None:
        ordered[:, top_k:] = 0
    if top_p is not None:
        total = ordered.sum(-1, keepdim=True)
        ordered = ordered * (ordered.cumsum(-1) - ordered < top_p * total)
    return index.gather(1, torch.multinomial(ordered, 1))[:, 0]


def bench_sampling(bench: Bench) -> None:
    size = 128256
    for batch in (1, 16):
        logits = torch.randn(batch, size) * 2
        probs = torch.softmax(logits, -1)
        by_p, by_k = (
            wavefire.top_p_renorm_probs(probs, 0.9), wavefire.top_k_renorm_probs(probs, 50)
        )  # fmt: skip
        both = wavefire.top_p_renorm_probs(by_k, 0.9)
        cases: list[tuple[str, Callable[[], torch.Tensor], int | None, float | None, torch.Tensor]]
        cases = [
            ("top-p 0.9", lambda p=probs: wavefire.top_p_sampling_from_probs(p, 0.9), None, 0.9,
             by_p),
            ("top-k 50", lambda p=probs: wavefire.top_k_sampling_from_probs(p, 50), 50, None, by_k),
            ("top-k 50, top-p 0.9",
             lambda p=probs: wavefire.top_k_top_p_sampling_from_probs(p, 50, 0.9), 50, 0.9, both),
            ("top-k 50, top-p 0.9 of logits",
             lambda x=logits: wavefire.top_k_top_p_sampling_from_logits(x, 50, 0.9), 50, 0.9, both),
        ]  # fmt: skip
        for name, ours, top_k, top_p, kept in cases:

            def peer(
                k: int | None = top_k, p: float | None = top_p, x: torch.Tensor = logits,
                y: torch.Tensor = probs, of_logits: bool = "logits" in name,
            ) -> torch.Tensor:  # fmt: skip
                return sorted_sample(torch.softmax(x, -1) if of_logits else y, k, p)

            def valid(f: Callable = ours, left: torch.Tensor = kept) -> bool:
                return bool((left.gather(1, f().long()[:, None]) > 0).all())

            bench.add(
                "sampling", f"{name}, batch {batch} of {size}", ours, peer, "torch sort", valid,
                4 * probs.numel(), "B/s", bench.read_bandwidth,
            )  # fmt: skip
        bench.add(
            "sampling", f"softmax, batch {batch} of {size}",
            lambda x=logits: wavefire.softmax(x), lambda x=logits: torch.softmax(x, -1), "torch",
            lambda x=logits: close(wavefire.softmax(x), torch.softmax(x, -1), 1e-5),
            8 * probs.numel(), "B/s", bench.copy_bandwidth,
        )  # fmt: skip
