#!/usr/bin/env python3
"""Writes docs/support.md: which operation takes which types, found by calling each with each.

`--check` compares instead; tests/docs does that too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import wavefire
from wavefire._tensors import dtype_codes

PAGE = Path(__file__).parent.parent / "docs/support.md"
HEAD = """# Support

Which types the operations take on the CPU, at its levels scalar, AVX2 and AVX-512;
[devices](devices.md) says what runs on GPUs. `tools/support_matrix.py` writes this page by calling
every operation with every type, and a test compares. A call with another type is an error that
names the types it takes.

"""


def zeros(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.uint8).to(dtype)


def ints(*values: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32).to(dtype)


F32 = torch.float32
CACHE = {"kv_indices": ints(1), "kv_indptr": ints(0, 1), "kv_last_page_len": ints(2)}


def rows(dtype: torch.dtype = F32) -> torch.Tensor:
    return zeros(2, 8, dtype=dtype)


def heads(dtype: torch.dtype = F32) -> torch.Tensor:
    return zeros(2, 1, 8, dtype=dtype)


def norm(t: torch.dtype) -> None:
    wavefire.rmsnorm(rows(t), torch.ones(8))
    wavefire.fused_add_rmsnorm(rows(t), rows(t), torch.ones(8))
    wavefire.layernorm(rows(t), torch.ones(8), torch.ones(8))


def norm_weight(t: torch.dtype) -> None:
    wavefire.gemma_rmsnorm(rows(), zeros(8, dtype=t))
    wavefire.gemma_fused_add_rmsnorm(rows(), rows(), zeros(8, dtype=t))
    wavefire.layernorm(rows(), zeros(8, dtype=t), zeros(8, dtype=t))


def activation(t: torch.dtype) -> None:
    for operation in (wavefire.silu_and_mul, wavefire.gelu_and_mul, wavefire.gelu_tanh_and_mul):
        operation(rows(t))


def rope(t: torch.dtype) -> None:
    wavefire.apply_rope_pos_ids(heads(t), heads(t), ints(0, 1))
    wavefire.apply_llama31_rope(heads(t), heads(t), ints(0, 2), ints(0))


def rope_table(t: torch.dtype) -> None:
    wavefire.apply_rope_with_cos_sin_cache(ints(0, 1), rows(), rows(), 8, zeros(4, 8, dtype=t))


def append(t: torch.dtype) -> None:
    wavefire.append_paged_kv_cache(
        heads(t), heads(t), ints(0, 0), ints(0, 1), zeros(2, 2, 4, 1, 8, dtype=t), **CACHE
    )
    wavefire.append_paged_mla_kv_cache(
        rows(t), rows(t), ints(0, 0), ints(0, 1), zeros(2, 4, 8, dtype=t), zeros(2, 4, 8, dtype=t),
        **CACHE,
    )  # fmt: skip


def sampling(t: torch.dtype) -> None:
    p = zeros(2, 8, dtype=t)
    wavefire.sampling_from_logits(p)
    wavefire.softmax(p)
    wavefire.top_k_mask_logits(p, 2)


def renormalising(t: torch.dtype) -> None:
    p = torch.ones(2, 8, dtype=torch.uint8).to(t)
    wavefire.top_k_renorm_probs(p, 2)
    wavefire.top_p_renorm_probs(p, 0.5)
    wavefire.top_p_sampling_from_probs(p, 0.5)


def queries(t: torch.dtype) -> None:
    wavefire.single_prefill_with_kv_cache(heads(t), heads(), heads())


def keys(t: torch.dtype) -> None:
    wavefire.single_prefill_with_kv_cache(heads(), heads(t), heads(t))
    decode = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    decode.plan(
        ints(0, 1), ints(0), ints(2), 1, 1, 8, 4, q_data_type=F32, kv_data_type=t
    )  # fmt: skip
    decode.run(heads()[:1], zeros(1, 2, 4, 1, 8, dtype=t))


def tables(t: torch.dtype) -> None:
    wavefire.BatchDecodeWithPagedKVCacheWrapper().plan(
        ints(0, 1, dtype=t), ints(0, dtype=t), ints(2, dtype=t), 1, 1, 8, 4
    )


def outputs(t: torch.dtype) -> None:
    wavefire.single_prefill_with_kv_cache(heads(), heads(), heads(), o_dtype=t)


def merging(t: torch.dtype) -> None:
    wavefire.merge_state(heads(t), torch.zeros(2, 1), heads(t), torch.zeros(2, 1))
    wavefire.merge_states(heads(t)[None], torch.zeros(1, 2, 1))


OPERATIONS: dict[str, Callable[[torch.dtype], None]] = {
    "attention: queries": queries,
    "attention: keys and values": keys,
    "attention: output": outputs,
    "merging: values": merging,
    "RoPE: queries and keys": rope,
    "RoPE: positions": lambda t: wavefire.apply_rope_pos_ids(heads(), heads(), ints(0, 1, dtype=t)),
    "RoPE: table": rope_table,
    "norms: rows": norm,
    "norms: weights": norm_weight,
    "gated activations": activation,
    "sampling, softmax: logits": sampling,
    "sampling, renormalising: probabilities": renormalising,
    "sampling: `indices`, and the tokens": lambda t: wavefire.sampling_from_probs(
        torch.ones(2, 8), ints(0, 1, dtype=t)
    ),
    "appending to a cache (MLA's too)": append,
    "packing bits": lambda t: wavefire.packbits(zeros(9, dtype=t)),
    "page tables of appending": lambda t: wavefire.get_seq_lens(ints(0, 1, dtype=t), ints(2), 4),
    "page tables of `plan`": tables,
    "custom masks": lambda t: wavefire.single_prefill_with_kv_cache(
        heads(), heads(), heads(), custom_mask=zeros(2, 2, dtype=t)
    ),
}


def takes(operation: Callable[[torch.dtype], None], name: str) -> bool:
    try:
        operation(getattr(torch, name))
    except (ValueError, NotImplementedError) as error:
        if "accepted" not in str(error):
            raise
        return False
    return True


def page() -> str:
    lines = []
    for title, operation in OPERATIONS.items():
        taken = [name for name in dtype_codes() if takes(operation, name)]
        names = "all" if len(taken) == len(dtype_codes()) else ", ".join(taken)
        lines.append(f"| {title} | {names} |")
    return HEAD + "\n".join(["| | types |", "|---|---|", *lines]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = page()
    if parser.parse_args().check:
        if PAGE.read_text("utf-8") != text:
            print(f"{PAGE} is not what tools/support_matrix.py writes")
            return 1
    else:
        PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
