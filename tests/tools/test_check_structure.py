"""The structure script finds what it promises to find: one planted violation each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from check_structure import Finding, check_file, cpp_functions, main, source_files, strip_comments


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree that breaks no rule."""
    files = {
        "include/wavefire/dtype.h": "#pragma once\n",
        "include/wavefire/error.h": '#include <string>\n#include "wavefire/dtype.h"\n',
        "kernels/tile/target.h": "#pragma once\n",
        "kernels/tile/sm80/mma.h": '#include "tile/target.h"\n',
        "kernels/attention/params.h": '#include "wavefire/dtype.h"\n',
        "kernels/attention/attend.h": '#include "attention/params.h"\n#include "tile/target.h"\n',
        "src/core/check.h": '#include "wavefire/error.h"\n',
        "src/plan/planner.cpp": '#include "attention/params.h"\n#include "core/check.h"\n',
        "src/ops/attention.cpp": '#include "plan/planner.h"\n',
        "src/plan/planner.h": "#pragma once\n",
        "src/ffi/module.cpp": "#include <tvm/ffi/function.h>\n",
    }
    for name, text in files.items():
        write(tmp_path, name, text)
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def findings(root: Path, name: str, text: str) -> list[Finding]:
    write(root, name, text)
    return list(check_file(root, name))


def test_clean_tree_has_no_findings(tree: Path) -> None:
    assert [f for name in source_files(tree) for f in check_file(tree, name)] == []


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("include/wavefire/kv.h", '#include "core/check.h"\n', "include"),
        ("src/core/check.cpp", '#include "plan/planner.h"\n', "include"),
        ("src/plan/planner.cpp", '#include "ops/attention.h"\n', "include"),
        ("src/kv/pool.cpp", '#include "plan/planner.h"\n', "include"),
        ("src/plan/planner.cpp", '#include "attention/attend.h"\n', "include"),
        ("src/ops/norm.cpp", "#include <tvm/ffi/function.h>\n", "include"),
        ("src/plan/planner.cpp", "#include <cuda.h>\n", "include"),
        ("kernels/attention/mask.h", '#include "tile/sm80/mma.h"\n', "include"),
        ("kernels/tile/target.h", '#include "tile/sm80/mma.h"\n', "include"),
        ("kernels/tile/cpu/mma.h", '#include "tile/sm80/mma.h"\n', "include"),
        ("kernels/attention/mask.h", "#include <cstdint>\n", "freestanding"),
        ("kernels/attention/mask.h", "#include <immintrin.h>\n", "freestanding"),
        ("kernels/attention/mask.h", "int x = std::max(1, 2);\n", "freestanding"),
        ("kernels/attention/mask.h", "#if defined(__AVX512F__)\n#endif\n", "architecture"),
        ("kernels/attention/mask.h", "constexpr bool sm90 = true;\n", "architecture"),
        ("kernels/attention/mask.h", "#ifdef __CUDA_ARCH__\n#endif\n", "architecture"),
        ("src/core/log.cpp", 'void f() { std::printf("x"); }\n', "call"),
        ("src/ops/norm.cpp", "void f() { std::abort(); }\n", "call"),
        ("src/ops/norm.cpp", 'auto level = std::getenv("LEVEL");\n', "call"),
        ("src/ops/norm.cpp", "// " + 100 * "x" + "\n", "width"),
        ("tools/x.sh", "# " + 100 * "x" + "\n", "width"),
        ("src/ops/norm.cpp", 801 * "\n", "file"),
        ("src/ops/norm.cpp", "void f() {\n" + 61 * "  g();\n" + "}\n", "function"),
        ("tools/x.py", "def f():\n" + 61 * "    g()\n", "function"),
        ("src/ops/norm.h", "template <int A" + 6 * ", int" + ">\nint f();\n", "template"),
    ],
)  # fmt: skip
def test_violation_is_found(tree: Path, name: str, text: str, rule: str) -> None:
    assert [f.rule for f in findings(tree, name, text) if not f.warning] == [rule]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kernels/attention/mask.h", "// As on sm_90, std::max and <cstdint> are not at hand.\n"),
        ("kernels/tile/cpu/avx2/vec.h", "#include <immintrin.h>\n"),
        ("kernels/attention/sm80/loop.h", '#include "tile/sm80/mma.h"\n'),
        ("src/core/config.cpp", 'auto level = std::getenv("LEVEL");\n'),
        ("src/ops/norm.cpp", 'const char* text = "abort()";\n'),
        ("src/ops/norm.cpp", "void f() {\n" + 60 * "  g();\n" + "}\n"),
        ("src/ops/norm.cpp", "// main loop\nvoid f() {\n" + 150 * "  g();\n" + "}\n"),
        ("src/ops/norm.h", "template <int A, int B, int C, int D, int E, int F>\nint f();\n"),
        ("tools/x.py", 'def f():\n    """' + 70 * "text\n    " + '"""\n    return 1\n'),
    ],
)
def test_permitted(tree: Path, name: str, text: str) -> None:
    assert findings(tree, name, text) == []


def test_long_file_warns_before_it_fails(tree: Path) -> None:
    (finding,) = findings(tree, "src/ops/norm.cpp", 501 * "\n")
    assert finding.warning
    assert "501 lines" in finding.text


def test_main_loop_has_a_limit_too(tree: Path) -> None:
    text = "// main loop\nvoid f() {\n" + 151 * "  g();\n" + "}\n"
    (finding,) = findings(tree, "src/ops/norm.cpp", text)
    assert "the limit is 150" in finding.text


def test_functions_are_told_from_other_braces() -> None:
    code = """
WF_NAMESPACE_BEGIN(toy)
namespace a::b {
struct alignas(16) S {
  int x = 3;
  int f() const { return [](int y) { return y; }(x); }
};
template <class T>
class C : public S {
 public:
  C() : S{}, value_{1} {
    g();
  }
};
constexpr int table[] = {1, 2, 3};
enum class E { x, y };
auto h(int n) -> int {
  if (n) { return 1; }
  return 2;
}
}
"""
    names = [name for name, _, _ in cpp_functions(code)]
    assert "f" in names
    assert "h" in names
    assert not {"WF_NAMESPACE_BEGIN", "S", "table", "E", "a", "if"} & set(names)


def test_stripping_keeps_lines_and_digit_separators() -> None:
    text = "int a = 1'000; /* {\n */ char c = '{'; // }\nauto s = \"{//\";\n"
    stripped = strip_comments(text)
    assert stripped.count("\n") == text.count("\n")
    assert "{" not in stripped
    assert "1'000" in stripped


def test_command_line(tree: Path, monkeypatch, capsys) -> None:
    write(tree, "src/core/check.cpp", '#include "plan/planner.h"\n')
    monkeypatch.setattr(sys, "argv", ["check_structure.py", "--root", str(tree)])
    assert main()
    assert "src/core/check.cpp:1: include: may not include src/plan/planner.h" in (
        capsys.readouterr().out
    )
