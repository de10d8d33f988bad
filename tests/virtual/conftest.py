"""Every kernel runs on both targets, with all checks on, in two orders of waves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from instinct import KERNELS, LIBRARY, TARGETS, Module, settings

# Without the library (no LLVM, or no clang that compiles kernels) there is nothing to test.
collect_ignore_glob = [] if LIBRARY.exists() and KERNELS.exists() else ["test_*.py"]

_modules: dict[str, Module] = {}


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def kernels(target: str) -> Callable[[str], Module]:
    """The code object of kernels/<name>.hip for this target."""

    def load(name: str) -> Module:
        path = str(KERNELS / f"{name}.{target}.co")
        if path not in _modules:
            _modules[path] = Module(path)
        return _modules[path]

    return load


@pytest.fixture(params=[0, 77], ids=["in_order", "permuted"])
def order(request: pytest.FixtureRequest) -> Iterator[int]:
    with settings(seed=request.param):
        yield request.param


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)
