"""Compares every logit that the engine acts on with those of others."""

from __future__ import annotations

import math

import torch
from transformers import LlamaConfig as HfConfig
from transformers import LlamaForCausalLM
from transformers.cache_utils import DynamicCache

from .scheduler import Work
from .tolerance import TOLERANCE
from .weights import LlamaConfig


def reference_model(config: LlamaConfig, weights: dict[str, torch.Tensor]) -> LlamaForCausalLM:
    """transformers' LLaMA with the same weights, in float32."""
    hf = HfConfig(
        vocab_size=config.vocabulary, hidden_size=config.hidden,
        intermediate_size=config.intermediate,
        num_hidden_layers=config.layers, num_attention_heads=config.heads,
        num_key_value_heads=config.kv_heads, head_dim=config.head_dim, rms_norm_eps=config.eps,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
        max_position_embeddings=8192, tie_word_embeddings="output.weight" not in weights,
        attn_implementation="eager",
    )  # fmt: skip
    model = LlamaForCausalLM(hf).eval()
    names = {
        "token_embd.weight": "model.embed_tokens.weight",
        "output_norm.weight": "model.norm.weight",
        "output.weight": "lm_head.weight",
    }
    parts = {
        "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
    }  # fmt: skip
    state = {}
    for name, tensor in weights.items():
        if name in names:
            state[names[name]] = tensor
        elif name.startswith("blk."):
            _, index, part, _ = name.split(".")
            state[f"model.layers.{index}.{parts[part]}.weight"] = tensor
    missing, unexpected = model.load_state_dict(state, strict=False)
    if unexpected or [m for m in missing if m != "lm_head.weight"]:
        raise RuntimeError(
            f"check: weights do not match transformers' LLaMA: {missing} {unexpected}"
        )
    model.tie_weights()
    return model


class Checker:
    """An observer of the engine: compares with transformers' eager attention, on the same device.
    Keeps a cache per request and feeds it the same tokens.
    """

    def __init__(
        self, config: LlamaConfig, weights: dict[str, torch.Tensor], device: str = "cpu"
    ) -> None:
        self.model = reference_model(config, weights).to(device)
        self.tolerance = TOLERANCE[weights["token_embd.weight"].dtype]
        self.caches: dict[int, tuple[DynamicCache, int]] = {}
        self.largest = 0.0
        self.where = "nowhere"
        self.compared = 0

    @torch.inference_mode()
    def __call__(self, works: list[Work], logits: torch.Tensor) -> None:
        for work, ours in zip(works, logits, strict=True):
            cache, fed = self.caches.get(work.request.id, (DynamicCache(), 0))
            tokens = torch.tensor([work.request.tokens[fed : work.end]], device=ours.device)
            # By position: transformers 5.17 names it past_key_values, 5.24 names it cache.
            theirs = self.model(tokens, None, None, cache, use_cache=True).logits[0, -1].float()
            self.caches[work.request.id] = (cache, work.end)
            difference = float((ours - theirs).abs().max())
            self.compared += 1
            if not (difference <= self.largest or math.isnan(self.largest)):
                self.largest = difference
                self.where = f"request {work.request.id}, position {work.end - 1}"

    @property
    def passed(self) -> bool:
        return self.compared > 0 and self.largest <= self.tolerance

    def summary(self) -> dict[str, float]:
        return {"check_largest": self.largest, "check_tolerance": self.tolerance}

    def report(self) -> str:
        return (
            f"check: {self.compared} rows of logits, largest difference {self.largest:.2e} "
            f"({self.where}), tolerance {self.tolerance:.0e}: "
            f"{'passed' if self.passed else 'FAILED'}"
        )
