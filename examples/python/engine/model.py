"""A LLaMA forward pass: linear layers are torch, everything between them is Wavefire."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
import wavefire
from torch.nn.functional import linear

from .weights import LlamaConfig


@dataclass
class StepBatch:
    """The tokens of one step, request after request, and the page tables that hold them. Made on
    the host, where plans read it.
    """

    tokens: torch.Tensor  # int64 [n]
    positions: torch.Tensor  # int32 [n]
    batch_indices: torch.Tensor  # int32 [n]
    qo_indptr: torch.Tensor  # int32 [requests + 1]
    kv_indptr: torch.Tensor
    kv_indices: torch.Tensor
    kv_last_page_len: torch.Tensor

    def to(self, device: torch.device) -> StepBatch:
        return StepBatch(*(getattr(self, f.name).to(device) for f in fields(self)))


class Layer:
    """The weights of one layer, with q, k, v and gate, up joined into one product each."""

    def __init__(self, weights: dict[str, torch.Tensor], index: int, device: torch.device) -> None:
        def get(name: str) -> torch.Tensor:
            return weights[f"blk.{index}.{name}.weight"].to(device)

        self.qkv = torch.cat([get("attn_q"), get("attn_k"), get("attn_v")])
        self.gate_up = torch.cat([get("ffn_gate"), get("ffn_up")])
        self.attention_norm, self.ffn_norm = get("attn_norm"), get("ffn_norm")
        self.output, self.down = get("attn_output"), get("ffn_down")


class Llama:
    """Weights and the paged KV tensors, ``[pages, 2, page_size, kv_heads, head_dim]`` a layer, on
    PyTorch's `device`.
    """

    def __init__(
        self,
        config: LlamaConfig,
        weights: dict[str, torch.Tensor],
        num_pages: int,
        page_size: int,
        device: str = "cpu",
    ) -> None:
        self.config = config
        self.page_size = page_size
        self.device = torch.device(device)
        self.embedding = weights["token_embd.weight"].to(self.device)
        self.head = weights.get("output.weight", self.embedding).to(self.device)
        self.final_norm = weights["output_norm.weight"].to(self.device)
        self.dtype = self.embedding.dtype
        self.layers = [Layer(weights, i, self.device) for i in range(config.layers)]
        shape = (num_pages, 2, page_size, config.kv_heads, config.head_dim)
        self.kv = [torch.zeros(shape, dtype=self.dtype, device=self.device) for _ in self.layers]
        workspace = torch.empty(0, dtype=torch.uint8, device=self.device)  # says where runs go
        self.attention = wavefire.BatchPrefillWithPagedKVCacheWrapper(workspace)

    def copy_page(self, source: int, target: int, tokens: int) -> None:
        for cache in self.kv:
            cache[target, :, :tokens] = cache[source, :, :tokens]

    def _attend(
        self, layer: Layer, cache: torch.Tensor, x: torch.Tensor, batch: StepBatch
    ) -> torch.Tensor:
        c = self.config
        rows = x.shape[0]
        q, k, v = linear(x, layer.qkv).split(
            [c.heads * c.head_dim, *[c.kv_heads * c.head_dim] * 2], dim=1
        )
        q, k, v = (part.view(rows, -1, c.head_dim) for part in (q, k, v))
        wavefire.apply_rope_pos_ids_inplace(q, k, batch.positions, rope_theta=c.rope_theta)
        wavefire.append_paged_kv_cache(
            k, v, batch.batch_indices, batch.positions, cache, batch.kv_indices, batch.kv_indptr,
            batch.kv_last_page_len,
        )  # fmt: skip
        return linear(self.attention.run(q, cache).view(rows, -1), layer.output)

    @torch.inference_mode()
    def forward(self, batch: StepBatch, logit_rows: torch.Tensor) -> torch.Tensor:
        """Logits float32 ``[len(logit_rows), vocabulary]`` behind the tokens at those rows."""
        c = self.config
        self.attention.plan(
            batch.qo_indptr, batch.kv_indptr, batch.kv_indices, batch.kv_last_page_len,
            c.heads, c.kv_heads, c.head_dim, self.page_size, causal=True, q_data_type=self.dtype,
        )  # fmt: skip
        batch, logit_rows = batch.to(self.device), logit_rows.to(self.device)
        residual = self.embedding[batch.tokens]
        x = torch.zeros_like(residual)
        for layer, cache in zip(self.layers, self.kv, strict=True):
            wavefire.fused_add_rmsnorm(x, residual, layer.attention_norm, c.eps)
            x = self._attend(layer, cache, x, batch)
            wavefire.fused_add_rmsnorm(x, residual, layer.ffn_norm, c.eps)
            x = linear(wavefire.silu_and_mul(linear(x, layer.gate_up)), layer.down)
        wavefire.fused_add_rmsnorm(x, residual, self.final_norm, c.eps)
        return linear(x[logit_rows], self.head).float()
