"""The document script finds dead links, paths and commands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import check_docs


@pytest.fixture
def tree(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(check_docs, "PLANNED", set())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/guide.md").write_text("# A guide\n\n## First steps: what to do\n")
    (tmp_path / "Makefile").write_text("X := 1\ntest: build\n\ttrue\nasan ubsan: setup\n\ttrue\n")
    return tmp_path


def run(tree: Path, readme: str, monkeypatch, capsys) -> tuple[int, str]:
    (tree / "README.md").write_text(readme)
    monkeypatch.setattr(sys, "argv", ["check_docs.py", "--root", str(tree)])
    return check_docs.main(), capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "[guide](docs/guide.md) [steps](docs/guide.md#first-steps-what-to-do)",
        "[here](#top)\n\n# Top",
        "[elsewhere](https://example.org/docs/none.md)",
        "`docs/guide.md`, `docs/`, `docs/*.md`, `nowhere/x`, `a/b`",
        "Run `make test` or `make ubsan ARGS=1`.\n\n```sh\nmake asan\n```",
        "```\n[not a link](none.md) `docs/none.md`\n```",
    ],
)
def test_good(tree: Path, text: str, monkeypatch, capsys) -> None:
    assert run(tree, text, monkeypatch, capsys) == (0, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n[guide](docs/none.md)", "README.md:2: link to docs/none.md, which does not exist"),
        ("[up](../x.md)", "link to ../x.md, which does not exist"),
        ("[g](docs/guide.md#none)", "link to docs/guide.md#none: no such heading"),
        ("`docs/none.md`", "README.md:1: path docs/none.md, which does not exist"),
        ("`docs/*.cpp`", "path docs/*.cpp"),
        ("`make none`", "`make none`, which the Makefile does not have"),
        ("```sh\nmake none\n```", "README.md:2: `make none`"),
    ],
)
def test_bad(tree: Path, text: str, expected: str, monkeypatch, capsys) -> None:
    status, output = run(tree, text, monkeypatch, capsys)
    assert status == 1
    assert expected in output


def test_planned_things_leave_the_list_when_they_exist(tree: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(check_docs, "PLANNED", {"docs/later.md", "make later"})
    assert run(tree, "`docs/later.md` and `make later`", monkeypatch, capsys)[0] == 0
    (tree / "docs/later.md").touch()
    status, output = run(tree, "`docs/later.md`", monkeypatch, capsys)
    assert status == 1
    assert "docs/later.md exists now" in output
