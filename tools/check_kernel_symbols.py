#!/usr/bin/env python3
"""Checks that the object files of CPU kernels keep their level's code to themselves.

A function compiled for AVX-512 under a name that another unit defines too may win at link time,
and then runs on machines without AVX-512 (DESIGN.md, section 3). So a level's object may define,
for the linker to see, its kernel table and names inside the level's own namespace; and it may call
nothing but the few functions that compilers call by themselves.

    check_kernel_symbols.py <file with lines "LEVEL FAMILY OBJECT">
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# fmaf: what a fused multiply-add is on the scalar level, where the processor may have none.
COMPILER_CALLS = {"memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_", "fmaf"}


def mangled(*names: str) -> str:
    return "".join(f"{len(name)}{name}" for name in names)


def foreign_symbols(level: str, family: str, symbols: str) -> Iterator[str]:
    """Of the output of `nm --extern-only --format=posix`, the lines that break the rule."""
    table_name = mangled("wavefire", "cpu", f"{family}_kernels_{level}")
    table = f"_ZN{table_name}E"
    # wavefire::<level>::, wavefire::<operation>::<level>::, or a lambda in the table itself
    own = re.compile(
        rf"_Z\w{{0,2}}?Z?NK?({mangled('wavefire')}(\d+\w+?)?{mangled(level)}|{table_name})"
    )
    found_table = False
    for line in symbols.splitlines():
        name, kind = line.split()[:2]
        if name == table and kind not in "Uw":
            found_table = True
        elif kind in "Uw":
            if name not in COMPILER_CALLS:
                yield f"calls {name}"
        elif not own.match(name):
            yield f"defines {name}"
    if not found_table:
        yield f"does not define its table {table}"


def main() -> int:
    status = 0
    rows = [line.split() for line in Path(sys.argv[1]).read_text().splitlines() if line]
    for level, family, path in rows:
        nm = subprocess.run(
            ["nm", "--extern-only", "--format=posix", path],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        for what in foreign_symbols(level, family, nm.stdout):
            print(f"{family} ({level}): {what}")
            status = 1
    print(f"{len(rows)} kernel objects checked")
    return status


if __name__ == "__main__":
    sys.exit(main())
