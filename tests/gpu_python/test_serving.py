"""The example engine on a GPU: beside transformers there, and beside itself on the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
import wavefire

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "python"))
sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))

from engine.check import Checker
from engine.engine import Engine
from engine.mirror import Mirror
from engine.model import Llama
from engine.scheduler import Request, Scheduler
from serve_beside_load import CONFIG, weights

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU here")


def test_logits_are_those_of_transformers_and_of_the_cpu() -> None:
    pages, page_size = 64, 16
    tensors = {name: w.bfloat16() for name, w in weights().items()}
    mirror = Mirror(
        Llama(CONFIG, tensors, pages, page_size, "cuda"), Llama(CONFIG, tensors, pages, page_size)
    )
    scheduler = Scheduler(wavefire.KvCache(pages, page_size), 64)
    for i, length in enumerate((1, 17, 100)):
        scheduler.add(Request(i, list(range(1, length + 1)), 6, arrival_step=i))
    checker = Checker(CONFIG, tensors, "cuda")
    engine = Engine(mirror, scheduler, checker)
    while scheduler.busy:
        engine.step()
    assert mirror.rows == checker.compared > 0
    close = 0.25  # bfloat16, logits within about +-5
    assert checker.largest < close, checker.report()
    assert mirror.largest < close, mirror.report()
