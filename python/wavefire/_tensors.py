"""Tensors of the caller's framework: dtypes, allocation, conversion of arguments.

PyTorch and JAX are used only when the caller passes their tensors. Results are of the caller's
framework; for JAX they are computed as NumPy arrays, which become JAX's at the end (`returned`).
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import numpy as np

from ._arrays import export_torch, exporters, is_jax_type
from ._errors import message, number, require_takable, shown
from ._graphs import constant_in_graphs
from ._library import function

_library_dtypes = function("dtype_names")
_dtype_names: dict[Any, str] = {}
_dtype_codes: dict[str, int] = {}


def dtype_codes() -> dict[str, int]:
    """The library's code of each dtype that it has a name for."""
    if not _dtype_codes:
        names = _library_dtypes("dtype")
        _dtype_codes.update({str(name): code for code, name in enumerate(names)})
    return _dtype_codes


def is_torch(x: object) -> bool:
    """True for a PyTorch tensor; never imports PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


@constant_in_graphs
def dtype_name(dtype: object, operation: str = "dtype", argument: str = "dtype") -> str:
    """The name of a dtype given as a string, a torch dtype, a NumPy dtype or type."""
    try:
        return _dtype_names[dtype]
    except (KeyError, TypeError):  # new, or of no hash
        pass
    name = dtype if isinstance(dtype, str) else str(dtype)
    name = name.removeprefix("torch.")
    if name not in dtype_codes():
        with contextlib.suppress(TypeError):
            name = np.dtype(dtype).name
    if name in dtype_codes():
        _dtype_names[dtype] = name
        return name
    raise TypeError(message(operation, argument, shown(dtype), ", ".join(dtype_codes())))


def is_jax(x: object) -> bool:
    """True for a JAX array; never imports JAX."""
    return is_jax_type(type(x))


def is_tensor(x: object) -> bool:
    """True for what is passed on to the library as a tensor."""
    return exporters[type(x)] is not None


def require_array(operation: str, argument: str, x: Any) -> None:
    """The first half of `require_tensor`, for paths where the library looks at the rest."""
    if exporters[type(x)] is None:
        raise TypeError(message(operation, argument, shown(x), "a tensor"))


def require_tensor(operation: str, argument: str, x: Any, *ranks: int) -> None:
    """``TypeError`` for what is no tensor, ``ValueError`` for one that the library does not take or
    whose rank is none of `ranks`.
    """
    require_array(operation, argument, x)
    require_takable(operation, argument, x)
    if ranks and x.ndim not in ranks:
        accepted = "rank " + " or ".join(map(str, ranks))
        raise ValueError(message(operation, argument, f"of shape {tuple(x.shape)}", accepted))


def device_and_stream(device: object) -> tuple[int, int, int]:
    """DLPack's type and the index of a PyTorch device, and its current stream; of others the
    CPU's.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(device, torch.device) or device.type != "cuda":
        return 1, 0, 0
    index = torch.cuda.current_device() if device.index is None else device.index
    kind = 10 if torch.version.hip else 2
    return kind, index, torch.cuda.current_stream(device).cuda_stream


def empty(like: Any, shape: tuple[int, ...], dtype: object = None) -> Any:
    """An uninitialised tensor of the framework and device of `like`; NumPy's for JAX."""
    if is_torch(like):
        torch = sys.modules["torch"]
        chosen = like.dtype if dtype is None else getattr(torch, dtype_name(dtype))
        return torch.empty(shape, dtype=chosen, device=like.device)
    return np.empty(shape, dtype=like.dtype if dtype is None else np.dtype(dtype_name(dtype)))


def empty_like(x: Any) -> Any:
    """A contiguous tensor of the same shape and dtype."""
    return empty(x, tuple(x.shape))


def returned(like: Any, x: Any) -> Any:
    """A result, in the framework of `like`."""
    return sys.modules["jax"].numpy.asarray(x) if is_jax(like) else x


def own_copy(x: Any) -> Any:
    """A copy of a tensor or of a list of numbers; anything else as it is."""
    if is_torch(x):
        return x.clone()
    return np.array(x) if isinstance(x, (np.ndarray, list)) else x


def assignable(to: Any, x: Any) -> Any:
    """The values of `x` as what may be assigned to elements of `to`."""
    if is_torch(to):
        return x if is_torch(x) else sys.modules["torch"].from_numpy(np.array(x))
    return np.asarray(x.cpu() if is_torch(x) else x)


def require_writable(operation: str, **arguments: Any) -> None:
    """``ValueError`` for an immutable tensor among those that are written in place."""
    for name, x in arguments.items():
        if x is None or exporters[type(x)] is export_torch:
            continue
        if is_jax(x):
            kind = "a JAX array, which is immutable"
        elif isinstance(x, np.ndarray) and not x.flags.writeable:
            kind = "a read-only NumPy array"
        else:
            continue
        raise ValueError(
            f"{operation}: '{name}' is {kind}, and is written in place; accepted: a writable "
            "tensor (or use the form that returns a new one)"
        )


def host_int32(operation: str, argument: str, x: Any) -> Any:
    """Index data [n] as int32 on the host; ``ValueError`` for other than 32- or 64-bit integers."""
    if is_tensor(x):
        require_tensor(operation, argument, x, 1)
    elif np.ndim(x) != 1:
        raise TypeError(message(operation, argument, shown(x), "a tensor"))
    if is_torch(x):
        torch = sys.modules["torch"]
        if x.dtype not in (torch.int32, torch.int64):
            raise ValueError(f"{operation}: '{argument}' is {x.dtype}; accepted: int32 or int64")
        if x.dtype == torch.int64 and x.numel() > 0:
            _require_int32(operation, argument, int(x.min()), int(x.max()))
        return x if x.dtype is torch.int32 and x.is_cpu else x.to(device="cpu", dtype=torch.int32)
    array = np.asarray(x)
    if array.size == 0:
        return array.astype(np.int32)
    if array.dtype not in (np.int32, np.int64):
        raise ValueError(f"{operation}: '{argument}' is {array.dtype}; accepted: int32 or int64")
    if array.dtype == np.int64:
        _require_int32(operation, argument, int(array.min()), int(array.max()))
    return np.ascontiguousarray(array, dtype=np.int32)


def _require_int32(operation: str, argument: str, least: int, most: int) -> None:
    if least < -(2**31) or most >= 2**31:
        raise ValueError(
            f"{operation}: '{argument}' holds {least} to {most}; accepted: 32-bit integers"
        )


def scale(operation: str, argument: str, x: Any) -> tuple[float, Any]:
    """A scale per tensor (number or tensor of one element), or a tensor of one per head."""
    if x is None:
        return 1.0, None
    if is_tensor(x):
        if x.ndim > 1:
            raise ValueError(
                f"{operation}: '{argument}' has shape {tuple(x.shape)}; accepted: a number, "
                "one element, or one per head"
            )
        if x.ndim == 0 or x.shape[0] == 1:
            return float(x), None
        return 1.0, x
    return number(operation, argument, x), None


def require_shape(
    operation: str, argument: str, x: Any, shape: tuple[int, ...], dtype: object
) -> None:
    """Checks an output given by the caller."""
    require_array(operation, argument, x)
    name = dtype_name(x.dtype, operation, argument)
    if tuple(x.shape) != shape or name != dtype_name(dtype):
        raise ValueError(
            f"{operation}: '{argument}' is {name}{list(x.shape)}; "
            f"accepted: {dtype_name(dtype)}{list(shape)}"
        )
