"""Arguments of FlashInfer's API that concern other machines or other ways to compute the same
numbers.

`HINTS` may have any value and no effect. Everything in `NEUTRAL` must have its neutral value, since
another one would change what is computed: it raises ``NotImplementedError``.
"""

from __future__ import annotations

from typing import Any

HINTS = frozenset(
    {
        "enable_pdl",
        "non_blocking",
        "use_tensor_cores",
        "deterministic",
        "float_workspace_buffer",
        "int_workspace_buffer",
        "custom_mask_buf",  # the plan keeps the mask itself
        "mask_indptr_buf",
        "increment",  # of a generator's offset: ours always moves on by one number
        "is_deterministic",  # it always is
        "block_tables",
        "seq_lens",
        "seq_lens_q",
        "max_token_per_sequence",
        "max_sequence_kv",
        "use_fp16_qk_reduction",  # ours accumulates in float32, which is more exact
        "use_fp16_softmax",
    }
)

NEUTRAL: dict[str, Any] = {
    "jit_args": None,
    "jit_kwargs": None,
    "kv_cache_sf": None,
    "skip_softmax_threshold_scale_factor": None,
    "prefix_len_ptr": None,
    "token_pos_in_items_ptr": None,
    "token_pos_in_items_len": 0,
    "max_item_len_ptr": None,
    "uses_spcompress": None,
    "window_right": 0,
    "v_indptr": None,
    "o_indptr": None,
    "o_scale": None,
}

BACKENDS = ("auto", "fa2", "native")
OTHER_BACKENDS = (
    "fa3", "aiter", "cuda", "cudnn", "cutlass", "cute-dsl", "trtllm", "trtllm-gen", "xqa",
)  # fmt: skip


class ArchCapabilityError(NotImplementedError, ValueError):
    """A backend was asked for by name that this machine does not have."""


def require_neutral(operation: str, **arguments: Any) -> None:
    """Raises ``NotImplementedError`` for an argument that would act and does not here."""
    for name, value in arguments.items():
        neutral = NEUTRAL[name]
        if value is not neutral and not (neutral is not None and value == neutral):
            raise NotImplementedError(
                f"{operation}: '{name}' is given, and is not supported; accepted: {neutral}"
            )


def require_backend(operation: str, backend: str) -> str:
    """``auto``, ``fa2`` and ``native`` are the portable kernels; others raise."""
    if backend in BACKENDS:
        return backend
    accepted = ", ".join(BACKENDS)
    if backend in OTHER_BACKENDS:
        raise ArchCapabilityError(
            f"{operation}: backend '{backend}' is not available on cpu; accepted: {accepted}"
        )
    raise ValueError(f"{operation}: 'backend' is '{backend}'; accepted: {accepted}")
