"""Operations inside of graphs that ``torch.compile`` makes without a break."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import wavefire
from compare import ints
from torch._dynamo.testing import CompileCounter
from wavefire import _attention, _graphs, activation, cascade, norm, page, rope, sampling

Tensor = torch.Tensor
WEIGHT = torch.rand(64)
TABLE = torch.rand(100, 32)
CACHE = torch.randn(3, 2, 4, 2, 32)


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    torch._dynamo.reset()


def decode(batch: int = 4) -> wavefire.BatchDecodeWithPagedKVCacheWrapper:
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper()
    plan(wrapper, batch)
    return wrapper


def plan(wrapper: wavefire.BatchDecodeWithPagedKVCacheWrapper, batch: int) -> None:
    tables = ints(*range(batch + 1)), ints(*(b % 3 for b in range(batch))), ints(*[3] * batch)
    wrapper.plan(*tables, 2, 2, 32, 4, q_data_type="float32")


def prefill() -> wavefire.BatchPrefillWithPagedKVCacheWrapper:
    wrapper = wavefire.BatchPrefillWithPagedKVCacheWrapper()
    wrapper.plan(
        ints(0, 3, 4), ints(0, 1, 2), ints(2, 1), ints(4, 4), 2, 2, 32, 4, q_data_type="float32"
    )
    return wrapper


def ragged() -> wavefire.BatchPrefillWithRaggedKVCacheWrapper:
    wrapper = wavefire.BatchPrefillWithRaggedKVCacheWrapper()
    wrapper.plan(ints(0, 3, 4), ints(0, 3, 4), 2, 2, 32, q_data_type="float32")
    return wrapper


DECODE, PREFILL, RAGGED = decode(), prefill(), ragged()


def heads(x: Tensor) -> Tensor:
    return x.view(-1, 2, 32)


def in_place(operation: Callable[..., None], *written: Tensor) -> tuple[Tensor, ...]:
    """What an operation makes of tensors, of which nothing else is used."""
    copies = tuple(x.clone() for x in written)
    operation(*copies)
    return copies


def append(x: Tensor, y: Tensor) -> Tensor:
    cache = torch.zeros(3, 2, 4, 2, 32)
    where = wavefire.get_batch_indices_positions(ints(0, 4), ints(5), 5)
    rows = (torch.cat([z, z[:1]]).view(-1, 2, 32) for z in (x, y))
    wavefire.append_paged_kv_cache(*rows, *where, cache, ints(2, 0), ints(0, 2), ints(1))
    return cache


def append_latent(x: Tensor, y: Tensor) -> Tensor:
    latent = torch.zeros(2, 4, 96)
    wavefire.append_paged_mla_kv_cache(
        x[:2], y[:2, :32], ints(0, 0), ints(1, 4), latent[..., :64], latent[..., 64:], ints(1, 0),
        ints(0, 2), ints(1),
    )  # fmt: skip
    return latent


LAYERS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "rmsnorm": lambda x, _: wavefire.rmsnorm(x * 2, WEIGHT) + 1,
    "rmsnorm in place": lambda x, _: in_place(lambda a: wavefire.rmsnorm(a, WEIGHT, out=a), x),
    "gemma_rmsnorm": lambda x, _: wavefire.gemma_rmsnorm(x, WEIGHT),
    "fused_add_rmsnorm": lambda x, y: in_place(
        lambda a, b: wavefire.fused_add_rmsnorm(a, b, WEIGHT), x, y
    ),
    "fused_add_rmsnorm of arguments": lambda x, y: wavefire.fused_add_rmsnorm(x, y, WEIGHT),
    "gemma_fused_add_rmsnorm": lambda x, y: wavefire.gemma_fused_add_rmsnorm(x, y, WEIGHT),
    "layernorm": lambda x, _: wavefire.layernorm(x, WEIGHT, WEIGHT),
    "silu_and_mul": lambda x, _: wavefire.silu_and_mul(x * 2) + 1,
    "gelu_and_mul": lambda x, _: wavefire.gelu_and_mul(x),
    "apply_rope": lambda x, y: wavefire.apply_rope(heads(x), heads(y), ints(0, 4), ints(3)),
    "apply_llama31_rope_pos_ids": lambda x, y: wavefire.apply_llama31_rope_pos_ids(
        heads(x), heads(y), torch.arange(4)
    ),
    "apply_rope_pos_ids_inplace": lambda x, y: in_place(
        lambda a, b: wavefire.apply_rope_pos_ids_inplace(heads(a), heads(b), torch.arange(4)), x, y
    ),
    "apply_rope_with_cos_sin_cache": lambda x, y: wavefire.apply_rope_with_cos_sin_cache(
        torch.arange(4), x, y, 32, TABLE
    ),
    "softmax": lambda x, _: wavefire.softmax(x, 0.7),
    "sampling_from_logits": lambda x, _: wavefire.sampling_from_logits(x, seed=1),
    "sampling_from_probs": lambda x, _: wavefire.sampling_from_probs(x.exp(), seed=1),
    "sampling, no seed": lambda x, _: wavefire.sampling_from_probs(x.exp()),
    "top_k_top_p_sampling_from_probs": lambda x, _: wavefire.top_k_top_p_sampling_from_probs(
        x.exp(), torch.full((4,), 3), 0.9, seed=torch.arange(4), return_valid=True
    ),
    "top_p_renorm_probs": lambda x, _: wavefire.top_p_renorm_probs(x.exp(), 0.9),
    "top_k_mask_logits": lambda x, _: wavefire.top_k_mask_logits(x, 3),
    "merge_state": lambda x, y: wavefire.merge_state(heads(x), x[:, :2], heads(y), y[:, :2]),
    "merge_state_in_place": lambda x, y: in_place(
        lambda a, s: wavefire.merge_state_in_place(heads(a), s, heads(y), y[:, :2]), x, x[:, :2]
    ),
    "merge_states": lambda x, _: wavefire.merge_states(
        x.view(2, 2, 2, 32), x[:2, :4].view(2, 2, 2)
    ),
    "append_paged_kv_cache": append,
    "append_paged_mla_kv_cache": append_latent,
    "get_seq_lens": lambda _, __: wavefire.get_seq_lens(ints(0, 2), ints(3), 4),
    "packbits": lambda x, _: wavefire.packbits(x.view(-1) > 0),
    "decode": lambda x, _: DECODE.run(heads(x) * 2, CACHE, return_lse=True),
    "prefill": lambda x, _: PREFILL.run(heads(x) * 2, CACHE) + 1,
    "ragged": lambda x, y: RAGGED.run(heads(x), heads(y), heads(y)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_whole_graphs(name: str) -> None:
    """Equal to the bit; what is written to the arguments too."""
    layer = LAYERS[name]
    given = torch.randn(4, 64), torch.randn(4, 64)
    plain, compiled = (tuple(x.clone() for x in given) for _ in range(2))
    expected = layer(*plain)
    torch.manual_seed(3)
    expected = layer(*plain) if "no seed" in name else expected
    torch.manual_seed(3)
    result = torch.compile(layer, fullgraph=True, backend="aot_eager")(*compiled)
    torch.testing.assert_close((result, compiled), (expected, plain), rtol=0, atol=0)


BATCH, PLACES = ints(0, 1, 2, 3), ints(2, 2, 2, 2)
TABLES = ints(0, 1, 2, 0), ints(0, 1, 2, 3, 4), ints(3, 3, 3, 3)


def model(x: Tensor, residual: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
    """A layer: every result is used once, or only written in place. Nothing that inductor would
    call a C++ compiler for.
    """
    wavefire.fused_add_rmsnorm(x, residual, WEIGHT)
    q, k = wavefire.rmsnorm(x, WEIGHT), wavefire.gemma_rmsnorm(x, WEIGHT)
    wavefire.apply_rope_pos_ids_inplace(heads(q), heads(k), PLACES)
    wavefire.append_paged_kv_cache(heads(k), heads(x), BATCH, PLACES, cache, *TABLES)
    out = DECODE.run(heads(q), cache).view_as(q)
    wavefire.fused_add_rmsnorm(out, residual, WEIGHT)
    return wavefire.sampling_from_logits(wavefire.silu_and_mul(out), seed=1), residual


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_layer_of_several_operations(backend: str) -> None:
    given = torch.randn(4, 64), torch.randn(4, 64), CACHE.clone()
    plain, compiled = (tuple(x.clone() for x in given) for _ in range(2))
    expected = model(*plain)
    result = torch.compile(model, fullgraph=True, backend=backend)(*compiled)
    torch.testing.assert_close((result, compiled), (expected, plain), rtol=0, atol=0)


X, Q, S = torch.rand(4, 64), torch.rand(4, 2, 32), torch.rand(4, 2)
OPERATORS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (norm._rms_norm, (X, WEIGHT, torch.empty(4, 64), 1e-6, 0.0)),
    (norm._fused_add_rms_norm, (X.clone(), X.clone(), WEIGHT, 1e-6, 0.0)),
    (activation._gated_activation, (0, X, torch.empty(4, 32))),
    (rope._apply_rope, (Q, Q + 1, ints(0, 1, 2, 3), None, torch.empty_like(Q), torch.empty_like(Q),
                        0, False, 1.0, 1e4, 0.0, 0.0, 0.0)),
    (sampling._sample, (X, False, None, 0.0, None, 1.0, None, 0.0, None, False, 1, None, 0, None,
                        ints(0, 0, 0, 0), None)),
    (cascade._merge_state, (Q, S, Q + 1, S + 1, torch.empty_like(Q), torch.empty_like(S), None)),
    (page._append, (Q, Q + 1, ints(0, 0, 0, -1), ints(0, 1, 2, 3), torch.zeros(1, 4, 2, 32),
                    torch.zeros(1, 4, 2, 32), ints(0, 1), ints(0), ints(3), 4, False)),
    (_attention._run, (DECODE._batch._handle, Q, CACHE[:, 0], CACHE[:, 1], torch.empty_like(Q),
                       torch.empty_like(S), 1.0, 1.0, 1.0, None, None, None, None, None)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "arguments"), OPERATORS, ids=[call.__name__ for call, _ in OPERATORS]
)
def test_operators_are_what_their_schemas_say(
    call: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    call._torchdynamo_inline("test", *arguments)  # what torch.compile traces registers it
    operator = getattr(torch.ops.wavefire, call.__name__).default
    raw = [x.key if isinstance(x, _graphs.Opaque) else x for x in arguments]
    torch.library.opcheck(operator, ("test", *raw))


def test_other_batches_and_plans_compile_anew_twice_at_most() -> None:
    def layer(x: Tensor, residual: Tensor) -> Tensor:
        wavefire.fused_add_rmsnorm(x, residual, WEIGHT)
        return wavefire.silu_and_mul(x)

    count = CompileCounter()
    compiled = torch.compile(layer, fullgraph=True, backend=count)
    for rows in (4, 2, 1, 3, 7, 100):
        x, residual = torch.randn(rows, 64), torch.randn(rows, 64)
        expected = layer(x.clone(), residual.clone())
        assert torch.equal(compiled(x, residual), expected)
    assert count.frame_count <= 3

    count = CompileCounter()
    wrappers = [decode(), decode()]
    run = torch.compile(lambda w, q: w.run(q, CACHE), fullgraph=True, backend=count)
    for batch in (4, 3, 2, 5, 8):
        for wrapper in wrappers:
            plan(wrapper, batch)
            q = torch.randn(batch, 2, 32)
            assert torch.equal(run(wrapper, q), wrapper.run(q, CACHE))
    assert count.frame_count <= 3


def test_errors_within_graphs_are_the_same() -> None:
    """Of shapes, while the graph is made or run; of values, when it runs."""
    for layer, x, text in (
        (lambda x: wavefire.silu_and_mul(x), torch.zeros(2, 5), "silu_and_mul: 'input' .*even"),
        (
            lambda x: wavefire.sampling_from_probs(x, seed=1), torch.zeros(2, 4),
            "sampling_from_probs: .*in row 0; accepted: rows of finite weights",
        ),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            torch.compile(layer, fullgraph=True, backend="aot_eager")(x)


def test_what_reads_values_breaks_graphs_cleanly() -> None:
    """In a fresh process, so that PyTorch comes after the package, and the library is loaded
    inside of the compiled function.
    """
    code = (
        "import wavefire, torch\n"
        "def layer(x, weight):\n"
        "    y = wavefire.silu_and_mul(wavefire.rmsnorm(x * 2, weight)) + 1\n"
        "    return wavefire.sampling_from_probs(y.exp(), seed=1)\n"
        "def request(x, weight):\n"
        "    q = wavefire.rmsnorm(x * 2, weight).view(-1, 2, 32)\n"
        "    return wavefire.single_prefill_with_kv_cache(q, q, q) * 2\n"
        "x, weight = torch.randn(4, 64), torch.ones(64)\n"
        "whole = torch.compile(layer, fullgraph=True, backend='eager')(x, weight)\n"
        "assert torch.equal(whole, layer(x, weight))\n"
        "parts = torch.compile(request, backend='eager')(x, weight)\n"
        "assert torch.equal(parts, request(x, weight))\n"
        "try:\n"
        "    torch.compile(request, fullgraph=True, backend='eager')(x, weight)\n"
        "except torch._dynamo.exc.Unsupported:\n"
        "    pass\n"
        "else:\n"
        "    raise AssertionError('update the documents: plans are in graphs')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""
