"""The code in the documents runs: every block marked `python` or `cpp` is a complete program.

Blocks marked `sh` name commands that exist (tools/check_docs.py knows the Makefile's targets);
other marks are not code to run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass(frozen=True)
class Block:
    document: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}:{self.language}"


def blocks(*languages: str) -> list[Block]:
    found = []
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
            if match.group(1) in languages:
                line = text.count("\n", 0, match.start()) + 1
                name = str(document.relative_to(ROOT))
                found.append(Block(name, line, match.group(1), match.group(2)))
    return found


def run(*command: str | Path, folder: Path) -> None:
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_block_runs(block: Block, tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(block.code)
    run(sys.executable, "block.py", folder=tmp_path)


@pytest.mark.parametrize("block", blocks("cpp"), ids=str)
def test_cpp_block_runs(block: Block, tmp_path: Path) -> None:
    import wavefire

    libraries = Path(wavefire.__file__).parent / "lib"
    (tmp_path / "block.cpp").write_text(block.code)
    run(
        "c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "block.cpp",
        f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lwavefire", "-o", "block",
        folder=tmp_path,
    )  # fmt: skip
    run(tmp_path / "block", folder=tmp_path)


@pytest.mark.parametrize("block", blocks("sh"), ids=str)
def test_shell_block_names_commands_that_exist(block: Block) -> None:
    import wavefire

    built = Path(wavefire.__file__).parents[2] / "virtual/cli"  # what an installation puts there
    path = f"{os.environ['PATH']}{os.pathsep}{built}"
    for line in block.code.replace("\\\n", " ").splitlines():
        command = re.sub(r"^(\w+=\S+ )*", "", line.strip()).split()
        if command and not command[0].startswith("#"):
            known = ["bash", "-c", 'type "$1"', "bash", command[0]]  # programs and builtins
            assert subprocess.run(known, env=os.environ | {"PATH": path}).returncode == 0, line
