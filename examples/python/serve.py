#!/usr/bin/env python3
"""Serves prompts with a LLaMA from a GGUF file on this machine, all at once, through Wavefire."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# OpenMP's threads spin while they wait. Beside other busy processes the one that spins has the core
# that the one it waits for needs, and each of a step's hundreds of parallel loops takes as long as
# the scheduler's time slice. Read when torch loads the runtime; what the user has set stays.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
import wavefire
from engine.engine import Engine
from engine.mirror import Mirror
from engine.model import Llama
from engine.progress import Progress
from engine.scheduler import Request, SamplingParams, Scheduler
from engine.weights import load

SYSTEM = (
    "You are a friendly and knowledgeable assistant. Answer the question of the user in plain "
    "English, in "
    "two or three short sentences. Be accurate and concrete. If you do not know the answer, say so."
)
Chat = Callable[[str, str], list[int]]  # system message, prompt -> tokens

PROMPTS = [
    "Why is the sky blue?",
    "What is the capital of France, and what is it known for?",
    "Explain to a child what gravity is.",
    "How does a bicycle stay upright?",
    "Give me one tip for writing clearly.",
    "What is photosynthesis?",
    "Why do we have leap years?",
    "What makes bread rise?",
]


class Amount(NamedTuple):
    """How much is served unless the user says."""

    requests: int
    max_tokens: int


REAL, VIRTUAL = (
    Amount(len(PROMPTS), 64),
    Amount(2, 8),
)  # a virtual device computes about a token a second


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value}; accepted: 1 or more")
    return value


def number(low: float, high: float, what: str) -> object:
    def parse(text: str) -> float:
        value = float(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{value}; accepted: {what}")
        return value

    return parse


def parse(argv: list[str] | None) -> argparse.Namespace:
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    p.add_argument("--model", type=Path, required=True, help="GGUF file of a LLaMA")
    p.add_argument("--prompt", action="append", help="a prompt; may be given several times")
    p.add_argument(
        "--requests",
        type=positive,
        help="serve this many requests, going round the prompts; default: each prompt once "
        f"(a virtual device: the first {VIRTUAL.requests} of the built-in ones)",
    )
    p.add_argument("--system", default=SYSTEM, help="system prompt, shared by all requests")
    p.add_argument(
        "--max-tokens",
        type=positive,
        help=f"longest reply; default: {REAL.max_tokens}, {VIRTUAL.max_tokens} on a virtual device",
    )
    p.add_argument(
        "--temperature", type=number(0, 100, "0 to 100"), default=0.0, help="0: no randomness"
    )
    p.add_argument("--top-p", type=number(1e-6, 1, "above 0 to 1"), default=1.0)
    p.add_argument("--top-k", type=int, default=0, help="0: all")
    p.add_argument("--min-p", type=number(0, 1, "0 to 1"), default=0.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument(
        "--dtype", choices=["float32", "bfloat16"], help="float32 on the CPU, bfloat16 elsewhere"
    )
    p.add_argument("--device", default="cpu", help="cpu, cuda, hip or virtual:gfx942")
    p.add_argument("--pages", type=positive, default=512, help="pages of the KV cache")
    p.add_argument("--page-size", type=positive, default=16, help="tokens a page")
    p.add_argument(
        "--step-tokens", type=positive, default=256, help="most tokens computed in a step"
    )
    p.add_argument("--arrival-interval", type=int, default=2, help="steps between arrivals")
    p.add_argument(
        "--check", action="store_true", help="compare all logits with transformers' eager attention"
    )
    p.add_argument(
        "--mirror", action="store_true", help="compute each step on the CPU too and compare logits"
    )
    p.add_argument("--quiet", action="store_true", help="only the replies and the summary")
    p.add_argument("--json", type=Path, help="write replies and measurements to this file")
    args = p.parse_args(argv)
    if not args.model.is_file():
        p.error(f"--model: no file '{args.model}'")
    if args.top_k < 0:
        p.error(f"--top-k: {args.top_k}; accepted: 0 (all) or more")
    if args.arrival_interval < 0:
        p.error(f"--arrival-interval: {args.arrival_interval}; accepted: 0 (all at once) or more")
    if args.json is not None and not is_writable(args.json):
        p.error(f"--json: '{args.json}' cannot be written; accepted: a file in a writable folder")
    try:
        args.tensors = choose_device(args.device)
    except (ValueError, RuntimeError) as error:
        p.error(f"--device: {error}")
    args.dtype = args.dtype or ("float32" if args.device == "cpu" else "bfloat16")
    choose_amount(args)
    return args


def choose_amount(args: argparse.Namespace) -> None:
    amount = VIRTUAL if args.device.startswith("virtual:") else REAL
    args.prompt = args.prompt or PROMPTS[: amount.requests]
    args.requests = args.requests or len(args.prompt)
    args.max_tokens = args.max_tokens or amount.max_tokens


def is_writable(path: Path) -> bool:
    """Whether a file can be written there, before the minutes of work that it is to tell of."""
    if path.exists():
        return path.is_file() and os.access(path, os.W_OK)
    return path.parent.is_dir() and os.access(path.parent, os.W_OK)


def choose_device(name: str) -> str:
    """Has Wavefire use the device; returns where PyTorch's tensors for it live."""
    if name.startswith("virtual:"):  # PyTorch's tensors are the host's memory, and not registered
        os.environ.setdefault("WAVEFIRE_VIRTUAL_HOST_MEMORY", "any")
    place = wavefire.use_device(name).tensors.replace("hip", "cuda")  # as PyTorch calls both
    if place != "cpu:0" and not torch.cuda.is_available():
        raise RuntimeError(f"'{name}' needs PyTorch for that GPU; here is {torch.__version__}")
    return place


class Stream:
    """Prints replies as they grow: a single one token by token, several sentence by sentence."""

    def __init__(self, decode: object, requests: int, quiet: bool) -> None:
        self.decode, self.single, self.quiet = decode, requests == 1, quiet
        self.shown: dict[int, int] = {}

    def update(self, request: Request) -> None:
        if self.quiet:
            return
        text = self.decode(request.reply)
        begin = self.shown.get(request.id, 0)
        new = text[begin:]
        if self.single:
            end = len(text) if not text.endswith("\ufffd") else begin
        elif request.finished:
            end = len(text)
        else:
            end = begin + max(new.rfind(mark) + 1 for mark in (". ", ".\n", "! ", "? ", "\n"))
        if end > begin:
            piece = text[begin:end]
            if self.single:
                print(piece, end="", flush=True)
            else:
                Progress.write(f"[{request.id}] {' '.join(piece.split())}")
        self.shown[request.id] = max(begin, end)
        if self.single and request.finished:
            print()


def summarize(requests: list[Request], engine: Engine, seconds: float) -> dict[str, float]:
    tokens = sum(len(r.reply) for r in requests)
    first = [r.token_times[0] - r.arrived_at for r in requests]
    gaps = [b - a for r in requests for a, b in zip(r.token_times, r.token_times[1:], strict=False)]
    gaps = sorted(gaps) or [0.0]
    return {
        "requests": len(requests),
        "reply_tokens": tokens,
        "prompt_tokens": sum(len(r.prompt) for r in requests),
        "cached_prompt_tokens": sum(r.cached_tokens for r in requests),
        "seconds": seconds,
        "tokens_per_second": tokens / seconds,
        "time_to_first_token_ms": 1e3 * statistics.median(first),
        "inter_token_ms_p50": 1e3 * statistics.median(gaps),
        "inter_token_ms_p95": 1e3 * gaps[math.ceil(0.95 * (len(gaps) - 1))],
        "pages_used": engine.most_pages_used,
        "pages_shared": engine.most_pages_shared,
        "preemptions": engine.scheduler.preemptions,
    }


def print_summary(summary: dict[str, float], pages: int) -> None:
    print(
        f"\n{summary['reply_tokens']} tokens of {summary['requests']} requests in "
        f"{summary['seconds']:.1f} s: "
        f"{summary['tokens_per_second']:.1f} tokens/s; time to first token "
        f"{summary['time_to_first_token_ms']:.0f} ms; inter-token latency "
        f"{summary['inter_token_ms_p50']:.0f} ms (p95 {summary['inter_token_ms_p95']:.0f} ms)"
    )
    print(
        f"KV cache: up to {summary['pages_used']} of {pages} pages in use, up to "
        f"{summary['pages_shared']} of them shared; {summary['cached_prompt_tokens']} of "
        f"{summary['prompt_tokens']} prompt tokens were there already"
    )


def requests_of(args: argparse.Namespace, chat: Chat) -> list[Request]:
    return [
        Request(
            id=i,
            prompt=chat(args.system, args.prompt[i % len(args.prompt)]),
            max_tokens=args.max_tokens,
            sampling=SamplingParams(
                args.temperature, args.top_p, args.top_k, args.min_p, args.seed + i
            ),
            arrival_step=i * args.arrival_interval,
        )
        for i in range(args.requests)
    ]


def serve(args: argparse.Namespace, engine: Engine, stream: Stream, count: int) -> float:
    """Until all requests have their replies; returns the seconds that it took."""
    begin = time.perf_counter()
    total = count * args.max_tokens
    try:
        with Progress("serving", total, "token", hidden=args.quiet or count == 1) as progress:
            while engine.scheduler.busy:
                for request, _ in engine.step():
                    progress.update()
                    stream.update(request)
    except MemoryError as error:
        sys.exit(f"serve.py: error: --pages: {error}; accepted: what the longest request needs")
    except NotImplementedError as error:
        sys.exit(f"serve.py: error: --device {args.device}: {error}")
    return time.perf_counter() - begin


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    try:
        config, weights, tokenizer = load(args.model, getattr(torch, args.dtype), args.quiet)
    except Exception as error:  # of a broken file GGUF's reader raises what comes
        sys.exit(f"serve.py: error: --model {args.model}: {type(error).__name__}: {error}")
    requests = requests_of(args, tokenizer.chat)
    count = len(requests)
    observer = None
    checks: list[Checker | Mirror] = []
    if args.check:
        from engine.check import Checker  # transformers is needed for nothing else

        observer = Checker(config, weights, args.tensors)
        checks.append(observer)
    cache = wavefire.KvCache(args.pages, args.page_size)
    model = Llama(config, weights, args.pages, args.page_size, args.tensors)
    if args.mirror:
        model = Mirror(model, Llama(config, weights, args.pages, args.page_size))
        checks.append(model)
    engine = Engine(model, Scheduler(cache, args.step_tokens), observer)
    for request in requests:
        engine.scheduler.add(request)
    stream = Stream(tokenizer.decode, count, args.quiet)
    summary = summarize(requests, engine, serve(args, engine, stream, count))

    if count > 1 or args.quiet:
        for request in requests:
            print(f"\n[{request.id}] {args.prompt[request.id % len(args.prompt)]}")
            print(f"    {tokenizer.decode(request.reply).strip()}")
    print_summary(summary, args.pages)
    for check in checks:
        summary |= check.summary()
        print(check.report())
    if args.json:
        replies = [
            {"id": r.id, "tokens": r.reply, "text": tokenizer.decode(r.reply)} for r in requests
        ]
        args.json.write_text(json.dumps({"summary": summary, "replies": replies}, indent=2))
    return 0 if all(check.passed for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
