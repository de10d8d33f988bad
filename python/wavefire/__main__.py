"""``python -m wavefire``: the command line of the library, see ``wavefire help``."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Writes a report, or becomes the program that lies beside the library."""
    if sys.argv[1:3] == ["doctor", "--report"]:
        if len(sys.argv) != 4:
            sys.stderr.write("wavefire: usage: doctor --report FILE\n")
            sys.exit(2)
        from ._report import write_report

        try:
            write_report(Path(sys.argv[3]))
        except OSError as error:
            sys.exit(f"wavefire: {error}")
        return
    program = Path(__file__).parent / "lib" / "wavefire"
    if not program.exists():
        sys.exit(f"wavefire: the program is missing: {program}")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
