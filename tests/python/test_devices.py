"""Devices by name, from Python."""

from __future__ import annotations

import re

import numpy as np
import pytest
import wavefire


def test_the_cpu_comes_first_and_is_used() -> None:
    cpu = wavefire.devices()[0]
    assert cpu.id == "cpu"
    assert cpu.architecture == wavefire.cpu_level()
    assert cpu.multiprocessors > 0
    assert cpu.memory_bytes > 0
    assert cpu.tensors == "cpu:0"
    assert wavefire.current_device() == cpu


def test_each_device_can_be_used() -> None:
    for device in wavefire.devices():
        assert wavefire.use_device(device.id) == device
        assert wavefire.current_device() == device
    wavefire.use_device("cpu")


@pytest.mark.parametrize("name", ["tpu:0", "", "cuda0", "cpu:1"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(
        ValueError, match=re.escape(f"use_device: 'name' is '{name}'; accepted: cpu")
    ):
        wavefire.use_device(name)


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_what_is_not_there_is_named(kind: str) -> None:
    reason = wavefire.why_no_driver(kind)
    expected = ValueError if any(d.id == f"{kind}:0" for d in wavefire.devices()) else RuntimeError
    with pytest.raises(expected) as caught:
        wavefire.use_device(f"{kind}:99")
    assert (reason.partition(": ")[2] or f"{kind}:99") in str(caught.value)
    assert reason == "" or "install" in reason


def test_what_a_device_has_no_kernel_for_is_named() -> None:
    if not any(d.id == "virtual:gfx950" for d in wavefire.devices()):
        assert "WAVEFIRE_BUILD_VIRTUAL" in wavefire.why_no_driver("virtual")
        return
    q, kv = np.ones((1, 8), np.float32), np.ones((1, 1, 8), np.float32)
    wavefire.use_device("virtual:gfx950")
    try:
        with pytest.raises(NotImplementedError, match=r"'q_dtype' is float32; .*virtual:gfx950"):
            wavefire.single_decode_with_kv_cache(q, kv, kv)
    finally:
        wavefire.use_device("cpu")
    np.testing.assert_allclose(wavefire.single_decode_with_kv_cache(q, kv, kv), q)
