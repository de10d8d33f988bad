"""Arguments that Python could carry into the library wrongly: each is one clear error."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
import wavefire
from compare import ints
from torch._subclasses.fake_tensor import FakeTensorMode


def decode() -> wavefire.BatchDecodeWithPagedKVCacheWrapper:
    return wavefire.BatchDecodeWithPagedKVCacheWrapper()


def plan(wrapper: object, **changes: object) -> None:
    arguments = {
        "indptr": np.array([0, 2, 3], np.int64),
        "indices": np.array([0, 1, 2], np.int64),
        "last_page_len": np.array([4, 1], np.int64),
        "num_qo_heads": 4,
        "num_kv_heads": 2,
        "head_dim": 64,
        "page_size": 4,
        "q_data_type": "float32",
    }
    wrapper.plan(**(arguments | changes))


@pytest.mark.parametrize("name", ["indptr", "indices", "last_page_len"])
@pytest.mark.parametrize("excess", [2**32, -(2**32)])
def test_tables_beyond_32_bits_are_refused(name: str, excess: int) -> None:
    table = {"indptr": [0, 2, 3], "indices": [0, 1, 2], "last_page_len": [4, 1]}[name]
    wide = np.array(table, np.int64)
    wide[1] += excess
    with pytest.raises(ValueError, match=f"'{name}' holds .*; accepted: 32-bit integers"):
        plan(decode(), **{name: wide})


@pytest.mark.parametrize("name", ["num_qo_heads", "num_kv_heads", "head_dim", "page_size"])
def test_numbers_beyond_32_bits_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="accepted: a 32-bit integer"):
        plan(decode(), **{name: 2**32 + 4})


@pytest.mark.parametrize("cap", [3e38, 1e-50, -1.0, float("nan")])
def test_soft_caps_without_inverse_are_refused(cap: float) -> None:
    with pytest.raises(ValueError, match="'logits_soft_cap' is"):
        plan(decode(), logits_soft_cap=cap)


@pytest.mark.parametrize("name", ["out", "lse"])
def test_read_only_outputs_are_refused(name: str) -> None:
    wrapper = decode()
    plan(wrapper)
    given = {"out": np.zeros((2, 4, 64), np.float32), "lse": np.zeros((2, 4), np.float32)}
    given[name].flags.writeable = False
    cache = np.ones((3, 2, 4, 2, 64), np.float32)
    with pytest.raises(ValueError, match=f"'{name}' is a read-only NumPy array"):
        wrapper.run(np.ones((2, 4, 64), np.float32), cache, return_lse=True, **given)
    assert not given[name].any()


@pytest.mark.parametrize("theta", [0.0, -5.0, float("nan")])
def test_rope_without_frequencies_is_refused(theta: float) -> None:
    x = np.ones((1, 1, 64), np.float32)
    with pytest.raises(ValueError, match=r"'rope_theta' is .*; accepted: a positive number"):
        wavefire.apply_rope_pos_ids(x, x.copy(), np.zeros(1, np.int32), rope_theta=theta)


@pytest.mark.parametrize("position", [2**24, 2**31 - 1, -1])
def test_positions_whose_angles_are_not_exact_are_refused(position: int) -> None:
    x = np.ones((1, 1, 64), np.float32)
    with pytest.raises(ValueError, match=r"'pos_ids' is .*; accepted: 0 to 16777215"):
        wavefire.apply_rope_pos_ids(x, x.copy(), np.array([position], np.int32))


@pytest.mark.parametrize("position", [10**5, 10**6, 10**7, 2**24 - 1])
def test_large_positions_rotate_exactly(position: int) -> None:
    x = np.ones((1, 1, 64), np.float32)
    rotated, _ = wavefire.apply_rope_pos_ids(x, x.copy(), np.array([position], np.int32))
    angles = position * 1e4 ** (-np.arange(32) / 32)
    first, second = np.cos(angles) - np.sin(angles), np.cos(angles) + np.sin(angles)
    # Half of the dims are paired with the other half unless `interleave` is given.
    assert np.abs(rotated[0, 0] - np.concatenate([first, second])).max() < 1e-6


@pytest.mark.parametrize("k", [100, 2**40, 2**63 - 1])
def test_counts_beyond_the_vocabulary_keep_all(k: int) -> None:
    logits = np.arange(8, dtype=np.float32)[None]
    assert np.array_equal(wavefire.top_k_mask_logits(logits, k), logits)


@pytest.mark.parametrize("make", [lambda: wavefire.KvCache(4), decode])
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, lambda x: pickle.dumps(x)])
def test_handles_are_not_copied(make: object, copier: object) -> None:
    owner = make()
    try:
        copied = copier(owner)
    except TypeError as error:
        assert "neither copied nor pickled" in str(error)
    else:  # a shallow copy of a wrapper shares the handle's one owner
        assert copied._batch is owner._batch


@pytest.mark.parametrize(
    "tokens", [np.array([2**32 + 5]), [1.7], ["1"], np.zeros((2, 2), int), np.array([2**63], "u8")]
)
def test_tokens_are_whole_numbers_in_one_dimension(tokens: object) -> None:
    cache = wavefire.KvCache(4)
    sequence, _ = cache.create()
    with pytest.raises(ValueError, match="KvCache: 'tokens'"):
        cache.append(sequence, tokens)
    assert cache.length(sequence) == 0


def test_pages_needed_for_absurd_counts_is_refused() -> None:
    cache = wavefire.KvCache(4)
    sequence, _ = cache.create()
    with pytest.raises(ValueError, match="'count' is"):
        cache.pages_needed(sequence, 2**63 - 1)


@pytest.mark.parametrize("value", ["abc", "2x", "2.9", ""])
def test_thread_counts_are_whole_numbers(value: str) -> None:
    with pytest.raises(ValueError, match="'num_threads' is"):
        wavefire.configure(num_threads=value)


def test_threads_share_a_cache() -> None:
    cache = wavefire.KvCache(4096, 4)
    errors: list[Exception] = []

    def work(seed: int) -> None:
        try:
            for i in range(200):
                sequence, cached = cache.create([seed, i, 1, 2, 3])
                cache.append(sequence, [seed, i, 1, 2, 3][cached:])
                cache.commit(sequence)
                cache.release(cache.fork(sequence))
                cache.release(sequence)
        except Exception as error:  # the test names it
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert cache.stats().sequences == 0


Q, KV = torch.zeros(3, 4, 64), torch.zeros(3, 2, 64)
X, WEIGHT = torch.zeros(4, 64), torch.ones(64)
PROBS = torch.full((4, 10), 0.1)
APPEND = {
    "append_key": torch.zeros(2, 2, 64), "append_value": torch.zeros(2, 2, 64),
    "batch_indices": ints(0, 1), "positions": ints(0, 0),
    "paged_kv_cache": torch.zeros(3, 2, 4, 2, 64), "kv_indices": ints(0, 1, 2),
    "kv_indptr": ints(0, 2, 3), "kv_last_page_len": ints(4, 1),
}  # fmt: skip
MERGE = {"v_a": Q, "s_a": Q[..., 0], "v_b": Q, "s_b": Q[..., 0]}
PREFILL = {"q": Q, "k": KV, "v": KV}
TABLE_ROPE = {
    "positions": ints(0, 1, 2), "query": Q.view(3, -1), "key": KV.view(3, -1), "head_size": 64,
    "cos_sin_cache": torch.zeros(4, 64),
}  # fmt: skip


def planned() -> wavefire.BatchDecodeWithPagedKVCacheWrapper:
    wrapper = decode()
    plan(wrapper)
    return wrapper


def run(**changes: object) -> object:
    return planned().run(**{"q": Q[:2], "paged_kv_cache": APPEND["paged_kv_cache"]} | changes)


def prefill_plan(**changes: object) -> object:
    return wavefire.BatchPrefillWithPagedKVCacheWrapper().plan(
        **{
            "qo_indptr": ints(0, 1, 2), "paged_kv_indptr": ints(0, 2, 3),
            "paged_kv_indices": ints(0, 1, 2), "paged_kv_last_page_len": ints(4, 1),
            "num_qo_heads": 4, "num_kv_heads": 2, "head_dim_qk": 64, "page_size": 4,
        } | changes
    )  # fmt: skip


# What a call needs, every tensor and number of which is replaced in turn by something else.
CALLS: list[tuple[Callable[..., object], dict[str, object]]] = [
    (wavefire.rmsnorm, {"input": X, "weight": WEIGHT, "eps": 1e-6, "out": X}),
    (wavefire.gemma_rmsnorm, {"input": X, "weight": WEIGHT, "eps": 1e-6}),
    (wavefire.fused_add_rmsnorm, {"input": X, "residual": X, "weight": WEIGHT, "eps": 1e-6}),
    (wavefire.gemma_fused_add_rmsnorm, {"input": X, "residual": X, "weight": WEIGHT}),
    (wavefire.layernorm, {"input": X, "gemma": WEIGHT, "beta": WEIGHT, "eps": 1e-6}),
    (wavefire.silu_and_mul, {"input": X, "out": X[:, :32].contiguous()}),
    (wavefire.gelu_and_mul, {"input": X}),
    (wavefire.gelu_tanh_and_mul, {"input": X}),
    (wavefire.apply_rope, {"q": Q, "k": KV, "indptr": ints(0, 3), "offsets": ints(0)}),
    (wavefire.apply_rope_pos_ids, {"q": Q, "k": KV, "pos_ids": ints(0, 1, 2), "rotary_dim": 64,
                                   "rope_scale": 1.0, "rope_theta": 1e4}),
    (wavefire.apply_llama31_rope_pos_ids_inplace, {"q": Q, "k": KV, "pos_ids": ints(0, 1, 2),
                                                   "low_freq_factor": 1.0}),
    (wavefire.apply_rope_with_cos_sin_cache, TABLE_ROPE),
    (wavefire.apply_rope_with_cos_sin_cache_inplace, TABLE_ROPE),
    (wavefire.append_paged_kv_cache, APPEND),
    (wavefire.append_paged_mla_kv_cache, {
        "append_ckv": X[:2], "append_kpe": X[:2], "batch_indices": ints(0, 1),
        "positions": ints(0, 0), "ckv_cache": torch.zeros(3, 4, 64),
        "kpe_cache": torch.zeros(3, 4, 64), "kv_indices": ints(0, 1, 2),
        "kv_indptr": ints(0, 2, 3), "kv_last_page_len": ints(4, 1)}),
    (wavefire.get_batch_indices_positions,
     {"append_indptr": ints(0, 2), "seq_lens": ints(3), "nnz": 2}),
    (wavefire.get_seq_lens, {"kv_indptr": ints(0, 2), "kv_last_page_len": ints(3), "page_size": 4}),
    (wavefire.packbits, {"x": torch.ones(9).bool()}),
    (wavefire.segment_packbits, {"x": torch.ones(9).bool(), "indptr": ints(0, 9)}),
    (wavefire.merge_state, MERGE),
    (wavefire.merge_state_in_place, {"v": Q, "s": Q[..., 0].clone(), "v_other": Q,
                                     "s_other": Q[..., 0], "mask": torch.ones(3).bool()}),
    (wavefire.merge_states, {"v": Q[:, None], "s": Q[:, None, :, 0]}),
    (wavefire.softmax, {"logits": PROBS, "temperature": 1.0}),
    (wavefire.sampling_from_logits, {"logits": PROBS, "seed": 1, "offset": 1}),
    (wavefire.sampling_from_probs, {"probs": PROBS, "indices": ints(0), "generator": None}),
    (wavefire.top_p_sampling_from_probs, {"probs": PROBS, "top_p": 0.5}),
    (wavefire.top_k_sampling_from_probs, {"probs": PROBS, "top_k": 5}),
    (wavefire.min_p_sampling_from_probs, {"probs": PROBS, "min_p": 0.5}),
    (wavefire.top_k_top_p_sampling_from_probs, {"probs": PROBS, "top_k": 5, "top_p": 0.5}),
    (wavefire.top_k_top_p_sampling_from_logits, {"logits": PROBS, "top_k": 5, "top_p": 0.5}),
    (wavefire.top_p_renorm_probs, {"probs": PROBS, "top_p": 0.5}),
    (wavefire.top_k_renorm_probs, {"probs": PROBS, "top_k": 5}),
    (wavefire.top_k_mask_logits, {"logits": PROBS, "top_k": 5}),
    (wavefire.single_decode_with_kv_cache, PREFILL | {"q": Q[0]}),
    (wavefire.single_prefill_with_kv_cache, PREFILL | {
        "custom_mask": torch.ones(3, 3).bool(), "k_scale": 1.0, "sm_scale": 1.0,
        "window_left": -1, "logits_soft_cap": 1.0, "rope_scale": 1.0, "rope_theta": 1e4}),
    (plan_decode := lambda **arguments: plan(decode(), **arguments), {
        "indptr": ints(0, 2, 3), "indices": ints(0, 1, 2), "last_page_len": ints(4, 1),
        "num_qo_heads": 4, "num_kv_heads": 2, "head_dim": 64, "page_size": 4, "window_left": -1,
        "logits_soft_cap": 1.0, "sm_scale": 1.0, "fixed_split_size": 1, "q_len_per_req": 1}),
    (prefill_plan, {"qo_indptr": ints(0, 1, 2), "paged_kv_indptr": ints(0, 2, 3),
                    "paged_kv_indices": ints(0, 1, 2), "paged_kv_last_page_len": ints(4, 1),
                    "packed_custom_mask": torch.ones(2).byte(), "page_size": 4}),
    (run, {"q": Q[:2], "paged_kv_cache": APPEND["paged_kv_cache"], "q_scale": 1.0, "v_scale": 1.0,
           "out": Q[:2].clone(), "lse": Q[:2, :, 0].clone(), "sinks": torch.zeros(4)}),
]  # fmt: skip
PLACES = [
    pytest.param(function, arguments, name, id=f"{getattr(function, '__name__', '')}-{name}")
    for function, arguments in CALLS
    for name in arguments
]
NAMES = {  # of arguments that the library knows by others
    "query": "q", "key": "k", "paged_kv_cache": "k", "packed_custom_mask": "custom_mask",
    "v_other": "v_b", "s_other": "s_b", "v": "v_a", "s": "s_a", "k_scale": "k_head_scale",
    "q": "q_dtype", "k": "kv_dtype",
}  # fmt: skip
NOT_TENSORS = ([1.0, 2.0], "a", 7, object(), np.array(["a"]), torch.zeros(2, 2).to_sparse())
NOT_NUMBERS = ("a", [1.0], object())


def message_of(function: Callable[..., object], arguments: dict[str, object]) -> str:
    with pytest.raises((ValueError, TypeError, KeyError, NotImplementedError)) as caught:
        function(**arguments)
    text = str(caught.value).strip('"')
    assert re.match(r"\w+: ", text), text
    assert "accepted" in text or "Expected a 1D tensor" in text, text
    assert "\n" not in text
    return text


@pytest.mark.parametrize(("function", "arguments", "name"), PLACES)
def test_what_is_wrong_is_named(
    function: Callable[..., object], arguments: dict[str, object], name: str
) -> None:
    """A list for a tensor, a type that nothing computes with, text for a number: one line that
    names operation, argument, value and what is accepted, in every place.
    """
    function(**arguments)
    right = arguments[name]
    wrong: list[object] = [*NOT_NUMBERS]
    if isinstance(right, torch.Tensor):
        wrong = [*NOT_TENSORS, right.to(torch.complex64)]
        if right.is_floating_point():
            wrong.append(torch._neg_view(right))
    for value in wrong:
        text = message_of(function, arguments | {name: value})
        assert f"'{name}'" in text or f"'{NAMES.get(name, name)}'" in text, text


@pytest.mark.parametrize(("function", "arguments", "name"), PLACES)
def test_other_ranks_and_types_are_named(
    function: Callable[..., object], arguments: dict[str, object], name: str
) -> None:
    """Where two tensors do not fit each other either of them may be the one that is named."""
    right = arguments[name]
    if not isinstance(right, torch.Tensor) or (function is run and "scale" in name):
        return
    wrong = [torch.zeros((1,) * 7), right.new_zeros((2, 0, 3, 1)), right.to("meta")]
    wrong += [torch.tensor(1.0), right.double() if right.is_floating_point() else right.float()]
    for value in wrong:
        if name in ("s_a", "s_b", "s_other", "s") and value.dtype == torch.float64:
            continue  # merging converts other LSEs
        if name == "x" and value.ndim == 1:
            continue  # everything is packed into bits
        text = message_of(function, arguments | {name: value})
        names = {*arguments, *(NAMES.get(n, n) for n in arguments), "nnz", "head_size", "k_cache"}
        assert any(f"'{n}'" in text for n in names) or f" {name} " in text, text


def released(x: torch.Tensor) -> torch.Tensor:
    """As sharded models free their parameters."""
    x = x.clone()
    x.untyped_storage().resize_(0)
    return x


def released_part(x: torch.Tensor) -> torch.Tensor:
    part = torch.stack([x, x])[1]
    part.untyped_storage().resize_(0)
    return part


def fake(x: torch.Tensor) -> torch.Tensor:
    return FakeTensorMode(allow_non_fake_inputs=True).from_tensor(x)


def masked(x: torch.Tensor) -> torch.Tensor:
    return torch.masked.masked_tensor(x, torch.ones_like(x, dtype=torch.bool))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("emptied", [released, released_part, fake, masked])
@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        pytest.param(function, arguments, name, id=f"{function.__name__}-{name}")
        for function, arguments, names in [
            (
                wavefire.rmsnorm,
                {"input": X, "weight": WEIGHT, "out": X},
                ("input", "weight", "out"),
            ),
            (wavefire.single_prefill_with_kv_cache, PREFILL, ("q", "k", "v")),
            (run, {}, ("q", "out", "lse")),
            (wavefire.sampling_from_probs, {"probs": PROBS}, ("probs",)),
            (wavefire.top_k_mask_logits, {"logits": PROBS, "top_k": torch.ones(4)}, ("top_k",)),
        ]
        for name in names
    ],
)
def test_tensors_without_data_are_named(
    function: Callable[..., object], arguments: dict[str, object], name: str,
    emptied: Callable[[torch.Tensor], torch.Tensor],
) -> None:  # fmt: skip
    right = {"lse": Q[:2, :, 0], "out": Q[:2], "q": Q[:2]} | arguments
    text = message_of(function, arguments | {name: emptied(right[name])})
    assert f"'{name}' is without data, though it has {right[name].numel()} elements" in text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("emptied", [released, fake])
@pytest.mark.parametrize("name", ["indptr", "indices", "last_page_len"])
def test_tables_without_data_are_named(
    name: str, emptied: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    table = {"indptr": ints(0, 2, 3), "indices": ints(0, 1, 2), "last_page_len": ints(4, 1)}[name]
    with pytest.raises(ValueError, match=f"'{name}' is without data"):
        plan(decode(), **{name: emptied(table)})


def test_a_cache_without_data_is_named() -> None:
    with pytest.raises(ValueError, match="'paged_kv_cache' is without data"):
        run(paged_kv_cache=released(APPEND["paged_kv_cache"]))


def test_transformed_tensors_are_refused() -> None:
    with pytest.raises(ValueError, match="'input' is without data"):
        torch.func.functionalize(lambda x: wavefire.rmsnorm(x, WEIGHT))(X)


@pytest.mark.parametrize("text", ["0.5", b"3", bytearray(b"1"), "3"])
def test_text_is_no_number(text: object) -> None:
    for call in (
        lambda: plan(decode(), sm_scale=text), lambda: wavefire.softmax(PROBS, text),
        lambda: wavefire.top_k_mask_logits(PROBS, text), lambda: run(q_scale=text),
        lambda: wavefire.top_p_sampling_from_probs(PROBS, text),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"'.*' is .*; accepted: a number"):
            call()


def test_row_parameters_are_real() -> None:
    rows = torch.ones(4, dtype=torch.complex64)
    for call, name in (
        (lambda: wavefire.softmax(PROBS, rows), "temperature"),
        (lambda: wavefire.top_k_mask_logits(PROBS, rows), "top_k"),
        (lambda: wavefire.top_p_sampling_from_probs(PROBS, rows), "top_p"),
        (lambda: wavefire.min_p_sampling_from_probs(PROBS, rows), "min_p"),
    ):
        with pytest.raises(ValueError, match=f"'{name}' is torch.complex64; accepted: a dense"):
            call()
