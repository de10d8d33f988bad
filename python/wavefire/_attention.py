"""What the attention wrappers share: one planned batch over the library's BatchAttention."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import message, number, shown
from ._graphs import Opaque
from ._library import Handle, function
from ._tensors import (
    device_and_stream,
    dtype_codes,
    dtype_name,
    empty,
    is_tensor,
    is_torch,
    require_array,
    require_shape,
    require_tensor,
    require_writable,
    returned,
    scale,
)
from .cascade import merge_state_in_place

_create = function("attention_create")
_destroy = function("attention_destroy", "plan")
_workspace_bytes = function("attention_workspace_bytes", "plan")
_plan = function(
    "attention_plan", "plan", "qo_indptr", "kv_indptr", "kv_indices", "kv_last_page_len",
    "page_size", "custom_mask", "mask_indptr", "num_qo_heads", "num_kv_heads", "head_dim_qk",
    "head_dim_vo", "q_data_type", "kv_data_type", "o_data_type", "kv_layout", "causal",
    "window_left", "sm_scale", "logits_soft_cap", "pos_encoding_mode", "rope_scale", "rope_theta",
    "fixed_split_size", "disable_split_kv", "device", "device", "device", "paged_kv_indices_buf",
)  # fmt: skip
_run = function(
    "attention_run", "Opaque plan", "Tensor q", "Tensor k", "Tensor v", "Tensor! out",
    "Tensor!? lse", "float q_scale", "float k_scale", "float v_scale", "Tensor? q_scale",
    "Tensor? k_scale", "Tensor? v_scale", "Tensor? sinks", "Tensor? alibi_slopes",
)  # fmt: skip

_LSE_DTYPES = ("float32", "float64", "float16", "bfloat16")  # joined as float32
POSITION_MODES = {"NONE": 0, "ROPE_LLAMA": 1, "ALIBI": 2}


def kv_layout_is_hnd(kv_layout: str) -> bool:
    """Raises ``KeyError`` for other than NHD and HND."""
    if kv_layout not in ("NHD", "HND"):
        raise KeyError(f"Invalid kv_layout {kv_layout!r}; accepted: 'NHD', 'HND'")
    return kv_layout == "HND"


def position_mode(name: str) -> int:
    """Raises ``KeyError`` for an unknown mode."""
    if name not in POSITION_MODES:
        raise KeyError(f"Invalid pos_encoding_mode {name!r}; accepted: {', '.join(POSITION_MODES)}")
    return POSITION_MODES[name]


def require_mask(operation: str, mask: Any, *, packed: bool, ranks: tuple[int, ...]) -> None:
    """A custom mask is bool, one with a bit for each pair uint8."""
    name, accepted = ("packed_custom_mask", "uint8") if packed else ("custom_mask", "bool")
    require_tensor(operation, name, mask, *ranks)
    dtype = dtype_name(mask.dtype, operation, name)
    if dtype != accepted:
        raise ValueError(message(operation, name, dtype, accepted))


def split_paged_cache(operation: str, paged_kv_cache: Any, hnd: bool) -> tuple[Any, Any]:
    """K and V as 4-D tensors from a 5-D cache, a pair, or the forms without a page axis."""
    name, accepted = "paged_kv_cache", "a tensor or a pair (k, v)"
    if isinstance(paged_kv_cache, (tuple, list)):
        if len(paged_kv_cache) != 2:
            value = f"{len(paged_kv_cache)} tensors"
            raise ValueError(message(operation, name, value, accepted))
        k, v = paged_kv_cache
        require_array(operation, name, k)
        require_array(operation, name, v)
        if k.ndim == 3 and v.ndim == 3:
            axis = 2 if hnd else 1
            k, v = _insert_axis(k, axis), _insert_axis(v, axis)
        return k, v
    if not is_tensor(paged_kv_cache):  # FlashInfer's kind of error
        raise KeyError(message(operation, name, shown(paged_kv_cache), accepted))
    cache = paged_kv_cache
    if cache.ndim == 4:
        cache = _insert_axis(cache, 3 if hnd else 2)
    if cache.ndim != 5 or cache.shape[1] != 2:
        accepted = (
            "[pages, 2, page_size, heads, dim] (NHD) or [pages, 2, heads, page_size, dim] (HND)"
        )
        value = f"of shape {tuple(cache.shape)}"
        raise ValueError(message(operation, name, value, accepted))
    try:
        return cache[:, 0], cache[:, 1]
    except RuntimeError:  # PyTorch slices no tensor whose storage was freed
        require_tensor(operation, name, cache)
        raise


def require_state(operation: str, state: Any, like: Any) -> tuple[Any, Any]:
    """A `partial_state` that can be joined with `like`, with rows that are contiguous."""
    if not isinstance(state, (tuple, list)) or len(state) != 2:
        raise ValueError(message(operation, "partial_state", shown(state), "a pair (out, lse)"))
    for name, x, rank in zip(("partial_state[0]", "partial_state[1]"), state, (3, 2), strict=True):
        require_tensor(operation, name, x, rank)
        dtype = dtype_name(x.dtype, operation, name)
        accepted = (dtype_name(like.dtype),) if rank == 3 else _LSE_DTYPES
        if tuple(x.shape) != tuple(like.shape[:rank]) or dtype not in accepted:
            wanted = f"{' or '.join(accepted)}{list(like.shape[:rank])}"
            raise ValueError(message(operation, name, f"{dtype}{list(x.shape)}", wanted))
        if is_torch(x) and is_torch(like) and x.device != like.device:
            raise ValueError(message(operation, name, f"on {x.device}", f"on {like.device}"))
    v, s = state
    return v.contiguous() if is_torch(v) else v, s


def _insert_axis(x: Any, axis: int) -> Any:
    return x[(slice(None),) * axis + (None,)]


class Batch(Handle):
    """A planned batch: the library's handle, and the dtypes and shapes that a run must match."""

    def __init__(self) -> None:
        self._handle = Opaque(_create("BatchAttention"))
        self.planned = False

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            handle.forget()
            _destroy("BatchAttention", handle)

    def plan(
        self,
        operation: str,
        *,
        qo_indptr: Any,
        kv_indptr: Any,
        kv_indices: Any = None,
        kv_last_page_len: Any = None,
        page_size: int = 1,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim_qk: int,
        head_dim_vo: int | None = None,
        hnd: bool = False,
        causal: bool = False,
        custom_mask: Any = None,
        mask_indptr: Any = None,
        pos_encoding_mode: str = "NONE",
        window_left: int = -1,
        logits_soft_cap: float | None = None,
        sm_scale: float | None = None,
        rope_scale: float | None = None,
        rope_theta: float | None = None,
        q_dtype: object = "float16",
        kv_dtype: object = None,
        o_dtype: object = None,
        fixed_split_kv: int = 0,
        allow_split: bool = True,
        device: object = "cpu",
        graph_pages: int = 0,
    ) -> None:
        """`graph_pages`: room for page indices, where runs may be captured in CUDA graphs; 0:
        they are not. What is refused leaves the plan before in force.
        """
        kv_dtype = q_dtype if kv_dtype is None else kv_dtype
        o_dtype = q_dtype if o_dtype is None else o_dtype
        if head_dim_vo is None:
            head_dim_vo = head_dim_qk
        elif head_dim_vo == 0:  # which the library takes for head_dim_qk
            raise ValueError(message(operation, "head_dim_vo", "0", "1 or more"))
        dtypes = {
            name: dtype_name(dtype, operation, name)
            for name, dtype in (
                ("q_data_type", q_dtype), ("kv_data_type", kv_dtype), ("o_data_type", o_dtype),
            )
        }  # fmt: skip
        _plan(
            operation,
            self._handle,
            qo_indptr,
            kv_indptr,
            kv_indices,
            kv_last_page_len,
            page_size,
            custom_mask,
            mask_indptr,
            num_qo_heads,
            num_kv_heads,
            head_dim_qk,
            head_dim_vo,
            *(dtype_codes()[name] for name in dtypes.values()),
            hnd,
            causal,
            window_left,
            number(operation, "sm_scale", sm_scale),
            number(operation, "logits_soft_cap", logits_soft_cap, 0.0),
            position_mode(pos_encoding_mode),
            number(operation, "rope_scale", rope_scale, 1.0),
            number(operation, "rope_theta", rope_theta, 1e4),
            fixed_split_kv,
            allow_split,
            *device_and_stream(device),
            graph_pages,
        )
        self.q_dtype, self.o_dtype = dtypes["q_data_type"], dtypes["o_data_type"]
        self.num_qo_heads, self.head_dim_vo = num_qo_heads, head_dim_vo
        self.window_left = window_left
        self.planned = True

    def run(
        self,
        operation: str,
        q: Any,
        k: Any,
        v: Any,
        *,
        q_scale: Any = None,
        k_scale: Any = None,
        v_scale: Any = None,
        out: Any = None,
        lse: Any = None,
        return_lse: bool = False,
        sinks: Any = None,
        window_left: int | None = None,
        partial_state: tuple[Any, Any] | None = None,
    ) -> Any:
        require_array(operation, "q", q)
        if q.ndim != 3:
            raise ValueError(message(operation, "q", f"of shape {tuple(q.shape)}", "rank 3"))
        if window_left is not None and window_left != self.window_left:
            raise ValueError(
                f"{operation}: 'window_left' is {window_left}; accepted: the planned "
                f"{self.window_left}"
            )
        if dtype_name(q.dtype, operation, "q") != self.q_dtype:
            raise ValueError(
                f"{operation}: The dtype of q {q.dtype} does not match the q_data_type specified "
                f"in plan function; accepted: {self.q_dtype}"
            )
        require_writable(operation, out=out, lse=lse)
        shape = (q.shape[0], self.num_qo_heads, self.head_dim_vo)
        o, s = out, lse
        if out is None:
            o = empty(q, shape, self.o_dtype)
        else:
            require_shape(operation, "out", out, shape, self.o_dtype)
        if lse is not None:
            require_shape(operation, "lse", lse, shape[:2], "float32")
        elif return_lse or partial_state is not None:
            s = empty(q, shape[:2], "float32")
        q_value, q_heads = scale(operation, "q_scale", q_scale)
        k_value, k_heads = scale(operation, "k_scale", k_scale)
        v_value, v_heads = scale(operation, "v_scale", v_scale)
        if partial_state is not None:
            partial_state = require_state(operation, partial_state, o)
        _run(
            operation, self._handle, q, k, v, o, s, q_value, k_value, v_value,
            q_heads, k_heads, v_heads, sinks, None,
        )  # fmt: skip
        if partial_state is not None:
            merge_state_in_place(o, s, *partial_state)
        if isinstance(o, np.ndarray):
            o = returned(q, o) if out is None else o
            s = returned(q, s) if return_lse and lse is None else s
        return (o, s) if return_lse else o

    def workspace_bytes(self) -> int:
        return int(_workspace_bytes("workspace_size", self._handle))


def single(
    operation: str,
    q: Any,
    k: Any,
    v: Any,
    *,
    kv_layout: str,
    return_lse: bool,
    custom_mask: Any = None,
    packed_custom_mask: Any = None,
    causal: bool = False,
    o_dtype: object = None,
    scales: tuple[Any, Any, Any] = (None, None, None),
    **options: Any,
) -> Any:
    """One request over contiguous rows; q [qo_len, heads, head_dim]."""
    hnd = kv_layout_is_hnd(kv_layout)
    for name, x in (("q", q), ("k", k), ("v", v)):
        require_tensor(operation, name, x, 3)
    kv_len = k.shape[1 if hnd else 0]
    if v.shape[1 if hnd else 0] != kv_len:
        raise ValueError(
            f"{operation}: 'v' has shape {tuple(v.shape)}; accepted: the rows of 'k' ({kv_len})"
        )
    mask, mask_indptr = packed_custom_mask, None
    if packed_custom_mask is not None:
        require_mask(operation, packed_custom_mask, packed=True, ranks=(1,))
        mask_indptr = np.array([0, packed_custom_mask.shape[0]], dtype=np.int32)
    elif custom_mask is not None:
        require_mask(operation, custom_mask, packed=False, ranks=())
        if tuple(custom_mask.shape) != (q.shape[0], kv_len):
            raise ValueError(
                f"{operation}: 'custom_mask' has shape {tuple(custom_mask.shape)}; "
                f"accepted: [{q.shape[0]}, {kv_len}]"
            )
        mask = custom_mask.reshape(-1)
    batch = Batch()
    batch.plan(
        operation,
        qo_indptr=np.array([0, q.shape[0]], dtype=np.int32),
        kv_indptr=np.array([0, kv_len], dtype=np.int32),
        num_qo_heads=q.shape[1],
        num_kv_heads=k.shape[0 if hnd else 1],
        head_dim_qk=q.shape[2],
        head_dim_vo=v.shape[2],
        hnd=hnd,
        causal=causal and mask is None,
        custom_mask=mask,
        mask_indptr=mask_indptr,
        q_dtype=q.dtype,
        kv_dtype=k.dtype,
        o_dtype=o_dtype,
        device=getattr(q, "device", "cpu"),
        **options,
    )
    return batch.run(
        operation,
        q,
        k,
        v,
        q_scale=scales[0],
        k_scale=scales[1],
        v_scale=scales[2],
        return_lse=return_lse,
    )
