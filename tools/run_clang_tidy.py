#!/usr/bin/env python3
"""Runs clang-tidy over the sources of the libraries, in parallel, and remembers which were clean.

A source is looked at again when its preprocessed text, its flags, .clang-tidy or the tool change. A
kernel source that is compiled for several CPU levels is checked once, as the build has it first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "src", ROOT / "virtual")
HEADERS = rf"^{re.escape(str(ROOT))}/(include/wavefire|src|virtual)/"
CACHE = Path(os.environ.get("WAVEFIRE_CACHE", Path.home() / ".cache/wavefire")) / "clang-tidy"
# What GCC knows and clang does not; and the `self` that tvm_ffi's export macros leave unused, which
# GCC, unlike clang, does not report.
EXTRA_FLAGS = ("-Wno-error", "-Wno-unknown-warning-option", "-Wno-unused-parameter")
TOOL = Path(sys.executable).parent / "clang-tidy"


def compile_commands(build: Path) -> dict[Path, list[str]]:
    """The first compiler command of each source in FOLDERS, without the launcher and -Werror."""
    commands: dict[Path, list[str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        if any(source.is_relative_to(folder) for folder in FOLDERS):
            words = shlex.split(entry["command"])
            words = [w for w in words if w != "-Werror" and not w.endswith("ccache")]
            commands.setdefault(source, words)
    return commands


def key_of(source: Path, command: list[str]) -> str:
    output = command.index("-o")
    preprocess = [*command[:output], *command[output + 2 :]]
    preprocess[preprocess.index("-c")] = "-E"
    text = subprocess.run(preprocess, capture_output=True, check=True, cwd=ROOT).stdout
    version = subprocess.run([TOOL, "--version"], capture_output=True, check=True).stdout
    key = hashlib.sha256()
    for part in (text, version, (ROOT / ".clang-tidy").read_bytes(), str(source).encode()):
        key.update(hashlib.sha256(part).digest())
    return key.hexdigest()


def check(source: Path, command: list[str]) -> tuple[bool, str]:
    marker = CACHE / key_of(source, command)
    if marker.exists():
        return True, ""
    # With the flags on the command line; the database would have each CPU level's.
    flags = [*command[1:], *EXTRA_FLAGS]
    result = subprocess.run(
        [TOOL, "--quiet", f"--header-filter={HEADERS}", source, "--", *flags],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    if result.returncode == 0:
        CACHE.mkdir(parents=True, exist_ok=True)
        marker.touch()
        return True, ""
    return False, result.stdout or result.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    commands = compile_commands(arguments.build)
    clean = True
    with ThreadPoolExecutor(arguments.jobs) as pool:
        checks = [
            pool.submit(check, source, command) for source, command in sorted(commands.items())
        ]
        for pending in checks:
            passed, report = pending.result()
            clean &= passed
            if report:
                print(report)
    print(f"clang-tidy: {len(commands)} sources {'clean' if clean else 'checked, with findings'}")
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
