"""FlashInfer's signatures, kept as data in signatures.json: upstream's (0.6.18) and those of its
ROCm ports, where they differ. Ours accept every call that they accept.
"""

from __future__ import annotations

import ast
import inspect
import json
from functools import partial, partialmethod
from pathlib import Path
from typing import Any

import pytest
import wavefire
from wavefire import _hints

TABLE: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parent / "signatures.json").read_text()
)
CASES = [(name, origin) for name, origins in TABLE.items() for origin in origins]
# The same value, written differently.
SAME_DEFAULTS = {
    ("BatchDecodeWithPagedKVCacheWrapper.plan", "q_data_type"): (None, "float16"),
    ("BatchDecodeWithPagedKVCacheWrapper.run", "q_len_per_req"): (None, 1),
}


def theirs(name: str, origin: str) -> inspect.Signature:
    """The signature in the table, which is written as Python."""
    scope: dict[str, Any] = {"MaskMode": wavefire.utils.MaskMode}
    exec(f"def f({TABLE[name][origin]}): ...", scope)
    return inspect.signature(scope["f"])


def ours(name: str) -> Any:
    found: Any = wavefire
    for part in name.split("."):
        found = (
            inspect.getattr_static(found, part) if isinstance(found, type) else getattr(found, part)
        )
    return found


def signature_of(function: Any) -> inspect.Signature:
    if isinstance(function, partialmethod):
        function = function.func
    return inspect.signature(function)


@pytest.mark.parametrize(("name", "origin"), CASES)
def test_every_call_is_accepted(name: str, origin: str) -> None:
    mine = signature_of(ours(name)).parameters
    kinds = inspect.Parameter
    open_ended = any(p.kind is kinds.VAR_KEYWORD for p in mine.values())
    for p in theirs(name, origin).parameters.values():
        if p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD):
            assert any(m.kind is p.kind for m in mine.values()), p
            continue
        if open_ended:
            continue
        assert p.name in mine, f"{name} lacks '{p.name}'"
        m = mine[p.name]
        if p.default is kinds.empty:
            continue
        same = SAME_DEFAULTS.get((name.split(".", 1)[1], p.name))
        assert (m.default, p.default) == same or m.default == p.default, p.name


@pytest.mark.parametrize("name", TABLE)
def test_positions_are_upstreams(name: str) -> None:
    """Positional calls mean the same: ours begin with upstream's parameters, in their order."""
    origin = "upstream" if "upstream" in TABLE[name] else next(iter(TABLE[name]))
    kinds = inspect.Parameter

    def positional(signature: inspect.Signature) -> list[str]:
        wanted = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        return [p.name for p in signature.parameters.values() if p.kind in wanted]

    mine, expected = positional(signature_of(ours(name))), positional(theirs(name, origin))
    if len(mine) > 1:  # else: everything is passed on
        assert mine[: len(expected)] == expected


def functions_of(module: Any) -> dict[str, ast.FunctionDef]:
    """All functions of a module, methods as Class.method."""
    tree = ast.parse(Path(module.__file__).read_text())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    found[f"{node.name}.{member.name}"] = member
    return found


@pytest.mark.parametrize("name", TABLE)
def test_an_argument_acts_or_is_a_hint(name: str) -> None:
    """Parameters that a function never looks at are all in the table of hints."""
    module_name, function_name = name.split(".", 1)
    function = functions_of(getattr(wavefire, module_name)).get(function_name)
    if function is None:  # inherited, or another name of one that is here
        assert not isinstance(ours(name), partial)
        return
    arguments = function.args
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs:
        if argument.arg != "self" and argument.arg not in used:
            assert argument.arg in _hints.HINTS, f"{name} ignores '{argument.arg}'"


def test_results_are_tuples_only_when_asked() -> None:
    import torch

    p = torch.rand(2, 9)
    for draw in (
        wavefire.sampling_from_probs,
        partial(wavefire.top_k_sampling_from_probs, top_k=2),
        partial(wavefire.top_p_sampling_from_probs, top_p=0.5),
        partial(wavefire.min_p_sampling_from_probs, min_p=0.5),
        partial(wavefire.top_k_top_p_sampling_from_probs, top_k=2, top_p=0.5),
    ):
        assert isinstance(draw(p), torch.Tensor)
        assert isinstance(draw(p, return_valid=True), tuple)
    assert wavefire.fused_add_rmsnorm(p, p.clone(), torch.ones(9)) is None
    q = torch.rand(3, 4, 8)
    assert isinstance(wavefire.single_prefill_with_kv_cache(q, q, q), torch.Tensor)
    assert isinstance(wavefire.single_prefill_with_kv_cache_return_lse(q, q, q), tuple)


@pytest.mark.parametrize("backend", ["fa3", "aiter", "trtllm-gen", "cudnn", "trtllm"])
def test_an_explicit_backend_runs_or_raises(backend: str) -> None:
    import torch

    x, w = torch.rand(2, 8), torch.ones(8)
    for call in (
        lambda b: wavefire.rmsnorm(x, w, backend=b),
        lambda b: wavefire.fused_add_rmsnorm(x.clone(), x.clone(), w, backend=b),
        lambda b: wavefire.silu_and_mul(x, backend=b),
        lambda b: wavefire.BatchDecodeWithPagedKVCacheWrapper(None, backend=b),
        lambda b: wavefire.BatchPrefillWithPagedKVCacheWrapper(None, backend=b),
        lambda b: wavefire.BatchPrefillWithRaggedKVCacheWrapper(None, backend=b),
    ):
        for here in ("auto", "fa2", "native"):
            call(here)
        with pytest.raises(wavefire.utils.ArchCapabilityError, match="accepted: auto, fa2, native"):
            call(backend)
        with pytest.raises(ValueError, match="'backend' is 'fa9'; accepted: auto, fa2, native"):
            call("fa9")
