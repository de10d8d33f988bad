"""A LLaMA's weights, configuration and tokenizer from one GGUF file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from gguf import GGUFReader, dequantize
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from .progress import Progress


@dataclass(frozen=True)
class LlamaConfig:
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    rope_theta: float
    eps: float
    end_token: int = 2


def _field(reader: GGUFReader, name: str) -> object:
    field = reader.fields.get(name)
    if field is None:
        raise ValueError(
            f"GGUF file: no field '{name}'; accepted: a file of the llama architecture"
        )
    return field.contents()


def read_config(reader: GGUFReader) -> LlamaConfig:
    architecture = _field(reader, "general.architecture")
    if architecture != "llama":
        raise ValueError(f"GGUF file: architecture is '{architecture}'; accepted: llama")
    heads = int(_field(reader, "llama.attention.head_count"))
    hidden = int(_field(reader, "llama.embedding_length"))
    return LlamaConfig(
        layers=int(_field(reader, "llama.block_count")),
        hidden=hidden,
        intermediate=int(_field(reader, "llama.feed_forward_length")),
        heads=heads,
        kv_heads=int(_field(reader, "llama.attention.head_count_kv")),
        head_dim=hidden // heads,
        vocabulary=len(_field(reader, "tokenizer.ggml.tokens")),
        rope_theta=float(_field(reader, "llama.rope.freq_base")),
        eps=float(_field(reader, "llama.attention.layer_norm_rms_epsilon")),
        end_token=int(_field(reader, "tokenizer.ggml.eos_token_id")),
    )


def _half_split(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """GGUF stores q and k for interleaved rotary pairs; back to the two halves."""
    rows, columns = weight.shape
    return weight.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def read_weights(
    reader: GGUFReader, config: LlamaConfig, dtype: torch.dtype, quiet: bool = False
) -> dict[str, torch.Tensor]:
    """All tensors as dense `dtype`, under GGUF's names."""
    weights = {}
    with Progress("loading", len(reader.tensors), "tensor", hidden=quiet) as progress:
        for tensor in reader.tensors:
            dense = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
            if tensor.name.endswith("attn_q.weight"):
                dense = _half_split(dense, config.heads)
            if tensor.name.endswith("attn_k.weight"):
                dense = _half_split(dense, config.kv_heads)
            weights[tensor.name] = dense.to(dtype)
            progress.update()
    return weights


class ChatTokenizer:
    """Byte-level BPE from the GGUF metadata, and the ChatML form of SmolLM2's template."""

    def __init__(self, reader: GGUFReader) -> None:
        tokens = _field(reader, "tokenizer.ggml.tokens")
        merges = [tuple(m.split(" ", 1)) for m in _field(reader, "tokenizer.ggml.merges")]
        types = _field(reader, "tokenizer.ggml.token_type")
        self._tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
        self._tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
        self._tokenizer.decoder = decoders.ByteLevel()
        control = 3
        self._tokenizer.add_special_tokens(
            [
                AddedToken(t, special=True, normalized=False)
                for t, k in zip(tokens, types, strict=True)
                if k == control
            ]
        )

    def chat(self, system: str, user: str) -> list[int]:
        """The tokens of a conversation that the assistant is to continue."""
        text = (
            f"<|im_start|>system\n{system}<|im_end|>\n"
            f"<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
        )
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, tokens: list[int]) -> str:
        return self._tokenizer.decode(tokens, skip_special_tokens=True)


def load(
    path: Path, dtype: torch.dtype, quiet: bool = False
) -> tuple[LlamaConfig, dict[str, torch.Tensor], ChatTokenizer]:
    """Raises ``ValueError`` for a file that is not a LLaMA's GGUF."""
    reader = GGUFReader(path)
    config = read_config(reader)
    return config, read_weights(reader, config, dtype, quiet), ChatTokenizer(reader)
