"""All private API of TensorFlow that the agent uses, looked up here or given up.

Tested on 2.16 and 2.21: `op_callbacks` (since 2.4), `context.enable_run_metadata` and `export_run_metadata`, which
returns each graph once, after its first execution; `context.device_name`, `tf_stack.extract_stack`, the registries of
kernels and operations, the classes of eager tensors and iterators. Graphs are kept until both `disable_run_metadata`
and `disable_graph_collection` are called. `IteratorGetModelProto` exists in 2.21, not in 2.16. `lost` lists what a
release lacks.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

_PER_DEVICE = "PerDeviceGenerator"
"""Suffix of datasets that hold one replica's shard: they are read by a buffer, not by a step."""


class Internals:
    """The private parts of the loaded TensorFlow."""

    def __init__(self, told: Callable[[Any], None] | None = None) -> None:
        """`told` translates a graph's device names from the runtime's to the program's."""
        self._told = told
        self.lost: list[tuple[str, str]] = []
        """(evidence, reason) for what this TensorFlow does not provide."""
        self._callbacks = self._found("operations", "tensorflow.python.framework.op_callbacks", "add_op_callback")
        self._context = self._found("runtime state", "tensorflow.python.eager.context", "context")
        self._stack = self._found("lines of traced code", "tensorflow.python.util.tf_stack", "extract_stack")
        kernels = self._found("kernels", "tensorflow.python.framework.kernels", "get_registered_kernels_for_op")
        definitions = self._found("kernels", "tensorflow.python.framework.op_def_registry", "get")
        self._kernels = kernels if definitions is not None else None
        self._definitions = definitions
        tensors = self._found("reads by the host", "tensorflow.python.framework.ops", "_EagerTensorBase._numpy")
        self.eager_tensor: Any = tensors._EagerTensorBase if tensors is not None else None
        """The class of eager tensors; every read by Python goes through its `_numpy`."""
        owned = self._found("waits for input", "tensorflow.python.data.ops.iterator_ops", "OwnedIterator.__next__")
        distributed = self._found(
            "waits for distributed input", "tensorflow.python.distribute.input_lib", "DistributedIteratorBase.__next__"
        )
        self.owned_iterator: Any = owned.OwnedIterator if owned is not None else None
        """The class of iterators returned by `iter(dataset)`."""
        self.iterators: list[Any] = [
            *([owned.OwnedIterator] if owned is not None else []),
            *([distributed.DistributedIteratorBase] if distributed is not None else []),
        ]
        """Classes of iterators that are read with `next()`."""
        module = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
        functions = self._found("times inside of steps", module, "Function.__call__")
        self.function: Any = functions.Function if functions is not None else None
        """The class of objects that `tf.function` returns."""
        # Not `tensorflow.raw_ops`: its path is a second module, which would replace the program's.
        raw_ops = "tensorflow.python.ops.gen_experimental_dataset_ops"
        model = self._found("waits for input of `fit`", raw_ops, "IteratorGetModelProto")
        form = self._found("waits for input of `fit`", "tensorflow.core.framework.model_pb2", "ModelProto")
        self._model_of = (model, form) if model is not None and form is not None else None

    def _found(self, evidence: str, module: str, name: str) -> Any:
        try:
            found = importlib.import_module(module)
            functools.reduce(getattr, name.split("."), found)
        except (ImportError, AttributeError) as error:
            self.lost.append((evidence, f"{module}.{name}: {error}"))
            return None
        return found

    @property
    def extract_stack(self) -> Any:
        return self._stack.extract_stack if self._stack is not None else None

    def watch_operations(self, callback: Callable[..., None]) -> bool:
        """Registers a callback for every operation of this thread. Returns whether that worked."""
        if self._callbacks is None:
            return False
        self._callbacks.add_op_callback(callback)
        return True

    def forget_operations(self, callback: Callable[..., None]) -> None:
        """Removes the callback from this thread; other threads cannot be reached."""
        if self._callbacks is not None and callback in self._context.context().op_callbacks:
            self._callbacks.remove_op_callback(callback)

    @property
    def calls_others_back(self) -> bool:
        """Whether other callbacks are registered, as by `tf.debugging.enable_check_numerics`. For graph nodes each
        callback gets the return value of the previous one as outputs (2.16, 2.21)."""
        return len(self._context.context().op_callbacks) > 1

    @property
    def is_live(self) -> bool:
        """Whether the runtime is initialised, after which configuration is fixed."""
        return self._context is not None and self._context.context()._context_handle is not None

    @property
    def growth(self) -> bool | None:
        """Whether memory growth is in force for GPUs: the runtime drops `set_memory_growth` if any device is split
        into logical ones. None if the configuration cannot be read."""
        try:
            return bool(self._context.context().config.gpu_options.allow_growth)
        except (AttributeError, ValueError):
            return None

    @property
    def requested_device(self) -> str:
        """The device currently requested by `tf.device`, "" for none."""
        return (self._context.context().device_name or "") if self._context is not None else ""

    @staticmethod
    def dtype_of(tensor: Any) -> int:
        """Number of an eager tensor's dtype (`types.proto`), 0 for other values."""
        return int(tensor._datatype_enum()) if hasattr(tensor, "_datatype_enum") else 0

    @staticmethod
    def value_of(tensor: Any) -> Any:
        """An eager tensor's value, not counted as a read by the program."""
        return tensor._numpy_internal()

    @staticmethod
    def is_of_replica(dataset: Any) -> bool:
        """Whether a dataset is one replica's shard of another."""
        while dataset is not None:
            if type(dataset).__name__.endswith(_PER_DEVICE):
                return True
            dataset = getattr(dataset, "_input_dataset", None)
        return False

    def keep_graphs(self) -> bool:
        """Starts collecting graphs of functions. Returns whether that worked. Initialises the runtime."""
        try:
            self._context.enable_run_metadata()
        except AttributeError as error:
            self.lost.append(("graphs", f"enable_run_metadata: {error}"))
            return False
        return True

    def drop_graphs(self) -> None:
        """Stops collecting graphs and discards those not taken."""
        context = self._context.context()
        context.disable_run_metadata()
        context.disable_graph_collection()
        context.export_run_metadata()

    def graphs(self) -> list[Any]:
        """Graphs executed since the last call, each with `pre_optimization_graph` and `partition_graphs`."""
        metadata = self._context.export_run_metadata()
        graphs = list(metadata.function_graphs) if metadata is not None else []
        if self._told is not None:
            for graph in graphs:
                self._told(graph)
        return graphs

    def kernels_of(self, op: str) -> list[Any] | None:
        """The kernels of an operation (`KernelDef`) for all devices; None without a registry."""
        return list(self._kernels.get_registered_kernels_for_op(op).kernel) if self._kernels is not None else None

    def first_input_of(self, op: str) -> Any:
        """The `ArgDef` of an operation's first input, or None."""
        definition = self._definitions.get(op) if self._definitions is not None else None
        return definition.input_arg[0] if definition is not None and definition.input_arg else None

    @property
    def reads_models(self) -> bool:
        """Whether iterators report their performance model."""
        return self._model_of is not None

    def iterator_gaps(self, iterator: Any) -> tuple[int, list[int]] | None:
        """Number of elements an iterator has produced, and the last gaps between requests in µs (`ModelProto`); None
        if it does not report. Runs an operation."""
        if self._model_of is None:
            return None
        raw_ops, form = self._model_of
        try:
            text = raw_ops.IteratorGetModelProto(iterator=iterator._iterator_resource)
            model = form.ModelProto.FromString(self.value_of(text))
            return int(model.nodes[model.output].num_elements), list(model.gap_times)
        except Exception:  # an iterator without a model, one over several devices, or one that has ended
            return None
