"""A device whose memory is used up: the error has the numbers, and the process goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import wavefire

PLAN = """
import ml_dtypes
import numpy as np
import wavefire

wavefire.use_device("virtual:gfx942")
wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(None, "NHD")

def plan(batch):
    indptr, last = np.arange(batch + 1, dtype=np.int32), np.full(batch, 16, np.int32)
    wrapper.plan(indptr, np.zeros(batch, np.int32), last, 2, 1, 64, 16, q_data_type="bfloat16")
    q = np.zeros((batch, 2, 64), ml_dtypes.bfloat16)
    return wrapper.run(q, np.ones((1, 2, 16, 1, 64), ml_dtypes.bfloat16))

try:
    plan(4096)
except MemoryError as error:
    print(error)
assert (plan(2) == 1).all()
print("the next plan runs")
"""


@pytest.mark.skipif(
    not any(d.id == "virtual:gfx942" for d in wavefire.devices()),
    reason=wavefire.why_no_driver("virtual"),
)
def test_out_of_device_memory_has_the_numbers() -> None:
    environment = {
        **os.environ,
        "WAVEFIRE_VIRTUAL_MEMORY": "200000",
        "WAVEFIRE_VIRTUAL_HOST_MEMORY": "any",  # NumPy's
    }
    done = subprocess.run(
        [sys.executable, "-c", PLAN], env=environment, capture_output=True, text=True, check=True
    )
    error, end = done.stdout.splitlines()
    for part in ("BatchDecodeWithPagedKVCacheWrapper: ", "cannot allocate ", " of 200000 are free"):
        assert part in error
    assert end == "the next plan runs"
