"""The example engine keeps its share of a machine that others use too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def test_a_busy_machine_slows_serving_by_its_share_only() -> None:
    script = Path(__file__).parent / "serve_beside_load.py"
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, env=environment
    )
    rate = json.loads(done.stdout.splitlines()[-1])
    # A busy process for each core leaves half of the machine. With threads that spin
    # a twentieth was left on two cores.
    assert rate["beside"] > rate["alone"] / 8, rate
