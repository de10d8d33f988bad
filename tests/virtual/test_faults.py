"""kernels/faults.hip: planted faults are found and told with their place; the others are silent."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from instinct import DeviceArray, HipError, settings

SOURCE = Path(__file__).parent / "kernels" / "faults.hip"
LAUNCH_FAILURE = "hipErrorLaunchFailure"
ILLEGAL_ADDRESS = "hipErrorIllegalAddress"


def fault_lines(kernel: str) -> set[int]:
    """Lines of a kernel that carry FAULT; for one in an asm statement, also where that begins."""
    lines = SOURCE.read_text().splitlines()
    start = next(i for i, text in enumerate(lines) if f"void {kernel}(" in text)
    found = set()
    statement = None  # the line where an asm statement begins that has not ended
    for number in range(start, len(lines)):
        if "asm volatile(" in lines[number]:
            statement = number
        if "FAULT" in lines[number]:
            found.add(number + 1)
            if statement is not None:
                found.add(statement + 1)
        if ");" in lines[number]:
            statement = None
        if lines[number] == "}":
            break
    return found


def ints(count=64):
    return np.arange(1, count + 1, dtype=np.int32)


def zeros(count=64):
    return np.zeros(count, np.int32)


def halves():
    return np.ones((64, 4), np.float16)


def check_report(error: HipError, kernel: str, fault: str, code: str) -> None:
    assert error.name == code
    assert error.report.startswith(f"{fault}: "), error.report
    assert f"kernel {kernel}" in error.report
    place = re.search(r"source (.*):(\d+)", error.report)
    assert place, error.report
    assert place[1].endswith("faults.hip")
    assert int(place[2]) in fault_lines(kernel), error.report


def check_found(module, kernel, args, fault, *, code=LAUNCH_FAILURE, block=64, checks="all"):
    with settings(checks=checks), pytest.raises(HipError) as raised:
        module.launch(kernel, [1], [block], args)
    check_report(raised.value, kernel, fault, code)
    return raised.value.report


@pytest.fixture
def faults(kernels):
    return kernels("faults")


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        ("load_beyond_end", [ints(), zeros()]),
        ("store_before_start", [ints(), zeros()]),
        ("scalar_load_beyond_end", [ints(), zeros(), 64]),
        ("atomic_beyond_end", [zeros(), 64]),
        ("buffer_beyond_allocation", [ints(), zeros(), 512]),
        ("lds_beyond_end", [ints(), zeros(), 1]),
        ("dma_beyond_end", [ints(), zeros()]),
    ],
)
def test_access_out_of_bounds(faults, kernel, args):
    report = check_found(faults, kernel, args, "access out of bounds", code=ILLEGAL_ADDRESS)
    if kernel == "load_beyond_end":
        assert "lane 63" in report


def test_access_to_freed_memory(faults):
    faults.use()
    freed = DeviceArray(256)
    freed.free()
    with pytest.raises(HipError) as raised:
        faults.launch("store_to_constant", [1], [64], [ints(), freed])
    check_report(raised.value, "store_to_constant", "access out of bounds", ILLEGAL_ADDRESS)
    assert "freed" in raised.value.report


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("kernel", ["race_write_read", "race_write_write", "race_read_write"])
def test_races(faults, kernel, seed):
    with settings(seed=seed), pytest.raises(HipError) as raised:
        faults.launch(kernel, [1], [128], [ints(128), zeros(128)])
    check_report(raised.value, kernel, "race in LDS", LAUNCH_FAILURE)


def test_undefined_lds(faults):
    report = check_found(faults, "undefined_lds", [zeros()], "undefined value")
    assert "lane 32" in report


def test_undefined_register(faults):
    check_found(faults, "undefined_register", [zeros()], "undefined value")


@pytest.mark.parametrize("kernel", ["undefined_memory", "undefined_branch", "undefined_address"])
def test_undefined_memory(faults, kernel):
    faults.use()
    memory = DeviceArray(256)
    check_found(faults, kernel, [memory, zeros()], "undefined value")
    memory.put(ints()[:40])
    report = check_found(faults, kernel, [memory, zeros()], "undefined value")
    if kernel != "undefined_branch":  # which reports the mask of lanes
        assert "lane 40" in report
    memory.put(ints())
    faults.launch(kernel, [1], [64], [memory, zeros()])
    memory.free()


def test_undefined_values_without_effect(faults):
    faults.use()
    memory, out = DeviceArray(512), DeviceArray(256)
    memory.put(ints(80))  # the first 64 are masked away; of the others, 16 lanes store
    faults.launch("undefined_but_unused", [1], [64], [memory, out])
    np.testing.assert_array_equal(out.get(np.int32), [*(np.arange(65, 81) * 3), *[0] * 48])
    memory.free()
    out.free()


@pytest.mark.parametrize(
    "kernel",
    ["load_not_waited_for", "scalar_not_waited_for", "lds_not_waited_for", "dma_not_waited_for"],
)
def test_loads_that_are_not_waited_for(faults, kernel):
    check_found(faults, kernel, [ints(), zeros()], "not waited for")


def test_missing_wait_states(faults):
    args = [halves(), halves(), np.zeros((64, 4), np.float32)]
    check_found(faults, "matrix_read_too_soon", args, "missing wait states")
    for kernel in ("dpp_too_soon", "lane_select_too_soon"):
        check_found(faults, kernel, [ints(), zeros()], "missing wait states")


def test_barriers_that_not_all_waves_reach(faults):
    with pytest.raises(HipError) as raised:
        faults.launch("barrier_in_one_wave", [1], [128], [ints(128), zeros(128)])
    assert raised.value.name == LAUNCH_FAILURE
    assert raised.value.report.startswith("barrier mismatch: ")
    assert "kernel barrier_in_one_wave" in raised.value.report


def test_unknown_instruction(faults):
    check_found(faults, "no_instruction", [zeros()], "unknown instruction", checks="none")


def test_correct_kernels_are_silent(faults, order):
    product = np.zeros((64, 4), np.float32)
    faults.launch("matrix_read_in_time", [1], [64], [halves(), halves(), product])
    np.testing.assert_array_equal(product, 32)
    out = zeros()
    faults.launch("load_waited_for", [1], [64], [ints(), out])
    np.testing.assert_array_equal(out, ints() + 1)
    faults.launch("dpp_in_time", [1], [64], [ints(), out])
    expected = np.where(np.arange(64) % 16 == 0, 0, ints())
    np.testing.assert_array_equal(out, expected)
    out = zeros(128)
    faults.launch("no_race", [1], [128], [ints(128), out])
    np.testing.assert_array_equal(out, ints(128)[::-1] * 4 + 6)


def test_checks_can_be_turned_off(faults):
    with settings(checks="none"):
        faults.launch("race_write_read", [1], [128], [ints(128), zeros(128)])
        faults.launch("undefined_lds", [1], [64], [zeros()])
        faults.launch("matrix_read_too_soon", [1], [64],
                      [halves(), halves(), np.zeros((64, 4), np.float32)])  # fmt: skip
    with settings(checks="bounds,undefined"):
        faults.launch("race_write_read", [1], [128], [ints(128), zeros(128)])
        with pytest.raises(HipError):
            faults.launch("undefined_lds", [1], [64], [zeros()])


def test_the_device_works_after_a_fault(faults):
    check_found(faults, "undefined_lds", [zeros()], "undefined value")
    out = zeros()
    faults.launch("load_waited_for", [1], [64], [ints(), out])
    np.testing.assert_array_equal(out, ints() + 1)
