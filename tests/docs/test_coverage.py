"""Every public name is in an example that runs, every operation in the support matrix."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import wavefire

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import support_matrix
from test_code_blocks import blocks

MODULES = (
    "activation", "cascade", "decode", "kv_cache", "norm", "page", "prefill", "quantization",
    "rope", "sampling",
)  # fmt: skip
RESULTS = {"PageCopy", "CacheStats", "Tables"}  # what KvCache returns; nobody makes one


def public_names() -> Iterator[str]:
    """Functions and classes: those at the package's root, and those of the modules."""
    yield from (n for n in wavefire.__all__ if callable(getattr(wavefire, n)))
    for module in (getattr(wavefire, name) for name in MODULES):
        for name, value in vars(module).items():
            callable_here = inspect.isfunction(value) or inspect.isclass(value)
            if callable_here and value.__module__ == module.__name__ and name[0] != "_":
                yield value.__name__  # of an alias the name that it stands for


NAMES = sorted(set(public_names()) - RESULTS)
CODE = "\n".join(block.code for block in blocks("python") if block.document.startswith("docs/"))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_in_an_example(name: str) -> None:
    assert re.search(rf"wavefire(\.\w+)*\.{name}\b", CODE), f"no example in docs uses {name}"


def test_the_support_matrix_is_what_the_operations_take() -> None:
    assert support_matrix.PAGE.read_text("utf-8") == support_matrix.page(), (
        "run tools/support_matrix.py"
    )
