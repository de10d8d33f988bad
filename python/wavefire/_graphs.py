"""Calls of the library in graphs of ``torch.compile``.

There a call of an exported function is the operator ``torch.ops.wavefire.NAME``. The Python around
it, which checks arguments and allocates results, is traced like any other. The library returns
nothing and writes to tensors that it is given: which ones, is all that a schema has to say.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any, ClassVar

_SCHEMA_TYPES = {"int": "SymInt", "Opaque": "SymInt"}  # what schemas call otherwise


class Opaque:
    """An object of the library. In graphs, which hold tensors and numbers only, its key stands for
    it, from its making to `forget`.
    """

    __slots__ = ("held", "key")
    _keys = itertools.count(1)
    _of_key: ClassVar[dict[int, Opaque]] = {}

    def __init__(self, held: Any) -> None:
        self.held, self.key = held, next(Opaque._keys)
        Opaque._of_key[self.key] = self

    def forget(self) -> None:
        del Opaque._of_key[self.key]


def in_graphs(
    replacement: Callable[..., Any],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function that ``torch.compile`` cannot trace; it traces `replacement` instead.
    Calls outside of graphs pay nothing.
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        f._torchdynamo_inline = replacement  # type: ignore[attr-defined]
        return f

    return decorate


def constant_in_graphs(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function of constants, to a constant, that ``torch.compile`` calls while it
    traces.
    """
    f._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return f


def schema(parameters: tuple[str, ...]) -> str:
    """PyTorch's schema of a function. `parameters` are "type name", names may repeat; ``!`` marks
    what is written: ``Tensor!``, ``Tensor!?``.
    """
    declared = ["str operation"]
    for i, parameter in enumerate(parameters):
        kind, name = parameter.split()
        kind = _SCHEMA_TYPES.get(kind, kind).replace("!", f"(written{i}!)")
        declared.append(f"{kind} {name}_{i}")
    return f"({', '.join(declared)}) -> ()"


_libraries: dict[str, Any] = {}  # torch.library.Library of each operator


def operator(
    name: str, parameters: tuple[str, ...], call: Callable[..., Any]
) -> Callable[..., Any]:
    """What ``torch.compile`` traces instead of `call`, the exported function of that name."""
    opaque = [p.startswith("Opaque ") for p in parameters]

    def run(operation: str, *arguments: Any) -> None:
        call(
            operation,
            *[
                Opaque._of_key[x] if is_opaque else x
                for is_opaque, x in zip(opaque, arguments, strict=True)
            ],
        )

    @constant_in_graphs  # so that it is run while a graph is traced: PyTorch is there by then
    def register() -> bool:
        if name not in _libraries:
            library = sys.modules["torch"].library
            _libraries[name] = fragment = library.Library("wavefire", "FRAGMENT")
            tags = (sys.modules["torch"].Tag.pt2_compliant_tag,)
            fragment.define(name + schema(parameters), tags=tags)
            fragment.impl(name, run, "CompositeExplicitAutograd")
            library.register_fake(f"wavefire::{name}", lambda *_: None, lib=fragment)
        return True

    def traced(operation: str, *arguments: Any) -> None:
        register()
        import torch

        getattr(torch.ops.wavefire, name).default(
            operation,
            *[x.key if is_opaque else x for is_opaque, x in zip(opaque, arguments, strict=True)],
        )

    return traced
