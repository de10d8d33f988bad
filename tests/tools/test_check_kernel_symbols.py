"""The symbol check tells a level's own names from those that could leak into other levels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from check_kernel_symbols import foreign_symbols

UNIT = """
namespace wavefire::cpu {{
struct ToyKernels {{ int (*run)(int); }};
extern const ToyKernels toy_kernels_avx2;
}}
namespace wavefire::toy {{ inline namespace avx2 {{
template <class T> [[gnu::noinline]] T twice(T x) {{ return x + x; }}
}} }}
{more}
namespace wavefire::cpu {{
const ToyKernels toy_kernels_avx2 = {{[](int x) {{ return {call}; }}}};
}}
"""


def symbols_of(folder: Path, more: str, call: str) -> str:
    source = folder / "unit.cpp"
    source.write_text(UNIT.format(more=more, call=call))
    subprocess.run(["c++", "-O1", "-c", source, "-o", folder / "unit.o", "-std=c++20"], check=True)
    nm = ["nm", "--extern-only", "--format=posix", folder / "unit.o"]
    return subprocess.run(nm, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("more", "call", "expected"),
    [
        ("", "toy::twice(x)", []),
        ("extern \"C\" void* memset(void*, int, unsigned long);\nchar room[100];", "x",
         ["defines room"]),
        ("inline __attribute__((noinline)) int leak(int x) { return x + 1; }", "leak(x)",
         ["defines _Z4leaki"]),
        ("extern \"C\" int puts(const char*);", "puts(\"x\")", ["calls puts"]),
    ],
)  # fmt: skip
def test_symbols(tmp_path: Path, more: str, call: str, expected: list[str]) -> None:
    assert list(foreign_symbols("avx2", "toy", symbols_of(tmp_path, more, call))) == expected


def test_missing_table() -> None:
    assert list(foreign_symbols("avx2", "toy", "")) == [
        "does not define its table _ZN8wavefire3cpu16toy_kernels_avx2E"
    ]
