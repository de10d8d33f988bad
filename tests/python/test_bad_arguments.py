"""Arguments that Python could carry into the library wrongly: each is one clear error."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
import wavefire


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
    with pytest.raises(ValueError, match=r"'positions' is .*; accepted: 0 to 16777215"):
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
