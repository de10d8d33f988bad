"""``python -m wavefire``: the command line of the library, see ``wavefire help``."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes the program that lies beside the library."""
    program = Path(__file__).parent / "lib" / "wavefire"
    if not program.exists():
        sys.exit(f"wavefire: the program is missing: {program}")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
