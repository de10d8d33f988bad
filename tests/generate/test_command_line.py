"""The command line: what it prints, and how it fails."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import wavefire
from wavefire import _report

PROGRAM = Path(wavefire.__file__).parent / "lib" / "wavefire"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("WAVEFIRE_CACHE_DIR", str(tmp_path / "cache"))

    def run(*arguments, status=0):
        done = subprocess.run(
            [PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    return run


def test_a_kernel_is_compiled_listed_and_removed(run):
    assert run("cache", "size") == "0 kernels, 0 bytes\n"
    assert run("compile", "append.scalar").startswith("append.scalar: compiled, ")
    assert run("compile", "append.scalar").startswith("append.scalar: in the cache, ")
    assert "append.scalar" in run("kernels")
    assert run("cache", "list").endswith("  append.scalar\n")
    assert run("cache", "size").startswith("1 kernels, ")
    assert run("cache", "clear") == "1 kernels removed\n"
    assert run("cache", "list") == ""


def test_source_is_printed_with_the_variant(run, tmp_path):
    file = tmp_path / "relu.h"
    file.write_text("template <class E>\nWF_DEVICE E activate(E x) { return x; }\n")
    source = run("compile", "activation.avx2:kind=variant", "--variant", str(file), "--source")
    assert file.read_text() in source
    assert '#include "activation/variant.h"' in source


def test_lists_are_compiled_into_one_bundle(run, tmp_path):
    first, second, file = (tmp_path / name for name in ("first.txt", "second.txt", "some.bundle"))
    first.write_text("# rows\nappend\n")
    second.write_text("rope\nmerge.avx2:dtype=float16\n")
    compiled = run("bundle", first, file, "scalar", "avx2", "--and", second, "scalar")
    assert compiled == f"3 kernels in {file}\n"
    assert file.read_bytes().startswith(b"wavefire bundle 2 3\n")


def test_doctor_tells_compilers_devices_and_cache(run, tmp_path):
    report = run("doctor")
    for part in ("CPU level", "cpu", "host C++ compiler", "nvcc", "hipRTC", str(tmp_path)):
        assert part in report
    built_with = report.split("built with\n", 1)[1].split("\n\n")[0].splitlines()
    assert [line.split("  ")[1] for line in built_with] == [
        "compiler", "GPU kernels", "headers compared", "virtual Instinct",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        ([], 2, "no command"),
        (["fly"], 2, "'fly'"),
        (["cache"], 2, "list|size|clear"),
        (["cache", "burn"], 2, "'burn'"),
        (["compile"], 2, "SPEC"),
        (["compile", "append.scalar", "--fast"], 2, "'--fast'"),
        (["compile", "append.z80"], 1, "'z80'"),
        (["bundle", "list", "file"], 2, "bundle LIST FILE ARCH..."),
        (["bundle", "list", "file", "--and", "list", "scalar"], 2, "[--and LIST ARCH...]"),
        (["bundle", "/nowhere", "file", "scalar", "--and", "list"], 2, "[--and LIST ARCH...]"),
        (["compile", "append.scalar", "--variant", "/nowhere"], 1, "/nowhere"),
    ],
)
def test_errors_say_what_is_wrong(run, arguments, status, part):
    message = run(*arguments, status=status)
    assert message.startswith("wavefire: ")
    assert part in message


def test_the_module_is_the_same_program(run):
    done = subprocess.run(
        [sys.executable, "-m", "wavefire", "version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == run("version")


def test_a_report_has_all_that_a_maintainer_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("WAVEFIRE_NUM_THREADS", "2")
    file = tmp_path / "report.txt"
    command = [sys.executable, "-m", "wavefire", "doctor", "--report"]
    subprocess.run([*command, file], check=True, capture_output=True)
    report = file.read_text()
    for part in ("python 3.", "numpy ", "WAVEFIRE_NUM_THREADS=2", "compilers", "registers"):
        assert part in report
    for device in wavefire.devices():
        section = report.split(f"== operations on {device.id}", 1)[1].split("\n\n")[0]
        if device.id.startswith(("cuda", "hip")):
            continue  # they need PyTorch for that GPU
        judged = "numbers" if device.id == "cpu" else "[0-9.e+-]+ from the CPU"
        lines = section.splitlines()[1:]
        assert len(lines) == 17
        for line in lines:
            assert re.fullmatch(rf"\w+: {judged}; [0-9.]+ ms, then [0-9.]+ ms", line), line
    for arguments, status, part in (([], 2, "usage"), (["/nowhere/x"], 1, "/nowhere/x")):
        failed = subprocess.run([*command, *arguments], check=False, capture_output=True, text=True)
        assert failed.returncode == status
        assert part in failed.stderr


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ([1.0, -np.inf, 0.0], True),
        ([1.003, -np.inf, 0.003], True),
        ([1.01, -np.inf, 0.0], False),
        ([1.0, -5.0, 0.0], False),
        ([1.0, -np.inf, np.nan], False),
        ([-np.inf, -np.inf, 0.0], False),
        ([1.0, -np.inf], False),
    ],
)
def test_a_report_tells_rounding_from_what_is_wrong(values, right):
    judged = _report._judged(np.array(values), np.array([1.0, -np.inf, 0.0]))
    assert judged.startswith("WRONG") != right


def test_a_report_tells_of_amd_gpus(tmp_path):
    nodes = tmp_path / "sys/class/kfd/kfd/topology/nodes"
    for number, text in enumerate(
        ("gfx_target_version 0\n", "gfx_target_version 90402\nx 1\n", "?")
    ):
        (nodes / str(number)).mkdir(parents=True)
        (nodes / str(number) / "properties").write_text(text)
    (tmp_path / "opt/rocm-6.4.1/.info").mkdir(parents=True)
    (tmp_path / "opt/rocm-6.4.1/.info/version").write_text("6.4.1-83\n")
    lines = list(_report._amd(tmp_path))
    assert lines[0] == "no AMD kernel driver (amdgpu)"
    assert [line.partition(": ")[2][:25] for line in lines[1:3]] == [
        "6.4.1-83", "gfx_target_version 90402,"
    ]  # fmt: skip
    assert len(lines) == 4
    (tmp_path / "sys/module/amdgpu").mkdir(parents=True)
    (tmp_path / "sys/module/amdgpu/version").write_text("6.12.12\n")
    assert next(iter(_report._amd(tmp_path))).endswith("amdgpu/version: 6.12.12")
