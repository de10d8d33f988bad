"""Sampling from logits and probabilities (FlashInfer's ``flashinfer.sampling``).

Every draw uses a number of Philox (one a round with top-p alone), keyed by a seed, and by an
offset and the number of the row. Seed and offset come from ``seed`` and ``offset``, or the seed
from ``generator`` (PyTorch's or NumPy's) or from the framework's default generator, which then
moves on: ``torch.manual_seed`` (``numpy.random.seed`` for NumPy and JAX) makes a run repeatable.
With one seed per row a row's tokens do not depend on where it stands.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import message, number, require_takable, shown, whole
from ._graphs import in_graphs
from ._library import function
from ._tensors import empty, empty_like, is_tensor, is_torch, require_tensor, returned

_ALL: Any = object()  # no top_k

_TOP_K, _TOP_P = ("float top_k", "Tensor? top_k"), ("float top_p", "Tensor? top_p")
_sample = function(
    "sample", "Tensor weights", "bool logits", "Tensor? indices", *_TOP_K, *_TOP_P, "float min_p",
    "Tensor? min_p", "bool filter_apply_order", "int seed", "Tensor? seed", "int offset",
    "Tensor? offset", "Tensor! samples", "Tensor!? valid",
)  # fmt: skip
_softmax = function(
    "softmax", "Tensor logits", "float temperature", "Tensor? temperature", "Tensor! out"
)
_renormalize = function("renormalize", "Tensor probs", *_TOP_K, *_TOP_P, "Tensor! out")
_mask_logits = function("mask_logits", "Tensor logits", *_TOP_K, "Tensor! out")


def get_seed_and_offset(
    increment: int, generator: Any = None, device: Any = None
) -> tuple[int, int]:
    """A seed and an offset for one call: 64 bits that the generator (PyTorch's default one) draws
    on its own device, and 0.

    ``increment`` has no effect: the generator always moves on by one number. Waits for the device
    of the generator; operations on its device do not.
    """
    return int(_drawn(generator, device)), 0


def _drawn(generator: Any, device: Any) -> Any:
    """64 bits of a generator: an integer, or an int64 tensor of one on the generator's device."""
    if generator is not None and hasattr(generator, "integers"):  # NumPy's
        return int(generator.integers(-(2**63), 2**63 - 1))
    torch = sys.modules.get("torch")
    if generator is not None and not (torch and isinstance(generator, torch.Generator)):
        raise TypeError(message("sampling", "generator", shown(generator), "PyTorch's or NumPy's"))
    if torch is None:
        return int(np.random.randint(-(2**63), 2**63 - 1, dtype=np.int64))
    device = generator.device if generator is not None else device
    return torch.randint(
        -(2**63), 2**63 - 1, (1,), dtype=torch.int64, generator=generator, device=device
    )


def _signed(operation: str, name: str, x: Any) -> int:
    """The 64-bit pattern of an integer, signed or not."""
    value = whole(operation, name, x, -(2**63), 2**64 - 1)
    return value - 2**64 if value >= 2**63 else value


def _keys(operation: str, name: str, x: Any, samples: int) -> tuple[int, Any]:
    """A seed or an offset: an integer, or a tensor of one or of one per sample."""
    if not is_tensor(x):
        return _signed(operation, name, x), None
    integers = ("int32", "int64", "uint64")
    if x.ndim > 1 or str(x.dtype).removeprefix("torch.") not in integers:
        raise ValueError(
            f"{operation}: '{name}' is {x.dtype}{list(x.shape)}; accepted: an integer, or a tensor "
            f"of one or {samples} (int64 or uint64)"
        )
    x = x.reshape(1) if x.ndim == 0 else x
    if x.shape[0] not in (1, samples):
        raise ValueError(
            f"{operation}: '{name}' has {x.shape[0]} entries; accepted: 1 or {samples}"
        )
    if is_torch(x):
        torch = sys.modules["torch"]
        return 0, x.view(torch.int64) if x.dtype == torch.uint64 else x.to(torch.int64)
    array = np.asarray(x)
    return 0, array.view(np.int64) if array.dtype == np.uint64 else array.astype(np.int64)


def _random_numbers(
    operation: str, like: Any, samples: int, generator: Any, seed: Any, offset: Any
) -> tuple[int, Any, int, Any]:
    """Seed and seeds, offset and offsets, as the library takes them."""
    if seed is not None and generator is not None:
        raise ValueError(f"{operation}: 'generator' is given with 'seed'; accepted: one of them")
    if seed is not None:
        offset = 0 if offset is None else offset
        return *_keys(operation, "seed", seed, samples), *_keys(
            operation, "offset", offset, samples
        )
    if offset is not None:
        raise ValueError(
            f"{operation}: 'offset' is given without 'seed'; accepted: both or neither"
        )
    if is_torch(like) or generator is not None:
        drawn = _drawn(generator, like.device if is_torch(like) else None)
    else:
        drawn = int(np.random.randint(-(2**63), 2**63 - 1, dtype=np.int64))
    if is_torch(drawn) and is_torch(like) and drawn.device == like.device:
        return 0, drawn, 0, None
    return int(drawn), None, 0, None


@in_graphs(lambda *_: None)
def _way_back(like: Any, generator: Any, seed: Any) -> Callable[[], None] | None:
    """What puts the generator of a call back to where it is now; None if it is not on the host."""
    torch = sys.modules.get("torch")
    if seed is not None:
        return None
    if generator is None and not is_torch(like):
        return functools.partial(np.random.set_state, np.random.get_state())
    if hasattr(generator, "integers"):
        bits = generator.bit_generator
        return functools.partial(setattr, bits, "state", bits.state)
    if torch is None or (generator is None and not like.is_cpu):
        return None
    chosen = torch.default_generator if generator is None else generator
    if not isinstance(chosen, torch.Generator) or chosen.device.type != "cpu":
        return None
    return functools.partial(chosen.set_state, chosen.get_state())


def _check_nan(operation: str, x: Any, logits: bool) -> None:
    if bool((x != x).any()):
        raise ValueError(f"{operation}: Input {'logits' if logits else 'probs'} contains NaN.")


def _parameter(operation: str, name: str, x: Any, rows: int) -> tuple[float, Any]:
    """A number for all rows, or a tensor with one for each."""
    if not is_tensor(x):
        if x is None:
            accepted = "a number or a tensor of one for each row"
            raise TypeError(message(operation, name, "None", accepted))
        return number(operation, name, x), None
    require_takable(operation, name, x)
    if x.ndim != 1:
        raise ValueError(
            f"{operation}: Expected a 1D tensor of shape (batch_size,) or scalar for {name}, "
            f"got shape {tuple(x.shape)}"
        )
    if x.shape[0] != rows:
        raise ValueError(
            f"{operation}: Sampling parameter tensor batch size mismatch: {name} has "
            f"{x.shape[0]} entries; accepted: {rows}"
        )
    if str(x.dtype).removeprefix("torch.") not in ("float32", "int32", "int64"):
        x = x.float() if is_torch(x) else np.asarray(x, dtype=np.float32)
    return 0.0, x


def _count(operation: str, x: Any, rows: int) -> tuple[float, Any]:
    """`top_k`: the library's 0, no such filter, is not the caller's to give."""
    value, tensor = _parameter(operation, "top_k", x, rows)
    if tensor is None and not value >= 1:
        raise ValueError(message(operation, "top_k", shown(x), "1 or more"))
    if tensor is None and value % 1 != 0:
        raise ValueError(message(operation, "top_k", shown(x), "a whole number of 1 or more"))
    return value, tensor


def _draw(
    operation: str, weights: Any, *, logits: bool, indices: Any, generator: Any, check_nan: bool,
    seed: Any, offset: Any, return_valid: bool = False, top_k: Any = _ALL, top_p: Any = 1.0,
    min_p: Any = 0.0, top_k_first: bool = False,
) -> Any:  # fmt: skip
    require_tensor(operation, "logits" if logits else "probs", weights, 2)
    if indices is not None:
        require_tensor(operation, "indices", indices, 1)
    if check_nan:
        _check_nan(operation, weights, logits)
    rows = weights.shape[0] if indices is None else indices.shape[0]
    k, ks = (0, None) if top_k is _ALL else _count(operation, top_k, rows)
    p, ps = _parameter(operation, "top_p", top_p, rows)
    m, ms = _parameter(operation, "min_p", min_p, rows)
    samples = empty(weights, (rows,), "int32" if indices is None else indices.dtype)
    valid = empty(weights, (rows,), "bool") if return_valid else None
    go_back = _way_back(weights, generator, seed)
    random = _random_numbers(operation, weights, rows, generator, seed, offset)
    try:
        _sample(
            operation, weights, logits, indices, k, ks, p, ps, m, ms, top_k_first, *random, samples,
            valid,
        )  # fmt: skip
    except Exception:
        if go_back is not None:  # a refused call draws nothing
            go_back()
        raise
    samples = returned(weights, samples)
    return (samples, returned(weights, valid)) if return_valid else samples


def softmax(logits: Any, temperature: Any = None, enable_pdl: bool | None = None) -> Any:
    """``softmax(logits / temperature)`` in float32; temperature positive, for all or per row."""
    operation = "softmax"
    require_tensor(operation, "logits", logits, 2)
    out = empty(logits, tuple(logits.shape), "float32")
    temperature = 1.0 if temperature is None else temperature
    value, rows = _parameter(operation, "temperature", temperature, logits.shape[0])
    _softmax(operation, logits, value, rows, out)
    return returned(logits, out)


def sampling_from_logits(
    logits: Any,
    indices: Any = None,
    deterministic: bool = True,
    generator: Any = None,
    check_nan: bool = False,
    seed: Any = None,
    offset: Any = None,
) -> Any:
    """A token per row of ``logits [batch, vocab]``, distributed as their softmax; int32
    ``[batch]``.

    ``indices [samples]`` names the row of each sample (and gives the result its dtype).
    """
    return _draw(
        "sampling_from_logits", logits, logits=True, indices=indices, generator=generator,
        check_nan=check_nan, seed=seed, offset=offset,
    )  # fmt: skip


def sampling_from_probs(
    probs: Any,
    indices: Any = None,
    deterministic: bool = True,
    generator: Any = None,
    check_nan: bool = False,
    seed: Any = None,
    offset: Any = None,
    return_valid: bool = False,
) -> Any:
    """A token per row of ``probs [batch, vocab]`` (they need not sum to one)."""
    return _draw(
        "sampling_from_probs", probs, logits=False, indices=indices, generator=generator,
        check_nan=check_nan, seed=seed, offset=offset, return_valid=return_valid,
    )  # fmt: skip


def top_p_sampling_from_probs(
    probs: Any,
    top_p: Any,
    indices: Any = None,
    deterministic: bool = True,
    generator: Any = None,
    check_nan: bool = False,
    seed: Any = None,
    offset: Any = None,
    return_valid: bool = False,
) -> Any:
    """From the fewest largest probabilities that sum up to ``top_p``; ties with the last stay."""
    return _draw(
        "top_p_sampling_from_probs", probs, logits=False, indices=indices, generator=generator,
        check_nan=check_nan, seed=seed, offset=offset, return_valid=return_valid, top_p=top_p,
    )  # fmt: skip


def top_k_sampling_from_probs(
    probs: Any,
    top_k: Any,
    indices: Any = None,
    deterministic: bool = True,
    generator: Any = None,
    check_nan: bool = False,
    seed: Any = None,
    offset: Any = None,
    return_valid: bool = False,
) -> Any:
    """From the ``top_k`` largest probabilities (ties with the last stay)."""
    return _draw(
        "top_k_sampling_from_probs", probs, logits=False, indices=indices, generator=generator,
        check_nan=check_nan, seed=seed, offset=offset, return_valid=return_valid, top_k=top_k,
    )  # fmt: skip


def min_p_sampling_from_probs(
    probs: Any,
    min_p: Any,
    indices: Any = None,
    deterministic: bool = True,
    generator: Any = None,
    check_nan: bool = False,
    seed: Any = None,
    offset: Any = None,
    return_valid: bool = False,
) -> Any:
    """From the probabilities of at least ``min_p`` times the row's largest."""
    return _draw(
        "min_p_sampling_from_probs", probs, logits=False, indices=indices, generator=generator,
        check_nan=check_nan, seed=seed, offset=offset, return_valid=return_valid, min_p=min_p,
    )  # fmt: skip


def _order(operation: str, filter_apply_order: str) -> bool:
    if filter_apply_order not in ("top_k_first", "joint"):
        raise ValueError(
            f"{operation}: Invalid filter_apply_order: {filter_apply_order}; accepted: "
            "top_k_first, joint"
        )
    return filter_apply_order == "top_k_first"


def top_k_top_p_sampling_from_probs(
    probs: Any,
    top_k: Any,
    top_p: Any,
    indices: Any = None,
    filter_apply_order: str = "top_k_first",
    deterministic: bool = True,
    generator: Any = None,
    check_nan: bool = False,
    seed: Any = None,
    offset: Any = None,
    return_valid: bool = False,
) -> Any:
    """Both filters: ``top_k_first`` counts top_p of what top_k left, ``joint`` of the whole."""
    operation = "top_k_top_p_sampling_from_probs"
    return _draw(
        operation, probs, logits=False, indices=indices, generator=generator, check_nan=check_nan,
        seed=seed, offset=offset, return_valid=return_valid, top_k=top_k, top_p=top_p,
        top_k_first=_order(operation, filter_apply_order),
    )  # fmt: skip


def top_k_top_p_sampling_from_logits(
    logits: Any,
    top_k: Any,
    top_p: Any,
    indices: Any = None,
    filter_apply_order: str = "top_k_first",
    deterministic: bool = True,
    generator: Any = None,
    check_nan: bool = False,
    seed: Any = None,
    offset: Any = None,
) -> Any:
    """``top_k_top_p_sampling_from_probs`` of the softmax, in one pass."""
    operation = "top_k_top_p_sampling_from_logits"
    return _draw(
        operation, logits, logits=True, indices=indices, generator=generator, check_nan=check_nan,
        seed=seed, offset=offset, top_k=top_k, top_p=top_p,
        top_k_first=_order(operation, filter_apply_order),
    )  # fmt: skip


def top_p_renorm_probs(probs: Any, top_p: Any, is_deterministic: bool = False) -> Any:
    """Zeroes what top_p drops and scales the rest to sum to one. Always deterministic."""
    operation = "top_p_renorm_probs"
    require_tensor(operation, "probs", probs, 2)
    out = empty_like(probs)
    p, ps = _parameter(operation, "top_p", top_p, probs.shape[0])
    _renormalize(operation, probs, 0, None, p, ps, out)
    return returned(probs, out)


def top_k_renorm_probs(probs: Any, top_k: Any) -> Any:
    """Zeroes what top_k drops and scales the rest to sum to one."""
    operation = "top_k_renorm_probs"
    require_tensor(operation, "probs", probs, 2)
    out = empty_like(probs)
    k, ks = _count(operation, top_k, probs.shape[0])
    _renormalize(operation, probs, k, ks, 1.0, None, out)
    return returned(probs, out)


def top_k_mask_logits(logits: Any, top_k: Any) -> Any:
    """The ``top_k`` largest logits (ties with the last stay), the others -inf."""
    operation = "top_k_mask_logits"
    require_tensor(operation, "logits", logits, 2)
    out = empty_like(logits)
    k, ks = _count(operation, top_k, logits.shape[0])
    _mask_logits(operation, logits, k, ks, out)
    return returned(logits, out)


top_p_renorm_prob = top_p_renorm_probs
top_k_renorm_prob = top_k_renorm_probs
