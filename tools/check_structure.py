#!/usr/bin/env python3
"""Checks the house rules that no compiler checks (DESIGN.md, sections 2 and 9).

Who includes whom, what device code may use, and how large things may grow. Prints one line for
each violation, `path:line: rule: what`, and fails when there is one. Soft limits only warn.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

FILE_LINES_SOFT = 500
FILE_LINES = 800
FUNCTION_LINES = 60
MAIN_LOOP_LINES = 150
MAIN_LOOP_MARKER = "// main loop"  # ends the comment right above a kernel's main loop
TEMPLATE_PARAMETERS = 6
LINE_WIDTH = 100

CPP = {".h", ".cpp", ".cu", ".hip"}
CODE = CPP | {".py", ".sh", ".cmake"}
INCLUDE_ROOTS = ("include", "kernels", "src")

# Plain structs that cross every border.
PLAIN = ("kernels/*/params.h", "kernels/*/problem.h", "kernels/tile/tensor_map.h")
DTYPE = "include/wavefire/dtype.h"  # the public header that device code sees
PUBLIC = ("include/wavefire/*",)
TILE = ("kernels/tile/*.h",)  # not the folders of architectures below

# The first pattern that matches a file decides what it may include besides its own folder.
MAY_INCLUDE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("include/wavefire/*", ()),
    # Device code. An architecture sees the tile layer and what it shares with its siblings.
    ("kernels/tile/cpu/**", (DTYPE, "kernels/math/*", "kernels/tile/cpu/**", *TILE)),
    ("kernels/tile/sm90/*", (DTYPE, "kernels/math/*", "kernels/tile/sm80/*", *TILE)),
    ("kernels/tile/gfx9*/*", (DTYPE, "kernels/math/*", "kernels/tile/cdna/*", *TILE)),
    ("kernels/tile/**", (DTYPE, "kernels/math/*", *TILE)),
    ("kernels/math/*", TILE),
    ("kernels/schedule/*", ("kernels/math/*", *TILE)),
    # Which keys a mask leaves is said once, for the planner and the kernel.
    ("kernels/plan/*", (DTYPE, "kernels/attention/mask.h", *PLAIN, *TILE)),
    # A loop of its own for one architecture may see that architecture.
    ("kernels/*/{arch}/*", (DTYPE, "kernels/{op}/*", "kernels/math/*", "kernels/schedule/*",
                            "kernels/tile/{arch}/*", *TILE)),
    ("kernels/*/*", (DTYPE, "kernels/math/*", "kernels/schedule/*", "kernels/plan/*", *PLAIN,
                     *TILE)),
    # The host side.
    ("src/core/*", PUBLIC),
    ("src/device/cpu/*_kernels.cpp", ("kernels/**", "src/device/**", *PUBLIC)),
    ("src/device/cpu/*_entry.h", ("kernels/**", "src/device/**", *PUBLIC)),
    ("src/device/**", ("src/core/*", "src/device/**", *PLAIN, *PUBLIC)),
    # What is fixed at compile time is part of a kernel's name.
    ("src/generate/*", ("src/core/*", "src/device/**", "kernels/*/config.h", *PLAIN, *PUBLIC)),
    ("src/plan/*", ("src/core/*", "kernels/plan/*", "kernels/tile/target.h", *PLAIN, *PUBLIC)),
    # The tables of compiled kernels are what tune chooses from.
    ("src/tune/*", ("src/core/*", "src/device/*/*_kernels.h", "src/generate/spec.h",
                    "kernels/*/*/policy.h", "kernels/attention/config.h", *PLAIN, *PUBLIC)),
    ("src/kv/*", ("src/core/*", *PLAIN, *PUBLIC)),
    ("src/ops/*", ("src/core/*", "src/device/**", "src/generate/*", "src/kv/*", "src/plan/*",
                   "src/tune/*", "kernels/math/philox.h", *PLAIN, *PUBLIC)),
    ("src/ffi/*", ("src/core/*", "src/device/**", "src/generate/*", "src/kv/*", "src/ops/*",
                   "src/plan/*", *PLAIN, *PUBLIC)),
)  # fmt: skip

# Angle brackets. Device code is freestanding: compilers at run time have no standard headers.
ANGLE_IN_KERNELS = {"kernels/tile/cpu/**": {"immintrin.h", "arm_neon.h"}}
ANGLE_ONLY_IN = (
    (re.compile(r"(tvm|dlpack|pybind11|torch)/|Python\.h"), "src/ffi/*"),
    (re.compile(r"cuda|hip(?!/hiprtc)|cublas|rocm"), "src/device/**"),
    (re.compile(r"nvrtc|hip/hiprtc"), "src/generate/*"),
)

ARCHITECTURES = (
    "cpu", "scalar", "avx2", "avx512", "neon", "sm80", "sm90", "cdna", "gfx942", "gfx950",
)  # fmt: skip
ARCHITECTURE_WORD = re.compile(
    r"\b(?:_*(?:avx|sse|neon|cuda|hip|amdgcn|nvptx|nvvm|x86|aarch64|arm|nvidia|amd|hopper|cdna)"
    r"\w*|sm_?\d+\w*|gfx\d+\w*)\b",
    re.IGNORECASE,
)
# The library reports by throwing, logs through its hook and reads the environment in one place.
FORBIDDEN_CALLS = re.compile(
    r"\b(?:std::)?(?:f?printf|puts|abort|exit|_Exit|quick_exit|terminate|getenv)\s*\("
    r"|\bstd::c(?:out|err)\b"
)
CALLS_ALLOWED = {"src/core/config.cpp": {"getenv"}}


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    text: str
    warning: bool = False

    def __str__(self) -> str:
        note = "warning: " if self.warning else ""
        return f"{self.path}:{self.line}: {note}{self.rule}: {self.text}"


def matches(path: str, pattern: str) -> bool:
    """Like a shell: `*` stays within one folder, a final `**` takes everything below."""
    if pattern.endswith("/**"):
        head = pattern[:-3].split("/")
        parts = path.split("/")
        return len(parts) > len(head) and all(map(fnmatch, parts, head))
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch, parts, wanted))


def matches_any(path: str, patterns: tuple[str, ...]) -> bool:
    return any(matches(path, pattern) for pattern in patterns)


def strip_comments(text: str, strings: bool = True) -> str:
    """C++ without comments and, if asked, without the contents of literals; lines stay in place."""

    def blank(match: re.Match[str]) -> str:
        token = match.group()
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        if not strings:
            return token
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]

    # A quote between digits separates them and opens nothing.
    token = r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"
                |(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'"""
    return re.sub(token, blank, text, flags=re.DOTALL | re.VERBOSE)


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


# --- who includes whom ----------------------------------------------------------------------------


def allowed_includes(path: str) -> tuple[str, ...] | None:
    """What `path` may include besides its own folder; None: no rule holds for it."""
    parts = path.split("/")
    for pattern, allowed in MAY_INCLUDE:
        if "{arch}" not in pattern:
            if matches(path, pattern):
                return allowed
        elif len(parts) == 4 and matches(path, "kernels/*/*/*") and parts[2] in ARCHITECTURES:
            return tuple(a.format(op=parts[1], arch=parts[2]) for a in allowed)
    return None


def resolve(root: Path, path: str, name: str) -> str:
    """The path in the repository that `#include "name"` in `path` means."""
    for folder in (str(Path(path).parent), *INCLUDE_ROOTS):
        if (root / folder / name).is_file():
            return f"{folder}/{name}"
    return name


def check_includes(root: Path, path: str, text: str) -> Iterator[Finding]:
    allowed = allowed_includes(path)
    if allowed is None:
        return
    code = strip_comments(text, strings=False)
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', code, re.M):
        line = line_of(code, match.start())
        if match.group(2):
            yield from check_angle_include(path, line, match.group(2))
            continue
        target = resolve(root, path, match.group(1))
        own_folder = Path(target).parent == Path(path).parent
        if not own_folder and not matches_any(target, allowed):
            yield Finding(path, line, "include", f"may not include {target}")


def check_angle_include(path: str, line: int, name: str) -> Iterator[Finding]:
    if path.startswith("kernels/"):
        for pattern, names in ANGLE_IN_KERNELS.items():
            if matches(path, pattern) and name in names:
                return
        yield Finding(path, line, "freestanding", f"device code may not include <{name}>")
    for header, home in ANGLE_ONLY_IN:
        if header.match(name) and not matches(path, home):
            yield Finding(path, line, "include", f"<{name}> belongs into {home}")


# --- what code may say ----------------------------------------------------------------------------


def check_device_code(path: str, text: str) -> Iterator[Finding]:
    """kernels/<op> names no architecture, in code or in conditions; nothing uses the library."""
    if not path.startswith("kernels/"):
        return
    code = strip_comments(text)
    for match in re.finditer(r"\bstd::\w+", code):
        yield Finding(path, line_of(code, match.start()), "freestanding", f"uses {match.group()}")
    parts = path.split("/")
    if parts[1] == "tile" or any(part in ARCHITECTURES for part in parts[1:-1]):
        return
    for match in ARCHITECTURE_WORD.finditer(code):
        yield Finding(path, line_of(code, match.start()), "architecture", f"names {match.group()}")


def check_calls(path: str, text: str) -> Iterator[Finding]:
    """The library never prints, aborts or exits, and reads the environment in one place."""
    if not path.startswith(("src/", "include/", "kernels/")):
        return
    code = strip_comments(text)
    for match in FORBIDDEN_CALLS.finditer(code):
        name = match.group().rstrip("( \t\n")
        if name.removeprefix("std::") not in CALLS_ALLOWED.get(path, set()):
            yield Finding(
                path, line_of(code, match.start()), "call", f"the library never uses {name}"
            )


# --- budgets --------------------------------------------------------------------------------------


def check_lines(path: str, text: str) -> Iterator[Finding]:
    lines = text.splitlines()
    if len(lines) > FILE_LINES_SOFT:
        yield Finding(
            path, 1, "file", f"{len(lines)} lines; split it before {FILE_LINES}",
            warning=len(lines) <= FILE_LINES,
        )  # fmt: skip
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_WIDTH and not path.endswith(".py"):  # there ruff measures
            yield Finding(path, number, "width", f"{len(line)} columns; the limit is {LINE_WIDTH}")


def cpp_functions(code: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, last line) of each function, by matching braces in stripped C++."""
    kinds: list[tuple[str, str, int]] = []  # of the open braces: kind, name, line
    header_start = 0
    for match in re.finditer(r"[{};]", code):
        header = code[header_start : match.start()]
        header_start = match.end()
        line = line_of(code, match.start())
        if match.group() == "}":
            if kinds:
                kind, name, first = kinds.pop()
                if kind == "function":
                    yield name, first, line
        elif match.group() == "{":
            kinds.append((*brace_kind(header, [kind for kind, _, _ in kinds]), line))


def brace_kind(header: str, outer: list[str]) -> tuple[str, str]:
    if "function" in outer or "block" in outer:
        return "block", ""
    noise = (
        r"^\s*#.*$|\balignas\s*\([^)]*\)|\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)"
        r"|\b[A-Z][A-Z0-9_]{3,}\s*\([^()]*\)"  # a macro
    )
    declaration = re.sub(noise, "", header, flags=re.M).strip()
    if re.search(r"\b(namespace|extern)\b[^()]*$", declaration):
        return "scope", ""
    name = re.search(r"([\w~]+|operator\W+)\s*\(", declaration)
    if name is None and re.search(r"\b(class|struct|union|enum)\b", declaration):
        return "scope", ""
    if name is None and declaration:
        return "block", ""  # an initializer
    # No declaration at all: the body behind a constructor's braced initializers.
    return "function", name.group(1) if name else "constructor"


def check_cpp_functions(path: str, text: str) -> Iterator[Finding]:
    code = strip_comments(text)
    source = text.splitlines()
    for name, first, last in cpp_functions(code):
        limit = FUNCTION_LINES
        if any(
            line.rstrip().endswith(MAIN_LOOP_MARKER) for line in source[max(0, first - 6) : first]
        ):
            limit = MAIN_LOOP_LINES
        if last - first - 1 > limit:
            yield Finding(
                path,
                first,
                "function",
                f"{name} has {last - first - 1} lines; the limit is {limit}",
            )


def check_templates(path: str, text: str) -> Iterator[Finding]:
    code = strip_comments(text)
    for match in re.finditer(r"\btemplate\s*<", code):
        count, depth, at = 1, 1, match.end()
        while depth and at < len(code):
            char = code[at]
            depth += (char in "<([{") - (char in ">)]}")
            count += char == "," and depth == 1
            at += 1
        if count > TEMPLATE_PARAMETERS:
            yield Finding(
                path, line_of(code, match.start()), "template",
                f"{count} parameters; the limit is {TEMPLATE_PARAMETERS}",
            )  # fmt: skip


def check_python_functions(path: str, text: str) -> Iterator[Finding]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            start = first.end_lineno if docstring else first.lineno - 1
            lines = (node.end_lineno or 0) - (start or 0)
            if lines > FUNCTION_LINES:
                yield Finding(
                    path, node.lineno, "function",
                    f"{node.name} has {lines} lines; the limit is {FUNCTION_LINES}",
                )  # fmt: skip


def check_file(root: Path, path: str) -> Iterator[Finding]:
    text = (root / path).read_text(encoding="utf-8")
    suffix = Path(path).suffix
    yield from check_lines(path, text)
    if suffix in CPP:
        yield from check_includes(root, path, text)
        yield from check_device_code(path, text)
        yield from check_calls(path, text)
        yield from check_cpp_functions(path, text)
        yield from check_templates(path, text)
    elif suffix == ".py":
        yield from check_python_functions(path, text)


def source_files(root: Path) -> list[str]:
    """Files of the repository, tracked or new; outside of git, all files."""
    git = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if git.returncode == 0:
        names = git.stdout.splitlines()
    else:
        names = [str(file.relative_to(root)) for file in root.rglob("*")]
    return sorted(n for n in names if Path(n).suffix in CODE and (root / n).is_file())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("files", nargs="*", help="paths in the repository; default: all")
    arguments = parser.parse_args()
    findings = [
        finding
        for path in arguments.files or source_files(arguments.root)
        for finding in check_file(arguments.root, path)
    ]
    for finding in findings:
        print(finding)
    return any(not finding.warning for finding in findings)


if __name__ == "__main__":
    sys.exit(main())
