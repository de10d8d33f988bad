"""The example engine against transformers, on a tiny LLaMA with random weights."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import wavefire

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "python"))

from engine.check import Checker
from engine.engine import Engine
from engine.mirror import Mirror
from engine.model import Llama
from engine.scheduler import Request, SamplingParams, Scheduler
from engine.weights import LlamaConfig

CONFIG = LlamaConfig(
    layers=2, hidden=48, intermediate=96, heads=6, kv_heads=2, head_dim=8, vocabulary=131,
    rope_theta=1e4, eps=1e-5, end_token=0,
)  # fmt: skip


def weights() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    c = CONFIG
    shapes = {
        "attn_q": (c.heads * c.head_dim, c.hidden),
        "attn_k": (c.kv_heads * c.head_dim, c.hidden),
        "attn_v": (c.kv_heads * c.head_dim, c.hidden),
        "attn_output": (c.hidden, c.heads * c.head_dim),
        "ffn_gate": (c.intermediate, c.hidden),
        "ffn_up": (c.intermediate, c.hidden),
        "ffn_down": (c.hidden, c.intermediate),
        "attn_norm": (c.hidden,),
        "ffn_norm": (c.hidden,),
    }
    tensors = {"token_embd.weight": torch.randn(c.vocabulary, c.hidden)}
    tensors["output_norm.weight"] = torch.rand(c.hidden) + 0.5
    for layer in range(c.layers):
        for name, shape in shapes.items():
            tensors[f"blk.{layer}.{name}.weight"] = torch.randn(shape) * (
                0.3 if len(shape) == 2 else 1
            )
    return tensors


def serve(
    prompts: list[list[int]],
    *,
    pages: int = 200,
    page_size: int = 4,
    step_tokens: int = 64,
    interval: int = 0,
    max_tokens: int = 10,
    temperature: float = 0.0,
) -> tuple[list[list[int]], Engine, Checker]:
    tensors = weights()
    checker = Checker(CONFIG, tensors)
    cache = wavefire.KvCache(pages, page_size)
    engine = Engine(
        Llama(CONFIG, tensors, pages, page_size), Scheduler(cache, step_tokens), checker
    )
    requests = [
        Request(
            i, prompt, max_tokens, SamplingParams(temperature, seed=i), arrival_step=i * interval
        )
        for i, prompt in enumerate(prompts)
    ]
    for request in requests:
        engine.scheduler.add(request)
    for _ in range(10_000):
        if not engine.scheduler.busy:
            break
        engine.step()
    assert all(r.finished for r in requests)
    assert cache.stats().used == 0
    return [r.reply for r in requests], engine, checker


pytestmark = pytest.mark.filterwarnings("error::FutureWarning")  # of transformers

PROMPTS = [[(7 * i + 3 * j) % 130 + 1 for j in range(n)] for i, n in enumerate((1, 5, 17, 40))]


@pytest.mark.parametrize(
    "schedule",
    [
        {},
        {"interval": 3},
        {"step_tokens": 7},
        {"page_size": 1},
        {"page_size": 16, "interval": 1},
        {"pages": 18, "interval": 1},
        {"temperature": 1.0},
    ],
    ids=["together", "staggered", "chunked", "page-1", "page-16", "preempted", "sampled"],
)
def test_every_schedule_agrees_with_transformers(schedule: dict) -> None:
    replies, engine, checker = serve(PROMPTS, **schedule)
    assert checker.passed, f"{checker.largest} at {checker.where}"
    assert checker.compared == sum(len(r) for r in replies)
    alone = [serve([p], temperature=schedule.get("temperature", 0.0))[0][0] for p in PROMPTS[:1]]
    assert replies[0] == alone[0], "a reply does not depend on what else is in the batch"
    if "pages" in schedule:
        assert engine.scheduler.preemptions > 0


def test_a_shared_prefix_is_stored_once() -> None:
    prefix = list(range(1, 33))
    _, engine, checker = serve([[*prefix, 50 + i] for i in range(3)], interval=2)
    assert checker.passed
    assert engine.most_pages_shared == 8


def test_a_request_larger_than_the_pool_is_an_error_with_the_numbers() -> None:
    with pytest.raises(MemoryError, match=r"pages needed, .* free and .* cached of 4"):
        serve([list(range(1, 41))], pages=4)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--model", "/nowhere"], "--model: no file '/nowhere'"),
        (["--model", __file__, "--device", "tpu"], "'name' is 'tpu'; accepted: cpu"),
        (["--model", __file__, "--top-p", "2"], "accepted: above 0 to 1"),
        (["--model", __file__, "--max-tokens", "0"], "accepted: 1 or more"),
        (["--model", __file__, "--top-k", "-1"], "accepted: 0"),
        (["--model", __file__, "--arrival-interval", "-1"], "--arrival-interval: -1; accepted: 0"),
        (["--model", __file__, "--json", "/no/such/x.json"], "--json: '/no/such/x.json' cannot be"),
        (["--model", __file__, "--json", "/"], "--json: '/' cannot be written"),
    ],
)
def test_bad_arguments_are_one_clear_line(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture
) -> None:
    from serve import main

    with pytest.raises(SystemExit):
        main(arguments)
    assert text in capsys.readouterr().err


class Tokenizer:
    def chat(self, system: str, user: str) -> list[int]:
        return list(range(1, 41))

    def decode(self, tokens: list[int]) -> str:
        return " ".join(map(str, tokens))


def load_tiny(path: Path, dtype: torch.dtype, quiet: bool) -> object:
    """In place of serve.py's load: a tiny model, whatever the path."""
    return CONFIG, {name: w.to(dtype) for name, w in weights().items()}, Tokenizer()


@pytest.fixture
def serve_main(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], int]:
    """serve.py's main, on a tiny model."""
    import serve

    monkeypatch.setattr(serve, "load", load_tiny)
    return serve.main


SERVE_TINY = """
import serve, sys, test_engine
serve.load = test_engine.load_tiny
sys.exit(serve.main(sys.argv[1:]))
"""


def test_another_device_is_compared_with_the_cpu() -> None:
    """Each in a process of its own: serve.py tells the virtual Instinct before it is opened that
    tensors are the host's memory.
    """
    paths = [str(Path(__file__).parent), *sys.path]  # these hold the examples too
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    for device in ["cpu", *(d.id for d in wavefire.devices() if d.id.startswith("virtual:"))]:
        arguments = ["--requests", "2", "--max-tokens", "2", "--device", device, "--mirror"]
        done = subprocess.run(
            [sys.executable, "-c", SERVE_TINY, "--model", __file__, *arguments, "--check"],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        shown = re.search(r"mirror: 4 rows of .* difference (\S+), (\d)", done.stdout)
        # Both round each layer to bfloat16, in other orders; one unit of logits from 16 is 0.125.
        assert float(shown[1]) <= (0 if device == "cpu" else 0.25)


def test_the_first_other_token_is_told() -> None:
    tensors = weights()
    other = {name: w.clone() for name, w in tensors.items()}
    other["output.weight"] = -other["token_embd.weight"]  # the least likely token becomes likeliest
    mirror = Mirror(Llama(CONFIG, tensors, 20, 4), Llama(CONFIG, other, 20, 4))
    scheduler = Scheduler(wavefire.KvCache(20, 4))
    scheduler.add(Request(0, [1, 2, 3], 2))
    engine = Engine(mirror, scheduler)
    while scheduler.busy:
        engine.step()
    assert (mirror.rows, mirror.other_tokens) == (2, 2)
    assert "first in step 1 behind position 2: token" in mirror.report()


def test_too_few_pages_are_one_clear_line(
    serve_main: Callable[[list[str]], int], capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit) as stopped:
        serve_main(["--model", __file__, "--pages", "1"])
    assert re.fullmatch(r"serve.py: error: --pages: .* pages needed, .*", str(stopped.value))
    assert serve_main(["--model", __file__, "--max-tokens", "2", "--check"]) == 0
    log = capsys.readouterr().err
    assert "serving: 16 of at most 16 tokens" in log, "plain lines where there is no terminal"
    assert "\r" not in log


@pytest.mark.parametrize("content", [b"no model", b"GGUF\x03\0\0\0" + bytes(64)])
def test_a_broken_model_file_is_one_clear_line(content: bytes, tmp_path: Path) -> None:
    from serve import main

    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(SystemExit) as stopped:
        main(["--model", str(path)])
    assert re.fullmatch(r"serve.py: error: --model \S+: .+", str(stopped.value))


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_lines_in_a_log_and_a_bar_on_a_terminal(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    from engine.progress import Progress

    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(Progress, "interval", 0.0)
    with Progress("loading", 3, "tensor") as progress:
        for _ in range(3):
            progress.update()
    with Progress("loading", 3, "tensor", hidden=True) as progress:
        progress.update()
    shown = capsys.readouterr().err
    assert ("\r" in shown) == terminal
    if not terminal:
        assert [line.split(" ")[1] for line in shown.splitlines()] == ["1", "2", "3", "3"]
