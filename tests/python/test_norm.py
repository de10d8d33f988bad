"""Norms and gated activations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import wavefire
from compare import DTYPES, close


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 7, 64, 111, 576, 4096])
@pytest.mark.parametrize("gemma", [False, True])
def test_rmsnorm(dtype: torch.dtype, width: int, gemma: bool) -> None:
    x = torch.randn(5, width + 3).to(dtype)[:, :width]  # rows apart
    w = torch.randn(width).to(dtype)
    f = wavefire.gemma_rmsnorm if gemma else wavefire.rmsnorm
    exact = (
        x.double()
        * (x.double().square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        * (w.double() + gemma)
    )
    close(f(x, w, 1e-5), exact, dtype)
    x3 = torch.randn(2, 3, width).to(dtype)
    exact = (
        x3.double()
        * (x3.double().square().mean(-1, keepdim=True) + 1e-6).rsqrt()
        * (w.double() + gemma)
    )
    out = torch.full_like(x3, float("nan"))
    assert f(x3, w, out=out) is out
    close(out, exact, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fused_add_rmsnorm_rounds_only_the_residual(dtype: torch.dtype) -> None:
    x, r, w = (torch.randn(n, 576).to(dtype) for n in (9, 9, 1))
    w = w[0]
    total = x.double() + r.double()
    exact = total * (total.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * w.double()
    wavefire.fused_add_rmsnorm(x, r, w)
    close(x, exact, dtype)
    assert torch.equal(r, total.to(dtype))


def test_a_nan_row_stays_alone() -> None:
    x = torch.randn(3, 64)
    x[1, 5] = float("nan")
    out = wavefire.rmsnorm(x, torch.ones(64))
    assert torch.isfinite(out[[0, 2]]).all()
    assert wavefire.rmsnorm(torch.zeros(0, 64), torch.ones(64)).shape == (0, 64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weight_dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [1, 7, 64, 576])
def test_layernorm(dtype: torch.dtype, weight_dtype: torch.dtype, width: int) -> None:
    x = (torch.randn(5, width + 3) * 2 + 1).to(dtype)[:, :width]
    gamma, beta = torch.randn(width).to(weight_dtype), torch.randn(width).to(weight_dtype)
    exact = torch.nn.functional.layer_norm(
        x.double(), (width,), gamma.double(), beta.double(), eps=1e-5
    )
    out = wavefire.layernorm(x, gamma, beta, 1e-5)
    assert out.dtype == dtype
    close(out, exact, dtype)


# Sizes at which kernels that stage a row or load it in fixed parts have failed.
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1152, 3584, 16384, 40961])
@pytest.mark.parametrize("gemma", [False, True])
def test_fused_add_of_awkward_rows(dtype: torch.dtype, width: int, gemma: bool) -> None:
    f = wavefire.gemma_fused_add_rmsnorm if gemma else wavefire.fused_add_rmsnorm
    buffer = torch.randn(2, 3, width + 8).to(dtype)
    x, r = buffer[0, :, 1 : width + 1], buffer[1, :, 3 : width + 3]  # no alignment, rows apart
    around = buffer[0, :, 0].clone(), buffer[0, :, width + 1 :].clone()
    w = torch.randn(width).to(dtype)
    total = (x.float() + r.float()).double()
    exact = total * (total.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * (w.double() + gemma)
    f(x, r, w)
    close(x, exact, dtype)
    assert torch.equal(r, total.to(dtype)), "the residual is the rounded sum"
    assert torch.equal(buffer[0, :, 0], around[0])
    assert torch.equal(buffer[0, :, width + 1 :], around[1])


def test_the_norm_is_rounded_once() -> None:
    """Whether x * rsqrt is rounded before the weight comes: ours is not, and within one unit of
    what it would be.
    """
    x, w = torch.randn(64, 576).bfloat16(), torch.full((576,), 1 + 2**-7).bfloat16()
    normal = x.double() * (x.double().square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    once, twice = (normal * w).bfloat16(), normal.bfloat16() * w
    ours = wavefire.rmsnorm(x, w)
    steps = (ours.view(torch.int16).int() - twice.view(torch.int16).int()).abs()
    assert int(steps.max()) <= 1
    assert float((ours != once).float().mean()) < 1e-3  # where float32 falls on the other side
    gemma = wavefire.gemma_rmsnorm(x, w)
    assert float((gemma != (normal * (1 + w.double())).bfloat16()).float().mean()) < 1e-3


def test_rows_at_strides_beyond_31_bits() -> None:
    memory = torch.empty(2**31 + 128, dtype=torch.float16)  # committed lazily
    x = torch.as_strided(memory, (2, 128), (2**31, 1))
    x.copy_(torch.randn(2, 128))
    w = torch.randn(128).half()
    assert torch.equal(wavefire.rmsnorm(x, w), wavefire.rmsnorm(x.contiguous(), w))


@pytest.mark.parametrize("width", [1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 255, 1000])
def test_ones_of_every_width(width: int) -> None:
    w = torch.randn(width)
    out = wavefire.rmsnorm(torch.ones(3, width), w, 1e-6)
    np.testing.assert_allclose(out, (w / np.sqrt(1 + 1e-6)).expand(3, -1), rtol=3e-7)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 5, 8, 64, 1536])
def test_gated_activations(dtype: torch.dtype, width: int) -> None:
    x = (torch.randn(4, 3, 2 * width) * 4).to(dtype)
    a, b = x.double().split(width, -1)
    functional = torch.nn.functional
    close(wavefire.silu_and_mul(x), functional.silu(a) * b, dtype)
    close(wavefire.gelu_and_mul(x), functional.gelu(a) * b, dtype)
    close(wavefire.gelu_tanh_and_mul(x), functional.gelu(a, approximate="tanh") * b, dtype)
    with pytest.raises(
        ValueError, match=r"silu_and_mul: 'input' .*accepted: an even last dimension"
    ):
        wavefire.silu_and_mul(torch.zeros(2, 5))
    out = torch.full((4, 3, width), float("nan"), dtype=dtype)
    assert wavefire.silu_and_mul(x, out=out) is out
    assert torch.equal(out, wavefire.silu_and_mul(x))
    assert wavefire.silu_and_mul(torch.zeros(0, 8)).shape == (0, 4)
