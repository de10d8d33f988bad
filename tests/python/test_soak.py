"""The soak program in short; and that it stops at what is wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest
import soak
import wavefire


def test_problems_of_all_parts_are_right() -> None:
    target = soak.Target("cpu", largest=256, vocabulary=3000)
    counts = soak.soak(target, 1, list(soak.PARTS), problems=60)
    assert sum(counts.values()) == 60
    assert min(counts.values()) > 5


@pytest.mark.skipif(
    not any(d.id == "virtual:gfx942" for d in wavefire.devices()),
    reason=wavefire.why_no_driver("virtual"),
)
def test_it_runs_on_a_virtual_device() -> None:
    arguments = ["--device", "virtual:gfx942", "--parts", "rows", "--problems", "8", "--seed", "3"]
    done = subprocess.run(
        [sys.executable, soak.__file__, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("8 problems, all right\n")


def test_a_problem_is_the_same_whatever_ran_before() -> None:
    target = soak.Target("cpu", largest=64, vocabulary=100)
    alone = [soak.run_problem(3, 7, list(soak.PARTS), target) for _ in range(2)]
    assert alone[0] == alone[1]


def test_the_first_wrong_result_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    right = wavefire.rmsnorm
    monkeypatch.setattr(wavefire, "rmsnorm", lambda *args: right(*args) * 1.5)
    with pytest.raises(soak.WrongResultError, match=r"rows: .*kind rmsnorm.*\n.*\nagain: --seed 5"):
        soak.soak(soak.Target("cpu", largest=64), 5, ["rows"], problems=100)


@pytest.mark.parametrize("arguments", [["--parts", "rows,nothing"], ["--minutes", "x"]])
def test_unknown_arguments_are_named(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["soak.py", *arguments])
    with pytest.raises(SystemExit):
        soak.main()
    assert arguments[1].split(",")[-1] in capsys.readouterr().err
