#!/usr/bin/env python3
"""Checks every Markdown file: links, paths and commands that it names must exist.

A link goes to a file, or to a heading of one. A code span that looks like a path of this repository
is one, and may use `*`. `make TARGET` is a target of the Makefile. What a document describes before
it is built is listed in PLANNED, and leaves that list when it exists.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# DESIGN.md draws the whole house; these rooms are not built yet.
PLANNED = {"kernels/attention/variant.h"}


def markdown_files(root: Path) -> list[Path]:
    git = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if git.returncode != 0:
        return sorted(root.rglob("*.md"))
    return sorted(root / name for name in git.stdout.splitlines() if (root / name).is_file())


def without_code(text: str) -> str:
    """The text without fenced blocks; lines stay in place."""
    return re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), text, flags=re.M | re.S)


def anchors(markdown: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a file."""
    headings = re.findall(r"^#+\s+(.*)$", without_code(markdown.read_text("utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def make_targets(root: Path) -> set[str]:
    makefile = root / "Makefile"
    if not makefile.is_file():
        return set()
    targets: set[str] = set()
    for names in re.findall(r"^([a-z][a-z -]*):(?!=)", makefile.read_text("utf-8"), re.M):
        targets.update(names.split())
    return targets


def check_links(root: Path, file: Path, text: str) -> Iterator[tuple[int, str]]:
    for match in re.finditer(r"\[[^\]]*\]\(([^)\s]+)\)", without_code(text)):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue  # another site
        line = text.count("\n", 0, match.start()) + 1
        destination = (file.parent / target).resolve() if target else file
        if not destination.is_relative_to(root.resolve()) or not destination.exists():
            yield line, f"link to {match.group(1)}, which does not exist"
        elif anchor and destination.suffix == ".md" and anchor not in anchors(destination):
            yield line, f"link to {match.group(1)}: no such heading"


def check_paths(root: Path, text: str) -> Iterator[tuple[int, str]]:
    folders = {entry.name for entry in root.iterdir() if entry.is_dir()}
    for match in re.finditer(r"`([\w.*/-]+)`", without_code(text)):
        path = match.group(1)
        if path.split("/")[0] not in folders or "/" not in path or path in PLANNED:
            continue
        if not any(root.glob(path.rstrip("/"))):
            yield text.count("\n", 0, match.start()) + 1, f"path {path}, which does not exist"


def check_commands(root: Path, text: str) -> Iterator[tuple[int, str]]:
    targets = make_targets(root)
    for match in re.finditer(r"(?:`|^)make ([a-z-]+)", text, re.M):
        if match.group(1) not in targets and f"make {match.group(1)}" not in PLANNED:
            line = text.count("\n", 0, match.start()) + 1
            yield line, f"`make {match.group(1)}`, which the Makefile does not have"


def check_planned(root: Path) -> Iterator[str]:
    targets = {f"make {target}" for target in make_targets(root)}
    for plan in sorted(PLANNED):
        if plan in targets or any(root.glob(plan.rstrip("/"))):
            yield f"tools/check_docs.py: {plan} exists now; take it off PLANNED"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    root = parser.parse_args().root
    findings = list(check_planned(root))
    for file in markdown_files(root):
        text = file.read_text("utf-8")
        for check in (check_links(root, file, text), check_paths(root, text),
                      check_commands(root, text)):  # fmt: skip
            findings += [f"{file.relative_to(root)}:{line}: {what}" for line, what in check]
    print(*findings, sep="\n", end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
