"""What the batch wrappers share: workspace, buffers of graph mode, and what clients read of them.

Engines read and write attributes of FlashInfer's wrappers that begin with an underscore; those here
are meant for that, and are kept up to date by ``plan``.
"""

from __future__ import annotations

import sys
from typing import Any

from ._attention import Batch, kv_layout_is_hnd
from ._errors import message, whole
from ._hints import require_backend, require_neutral
from ._tensors import assignable, dtype_name, own_copy, require_tensor, require_writable


def canonical_dtype(dtype: object) -> Any:
    """The dtype as PyTorch's, or its name where PyTorch is not loaded."""
    name = dtype_name(dtype)
    torch = sys.modules.get("torch")
    return name if torch is None else getattr(torch, name)


def split_tokens(operation: str, fixed_split_size: int | None, unit: int) -> int:
    """`fixed_split_size` in tokens; None, 0 and the -1 of vLLM mean that there is none."""
    if fixed_split_size is None:
        return 0
    return max(0, whole(operation, "fixed_split_size", fixed_split_size, -1)) * unit


class AttentionWrapper:
    """Base of the decode and prefill wrappers."""

    _operation = "AttentionWrapper"
    _argument_suffix = ""  # of the arguments that the buffers come from
    _pin_memory_int_workspace_buffer: Any = None
    _plan_info: Any = None
    _block_tables: Any = None
    _causal = False

    def _setup(
        self, float_workspace_buffer: Any, kv_layout: str, use_cuda_graph: bool, backend: str,
        buffers: dict[str, Any], **neutral: Any,
    ) -> None:  # fmt: skip
        require_neutral(self._operation, **neutral)
        self._backend = require_backend(self._operation, backend)
        self._hnd = kv_layout_is_hnd(kv_layout)
        self._kv_layout = kv_layout
        self._float_workspace_buffer = float_workspace_buffer
        self._int_workspace_buffer: Any = None
        self._use_cuda_graph = use_cuda_graph
        for name, buffer in buffers.items():
            argument = name + self._argument_suffix
            if use_cuda_graph and buffer is None:
                raise ValueError(f"{argument} should be a torch.Tensor in cudagraph mode")
            if use_cuda_graph:
                self._require_table_buffer(argument, buffer)
            setattr(self, f"_{name}", buffer)
        self._batch = Batch()
        self._parameters: dict[str, Any] = {}
        self._plan_arguments: dict[str, Any] = {}

    def _require_table_buffer(self, argument: str, buffer: Any) -> None:
        require_tensor(self._operation, argument, buffer, 1)
        require_writable(self._operation, **{argument: buffer})
        dtype = dtype_name(buffer.dtype, self._operation, argument)
        if dtype not in ("int32", "int64"):
            raise ValueError(message(self._operation, argument, dtype, "int32 or int64"))

    @property
    def is_cuda_graph_enabled(self) -> bool:
        return self._use_cuda_graph

    @property
    def backend(self) -> str:
        """The backend that runs: the portable kernels."""
        return "native" if self._backend == "auto" else self._backend

    @property
    def backend_fallback_reason(self) -> str | None:
        """Why ``auto`` declined a faster backend; None when it did not."""
        return None

    @property
    def device(self) -> Any:
        """Where the workspace lies; the CPU without one."""
        torch = sys.modules.get("torch")
        here = "cpu" if torch is None else torch.device("cpu")
        return getattr(self._float_workspace_buffer, "device", here)

    def _placement(self) -> dict[str, Any]:
        """Where a plan's runs go and, in graph mode, the room for page indices on a GPU."""
        pages = getattr(self, "_paged_kv_indices_buf", None) if self._use_cuda_graph else None
        return {"device": self.device, "graph_pages": 0 if pages is None else len(pages)}

    def reset_workspace_buffer(
        self, float_workspace_buffer: Any, int_workspace_buffer: Any
    ) -> None:
        """Takes other buffers; they are not needed."""
        self._float_workspace_buffer = float_workspace_buffer
        self._int_workspace_buffer = int_workspace_buffer

    def _check_tables(self, batch_size: int, tables: dict[str, Any]) -> None:
        """In graph mode the batch size is fixed and the buffers have to hold the tables."""
        if not self._use_cuda_graph:
            return
        if batch_size != self._fixed_batch_size():
            raise ValueError(
                "The batch size should be fixed in cudagraph mode, the runtime batch size "
                f"{batch_size} mismatches the batch size set during initialization "
                f"{self._fixed_batch_size()}"
            )
        for name, table in tables.items():
            room = len(getattr(self, f"_{name}"))
            if len(table) > room:
                raise ValueError(
                    f"{self._operation}: {len(table)} entries for '{name}'; accepted: up to "
                    f"{room}, its size"
                )

    def _store_tables(self, tables: dict[str, Any]) -> None:
        """Keeps the tables of a plan; in graph mode in the caller's buffers."""
        for name, table in tables.items():
            if self._use_cuda_graph:
                buffer = getattr(self, f"_{name}")
                buffer[: len(table)] = assignable(buffer, table)
            else:
                setattr(self, f"_{name}", table)

    def _fixed_batch_size(self) -> int:
        raise NotImplementedError

    def _remember(self, arguments: dict[str, Any], parameters: dict[str, Any]) -> None:
        """What ``forward`` may plan again with, and what clients read."""
        cap = parameters["logits_soft_cap"]
        parameters = {**parameters, "logits_soft_cap": 0.0 if cap is None else float(cap)}
        self._plan_arguments = {name: own_copy(x) for name, x in arguments.items()}
        self._parameters = parameters
        for name, value in parameters.items():
            if not name.endswith("_data_type"):
                setattr(self, f"_{name}", value)
        q = canonical_dtype(parameters["q_data_type"])
        kv, o = parameters["kv_data_type"], parameters["o_data_type"]
        self._cached_q_data_type = q
        self._cached_kv_data_type = q if kv is None else canonical_dtype(kv)
        self._cached_o_data_type = q if o is None else canonical_dtype(o)
        self._num_qo_heads = arguments["num_qo_heads"]
        self._num_kv_heads = arguments["num_kv_heads"]

    def _require_planned(self, method: str) -> None:
        if not self._batch.planned:
            raise RuntimeError(f"{self._operation}: {method}() before plan(); call plan() first")

    def _replan(self, **parameters: Any) -> None:
        """For the deprecated ``forward``: plans again if a parameter differs from the planned."""
        self._require_planned("forward")
        if parameters.get("logits_soft_cap") is None:
            parameters["logits_soft_cap"] = 0.0
        if any(self._parameters[name] != value for name, value in parameters.items()):
            AttentionWrapper._plan_again(self, {**self._parameters, **parameters})

    def _plan_again(self, parameters: dict[str, Any]) -> None:
        # The class's own plan: clients replace `begin_forward` and `plan` of an instance.
        type(self).plan(self, **self._plan_arguments, **parameters)  # type: ignore[attr-defined]

    def workspace_size(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """Bytes that a plan with these arguments uses: ``(float, int)``. All of it is Wavefire's
        own, so that buffers of any size will do.
        """
        probe = object.__new__(type(self))  # the same settings, a plan of its own
        vars(probe).update(vars(self), _batch=Batch(), _use_cuda_graph=False)
        type(self).plan(probe, *args, **kwargs)  # type: ignore[attr-defined]
        return probe._batch.workspace_bytes(), 0

    def end_forward(self) -> None:
        """Deprecated; does nothing."""

    def _reject_arguments(self, arguments: tuple[Any, ...]) -> None:
        if arguments:
            raise NotImplementedError(
                f"{self._operation}: {len(arguments)} additional arguments; accepted: none"
            )
