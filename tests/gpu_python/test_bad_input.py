"""What a GPU adds to bad input: devices that are mixed, absent or full."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch
import wavefire

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU here")

PAGE, KV_HEADS, HEADS, DIM = 16, 2, 8, 64


def planned(batch: int, device: str = "cuda") -> Any:
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(
        torch.empty(0, dtype=torch.uint8, device=device), "NHD"
    )
    wrapper.plan(
        torch.arange(batch + 1, dtype=torch.int32), torch.zeros(batch, dtype=torch.int32),
        torch.full((batch,), PAGE, dtype=torch.int32), HEADS, KV_HEADS, DIM, PAGE,
        q_data_type=torch.bfloat16,
    )  # fmt: skip
    return wrapper


def tensors(batch: int, device: str = "cuda") -> dict[str, torch.Tensor]:
    q = torch.ones(batch, HEADS, DIM, dtype=torch.bfloat16, device=device)
    cache = torch.ones(1, 2, PAGE, KV_HEADS, DIM, dtype=torch.bfloat16, device=device)
    return {"q": q, "paged_kv_cache": cache}


@pytest.mark.parametrize("argument", ["q", "paged_kv_cache", "out", "lse"])
def test_a_tensor_of_the_host_is_named(argument: str) -> None:
    wrapper, good = planned(3), tensors(3)
    good["out"] = torch.full_like(good["q"], 7)
    good["lse"] = torch.full((3, HEADS), 7.0, device="cuda")
    bad = {**good, argument: good[argument].cpu()}
    named = "k" if argument == "paged_kv_cache" else argument
    with pytest.raises(ValueError, match=rf"'{named}\w*' is on cpu.*cuda:0"):
        wrapper.run(**bad, return_lse=True)
    assert (good["out"] == 7).all(), "nothing is written"


def test_a_plan_of_the_host_does_not_take_gpu_tensors() -> None:
    with pytest.raises(ValueError, match=r"'q' is on cuda:0.*cpu"):
        planned(3, "cpu").run(**tensors(3))


@pytest.mark.parametrize("operation", ["silu_and_mul", "fused_add_rmsnorm", "append"])
def test_row_operations_name_it_too(operation: str) -> None:
    x = torch.ones(4, 64, device="cuda")
    with pytest.raises(ValueError, match=r"is on cpu.*cuda:0"):
        if operation == "silu_and_mul":
            wavefire.silu_and_mul(x, out=torch.empty(4, 32))
        elif operation == "fused_add_rmsnorm":
            wavefire.fused_add_rmsnorm(x, torch.ones(4, 64), torch.ones(64, device="cuda"))
        else:
            cache = torch.zeros(1, 2, PAGE, KV_HEADS, DIM, device="cuda")
            new = torch.ones(1, KV_HEADS, DIM, device="cuda")
            index = torch.zeros(1, dtype=torch.int32, device="cuda")
            wavefire.append_paged_kv_cache(
                new, new, index.cpu(), index, cache, index, torch.tensor([0, 1]).int().cuda(),
                index + 1,
            )  # fmt: skip


def test_shapes_and_types_are_checked_as_on_the_cpu() -> None:
    x = torch.ones(4, 64, device="cuda")
    for weight in torch.ones(63, device="cuda"), torch.ones(64, 1, device="cuda"):
        with pytest.raises(ValueError, match="rmsnorm: 'weight' is"):
            wavefire.rmsnorm(x, weight)
    with pytest.raises((ValueError, TypeError), match="rmsnorm: 'input' is"):
        wavefire.rmsnorm(x.int(), torch.ones(64, device="cuda"))


def test_out_of_device_memory_has_the_numbers() -> None:
    planned(2).run(**tensors(2))  # loads the kernel, which needs memory too
    batch = 1 << 23  # their plan needs most of a gigabyte
    free, total = torch.cuda.mem_get_info()
    hog = [torch.empty(free - (256 << 20), dtype=torch.uint8, device="cuda")]
    try:
        with pytest.raises(MemoryError, match=rf"out of device memory.* of {total} are free"):
            planned(batch)
    finally:
        hog.clear()  # also when this fails: its traceback keeps the frame
        torch.cuda.empty_cache()
    out = planned(2).run(**tensors(2))
    assert (out == 1).all(), "the device goes on"


@pytest.mark.parametrize(
    ("name", "visible", "error", "text"),
    [
        ("cuda:99", None, "ValueError", "'cuda:99'; accepted: cuda:0"),
        ("cuda:0", "", "RuntimeError", "finds no device"),
    ],
)
def test_absent_gpus_are_named(name: str, visible: str | None, error: str, text: str) -> None:
    environment = dict(os.environ)
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    code = f"import wavefire; wavefire.use_device({name!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(error)
    assert text in last
