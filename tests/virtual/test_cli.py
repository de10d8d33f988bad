"""The program wavefire-virtual: what it prints, and its exit status."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from instinct import BUILD, KERNELS

PROGRAM = BUILD / "virtual" / "cli" / "wavefire-virtual"


def run(*words: str | Path, status: int = 0) -> str:
    """What it prints; with a status of 2, what it says on stderr."""
    done = subprocess.run(
        [PROGRAM, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stderr if status == 2 else done.stdout


def kernels(name: str, target: str = "gfx942") -> Path:
    return KERNELS / f"{name}.{target}.co"


def test_help_lists_options():
    text = run("--help")
    for option in ("--kernel", "--grid", "--block", "--arg", "--checks", "--seed"):
        assert option in text


def test_list(target):
    text = run("list", kernels("loading", target))
    assert text.startswith(f"{target}, 4 kernels\n")
    assert "shares\n" in text
    assert "4000 bytes of LDS" in text
    assert "argument 3: 16 bytes at 24, by_value" in text


def launch(command: str, file: Path, options: str, status: int = 0) -> str:
    return run(command, file, *options.split(), status=status)


def test_run_prints_results(target):
    options = (
        "--kernel early_exit --block 128 --arg i32:128=iota --arg i32:128=-1 --arg 5 --print 1"
    )
    text = launch("run", kernels("control", target), options)
    numbers = text.split("argument 1:")[1].split()
    assert numbers[:8] == ["0", "2", "4", "6", "8", "-1", "-1", "-1"]


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("i8", np.int8), ("u16", np.uint16), ("i64", np.int64), ("f16", np.float16), ("f64", float)],
)
def test_memory_of_all_types(tmp_path, kind, dtype):
    path = tmp_path / "in.bin"
    path.write_bytes(np.array([1, 2, 3, 100], dtype).tobytes())
    options = "--kernel early_exit --block 128 --arg i32:1 --arg 0 --print 0"
    for content, expected in ((f"@{path}", [1, 2, 3, 100]), ("7", [7] * 4), ("iota", range(4))):
        text = launch("run", kernels("control"), f"--arg {kind}:4={content} {options}")
        assert [float(n) for n in text.split("argument 0:")[1].split()] == list(expected)


def test_files_in_and_out(tmp_path):
    values = np.arange(64, dtype=np.int32)
    (tmp_path / "in.bin").write_bytes(values.tobytes())
    options = f"--arg i32:64=@{tmp_path / 'in.bin'} --arg i32:64 --save 1={tmp_path / 'out.bin'}"
    launch("run", kernels("faults"), f"--kernel=store_to_constant {options}")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.bin", np.int32), values)


def test_scalars_have_the_kernels_size():
    options = "--kernel arguments --arg f32:64=1 --arg f32:64 --arg 65 --arg 5 --arg -3"
    assert "has 16" in launch("run", kernels("loading"), options, status=2)  # 5 is no struct
    options = "--kernel barriers --block 256 --arg i32:256=1 --arg i32:256 --arg u32=3 --print 1"
    text = launch("run", kernels("control"), options)
    assert set(text.split("argument 1:")[1].split()[:256]) == {"4"}


def test_check_is_silent_for_correct_kernels(target):
    options = "--kernel no_race --block 128 --arg i32:128=random --arg i32:128 --orders 6"
    text = launch("check", kernels("faults", target), options)
    assert text == "no_race: nothing found in 6 orders of waves\n"


def test_check_reports_faults(target):
    options = "--kernel race_read_write --block 128 --arg i32:128=iota --arg i32:128"
    text = launch("check", kernels("faults", target), options, status=1)
    assert "race in LDS" in text
    assert "faults.hip:" in text
    assert "--seed" in text


def test_undefined_memory_is_undefined(target):
    options = "--kernel undefined_memory --arg i32:64{} --arg i32:64"
    file = kernels("faults", target)
    assert "undefined value" in launch("check", file, options.format(""), status=1)
    assert "nothing found" in launch("check", file, options.format("=0"))


def test_profile_counts(target):
    options = "--kernel chained --arg f16:2560=random --arg f16:2560=random --arg f32:1024 --arg 10"
    assert "matrix" in launch("profile", kernels("matrix", target), options)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "no command"),
        (["walk", "x.co"], "none of list, run, check, profile"),
        (["run"], "no file"),
        (["run", "/nowhere.co"], "cannot read '/nowhere.co'"),
        (["run", "/bin/true"], "AMDGPU"),
        (["run", "{loading}"], "--kernel is missing"),
        (["run", "{loading}", "--kernel", "absent"], "no kernel 'absent'"),
        (["run", "{loading}", "--kernel", "sizes"], "argument 0 is missing"),
        (["run", "{loading}", "--kernel", "sizes", "--arg", "u32:6", "--arg", "1"], "1 arguments"),
        (["run", "{loading}", "--kernel", "sizes", "--arg", "x9:6"], "no type 'x9'; there are i8"),
        (["run", "{loading}", "--kernel", "sizes", "--arg", "u32:many"], "no whole number"),
        (["run", "{loading}", "--kernel", "sizes", "--arg", "u32:0"], "1 to 2^40 values"),
        (["run", "{loading}", "--kernel", "sizes", "--arg", "u32:6=blue"], "no number"),
        (["run", "{loading}", "--kernel", "sizes", "--arg", "u32=6"], "has 4 bytes"),
        (["run", "{loading}", "--kernel", "sizes", "--arg", "u32:6=@/nowhere"], "cannot read"),
        (["run", "{loading}", "--kernel", "sizes", "--block", "2000"], "at most 1024"),
        (["run", "{loading}", "--kernel", "sizes", "--grid", "1,2,3,4"], "more than three"),
        (["run", "{loading}", "--kernel", "sizes", "--grid", "0"], "empty grid"),
        (["run", "{loading}", "--kernel", "shares", "--lds", "70000"], "LDS"),
        (["run", "{loading}", "--kernle", "sizes"], "no option"),
        (["run", "{loading}", "--kernel"], "lacks a value"),
        (["run", "{loading}", "--checks", "x", "--kernel", "sizes", "--arg", "u32:6"], "none of"),
    ],
)  # fmt: skip
def test_bad_input_is_told_in_one_line(words, expected):
    filled = [str(kernels("loading")) if word == "{loading}" else word for word in words]
    text = run(*filled, status=2)
    assert expected in text
    assert text.startswith("wavefire-virtual: ")
    assert text.count("\n") == 1


def test_files_that_are_cut_short_are_refused(tmp_path):
    data = kernels("loading").read_bytes()
    for size in (0, 10, 100, 5000, len(data) - 1):
        (tmp_path / "short.co").write_bytes(data[:size])
        assert "code object: " in run("list", tmp_path / "short.co", status=2)
