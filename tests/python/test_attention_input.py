"""Bad plans and runs of the attention wrappers."""

from __future__ import annotations

import pytest
import torch
import wavefire
from compare import ints


def plan_decode(**changes: object) -> None:
    given = {
        "indptr": torch.tensor([0, 1, 3], dtype=torch.int32),
        "indices": torch.tensor([0, 1, 2], dtype=torch.int32),
        "last_page_len": torch.tensor([4, 1], dtype=torch.int32),
        "num_qo_heads": 4,
        "num_kv_heads": 2,
        "head_dim": 64,
        "page_size": 4,
        "q_data_type": "float32",
    }
    cache = changes.pop("cache", torch.zeros(3, 2, 4, 2, 64))
    q = changes.pop("q", torch.zeros(2, 4, 64))
    run = changes.pop("run", {})
    wrapper = wavefire.BatchDecodeWithPagedKVCacheWrapper(**changes.pop("init", {}))
    wrapper.plan(**{**given, **changes})
    out = torch.full((2, 4, 64), 7.0)
    try:
        wrapper.run(q, cache, out=out, **run)
    except Exception:
        assert (out == 7.0).all(), "an error leaves the output alone"
        raise


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        (
            {"indptr": ints(0, 2, 1)},
            ValueError,
            "'indptr' is 1 at 2 after 2; accepted: entries that do not",
        ),
        (
            {"indptr": ints(1, 2, 3)},
            ValueError,
            "'indptr' is 1 at 0; accepted: 0 as the first entry",
        ),
        (
            {"indptr": torch.tensor([0.0, 1, 3])},
            ValueError,
            "'indptr' is torch.float32; accepted: int32",
        ),
        (
            {"indices": ints(0, 1)},
            ValueError,
            "'indices' is int32.2. .*accepted: at least 3 entries",
        ),
        ({"indices": ints(0, -1, 2)}, ValueError, r"'indices' is -1 at 1"),
        (
            {"indices": ints(0, 1, 3)},
            ValueError,
            "'indices' is page 3; accepted: page indices below 3",
        ),
        (
            {"last_page_len": ints(4, 5)},
            ValueError,
            r"'last_page_len' is 5 at 1; accepted: 1 to page_size \(4\)",
        ),
        ({"last_page_len": ints(4, 0)}, ValueError, r"'last_page_len' is 0 at 1"),
        ({"num_qo_heads": 3}, ValueError, r"'num_qo_heads' is 3; accepted: a positive multiple"),
        ({"head_dim": 60}, ValueError, r"'head_dim_qk' is 60; accepted: a multiple of 8"),
        ({"window_left": -2}, ValueError, r"'window_left' is -2"),
        ({"sm_scale": float("nan")}, ValueError, r"'sm_scale' is nan"),
        ({"q_data_type": "float64"}, ValueError, r"'q_data_type' is float64; accepted: float32, f"),
        ({"kv_data_type": "float12"}, TypeError, r"'kv_data_type' is 'float12'; accepted: f"),
        ({"pos_encoding_mode": "SIN"}, KeyError, r"Invalid pos_encoding_mode"),
        ({"init": {"kv_layout": "DHN"}}, KeyError, r"Invalid kv_layout"),
        (
            {"init": {"backend": "fa3"}},
            NotImplementedError,
            "backend 'fa3' is not available on cpu",
        ),
        ({"init": {"jit_args": [1]}}, NotImplementedError, r"'jit_args' is given"),
        ({"q": torch.zeros(2, 4, 32)}, ValueError, r"'q' is float32.2, 4, 32."),
        ({"q": torch.zeros(3, 4, 64)}, ValueError, r"accepted: float32.3, 4, 64."),
        ({"q": torch.zeros(2, 4, 64).half()}, ValueError, r"does not match the q_data_type"),
        (
            {"q": torch.zeros(2, 4, 128)[:, :, ::2]},
            ValueError,
            "'q' .*accepted: a contiguous last dimension",
        ),
        (
            {"cache": torch.zeros(3, 2, 4, 2, 64).half()},
            ValueError,
            "'k' is float16; accepted: float32",
        ),
        ({"cache": torch.zeros(3, 2, 5, 2, 64)}, ValueError, r"'k' .*accepted: shape"),
        ({"cache": torch.zeros(3, 3, 4, 2, 64)}, ValueError, r"'paged_kv_cache' is of shape"),
        (
            {"run": {"k_scale": float("nan")}},
            ValueError,
            "'k_scale' is nan; accepted: a finite number",
        ),
        (
            {"run": {"k_scale": torch.tensor([1.0, float("inf")])}},
            ValueError,
            "'k_head_scale' is inf at 1",
        ),
        ({"run": {"k_scale": torch.ones(3)}}, ValueError, r"'k_head_scale' .*accepted: shape .2."),
        (
            {"run": {"sinks": torch.tensor([0, 0, 0, float("nan")])}},
            ValueError,
            "'sinks' is nan at 3",
        ),
        ({"run": {"window_left": 3}}, ValueError, r"'window_left' is 3; accepted: the planned -1"),
        ({"run": {"kv_cache_sf": 1}}, NotImplementedError, r"'kv_cache_sf' is given"),
    ],
)
def test_bad_input_is_one_clear_line(changes: dict, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        plan_decode(**changes)
    assert "\n" not in str(caught.value)


def test_running_before_planning() -> None:
    with pytest.raises(RuntimeError, match=r"run\(\) before plan\(\)"):
        wavefire.BatchDecodeWithPagedKVCacheWrapper().run(
            torch.zeros(1, 1, 64), torch.zeros(1, 2, 1, 1, 64)
        )
