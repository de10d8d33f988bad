"""Serves a small LLaMA with random weights, alone and then beside busy processes.

Prints the tokens a second of both as JSON, for test_beside_load.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "python"))

import serve  # first: it says how threads wait, before torch is loaded
import torch
from engine.weights import LlamaConfig

# Large enough that matrix products, norms and attention all use several threads.
CONFIG = LlamaConfig(
    layers=4, hidden=576, intermediate=1536, heads=9, kv_heads=3, head_dim=64, vocabulary=8192,
    rope_theta=1e4, eps=1e-5, end_token=-1,
)  # fmt: skip
CORES = len(os.sched_getaffinity(0))


class Tokenizer:
    def chat(self, system: str, user: str) -> list[int]:
        return list(range(1, 65))

    def decode(self, tokens: list[int]) -> str:
        return " ".join(map(str, tokens))


def weights() -> dict[str, torch.Tensor]:
    c = CONFIG
    kv = c.kv_heads * c.head_dim
    shapes = {
        "attn_q": (c.hidden, c.hidden), "attn_k": (kv, c.hidden), "attn_v": (kv, c.hidden),
        "attn_output": (c.hidden, c.hidden), "ffn_gate": (c.intermediate, c.hidden),
        "ffn_up": (c.intermediate, c.hidden), "ffn_down": (c.hidden, c.intermediate),
        "attn_norm": (c.hidden,), "ffn_norm": (c.hidden,),
    }  # fmt: skip
    tensors = {
        "token_embd.weight": 0.05 * torch.randn(c.vocabulary, c.hidden),
        "output_norm.weight": torch.ones(c.hidden),
    }
    for layer in range(c.layers):
        for name, shape in shapes.items():
            tensors[f"blk.{layer}.{name}.weight"] = 0.05 * torch.randn(shape)
    return tensors


def tokens_per_second() -> float:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        arguments = ["--model", __file__, "--quiet", "--max-tokens", "24", "--json", file.name]
        assert serve.main(arguments) == 0
        return json.loads(Path(file.name).read_text())["summary"]["tokens_per_second"]


def main() -> None:
    loaded = CONFIG, weights(), Tokenizer()
    serve.load = lambda *_: loaded
    tokens_per_second()  # warm
    alone = tokens_per_second()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(CORES)]
    try:
        beside = tokens_per_second()
    finally:
        for process in busy:
            process.kill()
    print(json.dumps({"alone": alone, "beside": beside}))


if __name__ == "__main__":
    main()
