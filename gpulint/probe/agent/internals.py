"""All private API of TensorFlow that the agent uses, looked up here or given up.

Tested on 2.16 and 2.21: `op_callbacks` (since 2.4), `context.enable_run_metadata` and `export_run_metadata`, which
returns each graph once, after its first execution; `context.device_name`, `tf_stack.extract_stack`, the registries of
kernels and operations, the classes of eager tensors and iterators. Graphs are kept until both `disable_run_metadata`
and `disable_graph_collection` are called. `export_run_metadata` waits for the nodes of asynchronous executors and for
remote devices while it holds the GIL, which those nodes may need. `IteratorGetModelProto` exists in 2.21, not in 2.16.
`lost` lists what a release lacks.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from gpulint.probe.agent.executors import is_asynchronous
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.capture.evidence import (
    DISTRIBUTED_WAITS,
    END,
    FIT_WAITS,
    GRAPHS,
    HOLDERS,
    KERNELS,
    LAUNCHES,
    LINES,
    OPERATIONS,
    PEER_WAITS,
    PROFILE,
    READS,
    REPLICAS,
    REQUESTED,
    RUNTIME,
    TRACES,
    WAITS,
)


class Private(NamedTuple):
    """A private API of TensorFlow. `name` may include a call: `context().config`."""

    module: str
    name: str
    evidence: str
    """The evidence that is lost without it."""


class IteratorModel(NamedTuple):
    """Report of an iterator: the number of elements produced, the last gaps between requests in µs, and the
    `ModelProto` with its stages."""

    elements: int
    gaps: list[int]
    model: Any

    @property
    def stages(self) -> list[tuple[str, int, float, float]]:
        """Name, elements, seconds of work in all, and parallelism of each stage, from the last to the source."""
        found = []
        for node in self.model.nodes.values():
            parallel = [one.value for one in node.parameters if one.name == "parallelism"]
            seconds = node.processing_time / 1e9
            found.append((str(node.name), int(node.num_elements), seconds, max(1.0, *parallel) if parallel else 1.0))
        return found

    @property
    def buffers(self) -> list[tuple[str, int]]:
        """Name and buffered bytes of each stage that buffers elements."""
        return [(str(node.name), int(node.buffered_bytes)) for node in self.model.nodes.values() if node.buffered_bytes]


_CONTEXT = "tensorflow.python.eager.context"
_OPS = "tensorflow.python.framework.ops"
_EXECUTOR = "tensorflow.python.eager.executor"
_DEPRECATION = "tensorflow.python.util.deprecation"
_STACKS = "tensorflow.python.util.tf_stack"

PRIVATE = {
    "watch": Private("tensorflow.python.framework.op_callbacks", "add_op_callback", OPERATIONS),
    "forget": Private("tensorflow.python.framework.op_callbacks", "remove_op_callback", END),
    "callbacks": Private(_CONTEXT, "context().op_callbacks", END),
    "handle": Private(_CONTEXT, "context()._context_handle", RUNTIME),
    "device": Private(_CONTEXT, "context().device_name", REQUESTED),
    "set_device": Private(_CONTEXT, "Context._set_device", ""),
    "keep": Private(_CONTEXT, "enable_run_metadata", GRAPHS),
    "export": Private(_CONTEXT, "export_run_metadata", GRAPHS),
    "drop": Private(_CONTEXT, "context().disable_run_metadata", END),
    "drop_graphs": Private(_CONTEXT, "context().disable_graph_collection", END),
    "default_async": Private(_CONTEXT, "context()._default_is_async", GRAPHS),
    "server": Private(_CONTEXT, "context().get_server_def", GRAPHS),
    "collectives": Private(_CONTEXT, "context()._collective_ops_server_def", PROFILE),
    "executor": Private(_EXECUTOR, "new_executor", GRAPHS),
    "tfe": Private(_CONTEXT, "pywrap_tfe", ""),
    "deprecated_at": Private(_DEPRECATION, "_call_location", ""),
    "stack": Private(_STACKS, "extract_stack", LINES),
    "stack_filter": Private(_STACKS, "SentinelFilter.get_filtered_filenames", ""),
    "stack_filters": Private(_STACKS, "_source_filter_stacks", ""),
    "kernels": Private("tensorflow.python.framework.kernels", "get_registered_kernels_for_op", KERNELS),
    "definitions": Private("tensorflow.python.framework.op_def_registry", "get", KERNELS),
    "tensor": Private(_OPS, "_EagerTensorBase", READS),
    "read": Private(_OPS, "_EagerTensorBase._numpy", READS),
    "dtype": Private(_OPS, "EagerTensor._datatype_enum", ""),
    "elements": Private(_OPS, "EagerTensor._num_elements", HOLDERS),
    "value": Private(_OPS, "EagerTensor._numpy_internal", ""),
    "owned": Private("tensorflow.python.data.ops.iterator_ops", "OwnedIterator", WAITS),
    "owned_next": Private("tensorflow.python.data.ops.iterator_ops", "OwnedIterator.__next__", WAITS),
    "distributed": Private("tensorflow.python.distribute.input_lib", "DistributedIteratorBase", DISTRIBUTED_WAITS),
    "distributed_next": Private(
        "tensorflow.python.distribute.input_lib", "DistributedIteratorBase.__next__", DISTRIBUTED_WAITS
    ),
    "dataset_iter": Private("tensorflow.python.data.ops.dataset_ops", "DatasetV2.__iter__", WAITS),
    "distributed_iter": Private("tensorflow.python.distribute.input_lib", "DistributedDataset.__iter__", WAITS),
    "local": Private(
        "tensorflow.python.distribute.input_lib",
        "_SingleWorkerOwnedDatasetIterator.get_next_as_optional_list",
        PEER_WAITS,
    ),
    "per_replica": Private("tensorflow.python.distribute.values", "PerReplica", REPLICAS),
    "function": Private(
        "tensorflow.python.eager.polymorphic_function.polymorphic_function", "Function.__call__", LAUNCHES
    ),
    "concrete": Private(
        "tensorflow.python.eager.polymorphic_function.concrete_function", "ConcreteFunction.__call__", LAUNCHES
    ),
    "compilation": Private(
        "tensorflow.python.eager.polymorphic_function.tracing_compilation", "_create_concrete_function", TRACES
    ),
    "runtime": Private("tensorflow.python.pywrap_tfe", "TFE_Py_FastPathExecute", ""),
    # Not `tensorflow.raw_ops`: its path is a second module, which would replace the program's.
    "model": Private("tensorflow.python.ops.gen_experimental_dataset_ops", "IteratorGetModelProto", FIT_WAITS),
    "model_form": Private("tensorflow.core.framework.model_pb2", "ModelProto", FIT_WAITS),
}
"""All private APIs, each looked up separately. Those without evidence have a slower public replacement."""

ASYNCHRONOUS = "the program runs operations asynchronously"
REMOTE = "the program runs operations on remote devices"
"""Why graphs are not taken."""


def look_up(private: Private) -> Any:
    """The API in the loaded TensorFlow. Raises ImportError or AttributeError."""
    found: Any = importlib.import_module(private.module)
    for part in private.name.split("."):
        found = getattr(found, part.removesuffix("()"))
        found = found() if part.endswith("()") else found
    return found


def _no_context() -> Any:
    raise AttributeError("TensorFlow has no context")


def _public_dtype(tensor: Any) -> int:
    return int(getattr(getattr(tensor, "dtype", None), "as_datatype_enum", 0))


class Internals:
    """The private parts of the loaded TensorFlow."""

    def __init__(self, translate: Callable[[Any], None] | None = None) -> None:
        """`translate` translates a graph's device names from the runtime's to the program's."""
        self._translate = translate
        self.lost: list[tuple[str, str]] = []
        """(evidence, reason) for what this TensorFlow does not provide."""
        self._found: dict[str, Any] = {}
        for key, private in PRIVATE.items():
            try:
                self._found[key] = look_up(private)
            except (ImportError, AttributeError) as error:
                if private.evidence:
                    self.lost.append((private.evidence, f"{private.module}.{private.name}: {error}"))
        self._context: Callable[[], Any] = getattr(importlib.import_module(_CONTEXT), "context", _no_context)
        self._has_device, self._has_elements = "device" in self._found, "elements" in self._found
        self._has_callbacks = "callbacks" in self._found
        self.requested: dict[int, str] = {}
        """Thread → the device that is requested in it, where known. A new thread requests none."""
        self._follows_requests = False
        self.has_asynchronous = False
        """Whether a thread of the program may run operations asynchronously."""
        self.has_unknown_sizes = False
        """Whether a size was not asked for, as that would have waited for an operation."""
        self.dtype_of_tensor: Callable[[Any], int] = self._found.get("dtype", _public_dtype)
        """Number of an eager tensor's dtype (`types.proto`); raises TypeError for other values."""
        self._model_of = self._both("model", "model_form")
        self._read: Any = self._found.get("read")
        self.eager_tensor: Any = self._found.get("tensor") if "read" in self._found else None
        """The class of eager tensors; every read by Python goes through its `_numpy`."""
        self.owned_iterator: Any = self._found.get("owned") if "owned_next" in self._found else None
        """The class of iterators returned by `iter(dataset)`."""
        self.distributed_iterator = self._found.get("distributed") if "distributed_next" in self._found else None
        """The class of iterators over datasets of a strategy."""
        self.local_iterator: Any = next(iter(self._owners("local")), None)
        """The class of the iterators that get one worker's part of a distributed dataset."""
        iterators = (self.owned_iterator, self.distributed_iterator)
        self.iterators: list[Any] = [one for one in iterators if one is not None]
        """Classes of iterators that are read with `next()`."""

    @property
    def executors(self) -> Any:
        """The module whose `new_executor(enable_async, …)` creates all executors but the default one."""
        return importlib.import_module(_EXECUTOR) if "executor" in self._found else None

    @property
    def deprecation(self) -> Any:
        """The module whose `_call_location` names the line that calls a deprecated function."""
        return importlib.import_module(_DEPRECATION) if "deprecated_at" in self._found else None

    @property
    def stacks(self) -> Any:
        """The module that records the stacks of graph nodes and filters their frames."""
        return importlib.import_module(_STACKS) if self._both("stack_filter", "stack_filters") is not None else None

    @property
    def may_wait(self) -> str:
        """Why asking for graphs could wait for other operations, as far as the runtime says; "" if it cannot."""
        context = self._context()
        if context.get_server_def() is not None:
            return REMOTE
        return ASYNCHRONOUS if context._default_is_async else ""

    @property
    def cannot_trace(self) -> str:
        """Why the profiler must not run, "" if it may.

        It now and then crashes workers that exchange tensors over gRPC: `TraceMeRecorder::Stop` reads events that
        other threads still write (2.21 on CPUs: about a fifth of the runs on a busy machine; none without it). It
        traces the host of a worker with GPUs in the same way. MultiWorkerMirroredStrategy has a server for collective
        operations, parameter servers one of the other kind.
        """
        if "collectives" not in self._found:
            return "it is not known whether this is a worker of a cluster"
        context = self._context()
        servers = (context.get_server_def(), context._collective_ops_server_def)
        return "workers of a cluster are not traced" if servers != (None, None) else ""

    def _both(self, first: str, second: str) -> tuple[Any, Any] | None:
        if first in self._found and second in self._found:
            return self._found[first], self._found[second]
        return None

    @property
    def functions(self) -> list[Any]:
        """The classes of objects that `tf.function` and `get_concrete_function` return."""
        return self._owners("function", "concrete")

    @property
    def compilation(self) -> Any:
        """The module that traces functions."""
        return self._module("compilation")

    @property
    def runtime(self) -> Any:
        """The module with the entry points of eager operations."""
        return self._module("runtime")

    @property
    def iterables(self) -> list[Any]:
        """The classes of datasets that `iter` takes."""
        return self._owners("dataset_iter", "distributed_iter")

    def _owners(self, *keys: str) -> list[Any]:
        """The classes of methods."""
        found = [PRIVATE[key] for key in keys if key in self._found]
        return [getattr(importlib.import_module(one.module), one.name.split(".")[0]) for one in found]

    def _module(self, key: str) -> Any:
        return importlib.import_module(PRIVATE[key].module) if key in self._found else None

    @property
    def extract_stack(self) -> Any:
        return self._found.get("stack")

    @property
    def tells_operations(self) -> bool:
        """Whether operations can be observed."""
        return "watch" in self._found

    def watch_operations(self, callback: Callable[..., None]) -> bool:
        """Registers a callback for every operation of this thread. Returns whether that worked."""
        if "watch" not in self._found:
            return False
        self._found["watch"](callback)
        return True

    def forget_operations(self, callback: Callable[..., None]) -> None:
        """Removes the callback from this thread; other threads cannot be reached."""
        if self._has_callbacks and "forget" in self._found and callback in self._context().op_callbacks:
            self._found["forget"](callback)

    @property
    def calls_others_back(self) -> bool:
        """Whether other callbacks are registered, as by `tf.debugging.enable_check_numerics`. For graph nodes each
        callback gets the return value of the previous one as outputs (2.16, 2.21)."""
        return self._has_callbacks and len(self._context().op_callbacks) > 1

    @property
    def is_live(self) -> bool | None:
        """Whether the runtime is initialised, after which configuration is fixed. None if unknown."""
        if "handle" not in self._found:
            return None
        return self._context()._context_handle is not None

    @property
    def growth(self) -> bool | None:
        """Whether memory growth is in force for GPUs: the runtime drops `set_memory_growth` if any device is split
        into logical ones. None if the configuration cannot be read."""
        try:
            return bool(self._context().config.gpu_options.allow_growth)
        except (AttributeError, TypeError, ValueError):
            return None

    @property
    def requested_device(self) -> str:
        """The device currently requested by `tf.device`, "" for none."""
        return (self._context().device_name or "") if self._has_device else ""

    def dtype_of(self, value: Any) -> int:
        """Number of an eager tensor's dtype (`types.proto`), 0 for other values."""
        try:
            return self.dtype_of_tensor(value)
        except TypeError:
            return 0

    def watch_requests(self, hooks: Hooks) -> None:
        """Follows `tf.device` in all threads: asking for the device of a thread takes several times as long."""
        if "set_device" not in self._found or not self._has_device:
            return
        requested, change = self.requested, self._found["set_device"]

        @functools.wraps(change)
        def changed(context: Any, name: Any, *arguments: Any) -> Any:
            changed = change(context, name, *arguments)
            requested[threading.get_ident()] = name or ""
            return changed

        hooks.replace(importlib.import_module(_CONTEXT).Context, "_set_device", changed)
        self._follows_requests = True

    def requested_in(self, thread: int) -> str:
        """The device requested in this thread, whose number `requested` does not contain."""
        name = self.requested_device
        if self._follows_requests:
            self.requested[thread] = name
        return name

    def elements_of(self, tensor: Any) -> int:
        """Number of elements of an eager tensor, 0 for other values, if unknown, or if asking would wait."""
        if not self._has_elements or not hasattr(tensor, "_num_elements") or self._would_wait():
            return 0
        return int(tensor._num_elements())

    def bytes_of(self, tensor: Any) -> int:
        """Bytes of an eager tensor, 0 if unknown or if asking would wait."""
        return 0 if self._would_wait() else int(tensor.shape.num_elements() or 0) * int(tensor.dtype.size)

    def _would_wait(self) -> bool:
        """Whether a question about a tensor's shape waits for the operation that computes it."""
        if not self.has_asynchronous:
            return False
        tfe = self._found.get("tfe")
        waits = tfe is None or is_asynchronous(tfe, getattr(self._context(), "_context_handle", None))
        self.has_unknown_sizes |= waits
        return waits

    def value_of(self, tensor: Any) -> Any:
        """An eager tensor's value, not counted as a read by the program."""
        if "value" in self._found:
            return tensor._numpy_internal()
        return self._read(tensor) if self._read is not None else tensor.numpy()

    def keep_graphs(self) -> bool:
        """Starts collecting graphs of functions. Returns whether that worked. Initialises the runtime."""
        if not self._found.keys() >= {"keep", "export", "default_async", "server", "executor"}:
            return False
        self._found["keep"]()
        return True

    def drop_graphs(self, *, waits: bool) -> None:
        """Stops collecting graphs. Discards those not taken, unless that waits for other operations."""
        for key in ("drop", "drop_graphs", *(() if waits else ("export",))):
            if key in self._found:
                self._found[key]()

    def graphs(self) -> list[Any]:
        """Graphs executed since the last call, each with `pre_optimization_graph` and `partition_graphs`."""
        metadata = self._found["export"]()
        graphs = list(metadata.function_graphs) if metadata is not None else []
        if self._translate is not None:
            for graph in graphs:
                self._translate(graph)
        return graphs

    def kernels_of(self, op: str) -> list[Any] | None:
        """The kernels of an operation (`KernelDef`) for all devices; None without a registry."""
        return list(self._found["kernels"](op).kernel) if self._both("kernels", "definitions") is not None else None

    def first_input_of(self, op: str) -> Any:
        """The `ArgDef` of an operation's first input, or None."""
        definition = self._found["definitions"](op) if "definitions" in self._found else None
        return definition.input_arg[0] if definition is not None and definition.input_arg else None

    @staticmethod
    def is_synchronous(iterator: Any) -> bool:
        """Whether a pipeline produces elements on request only."""
        left = [getattr(iterator, "_dataset", None)]
        while left:
            dataset = left.pop()
            if dataset is None or any(name in type(dataset).__name__ for name in ("Prefetch", "Parallel")):
                return False
            left += dataset._inputs()
        return True

    @staticmethod
    def dataset_of(iterator: Any) -> Any:
        """The dataset that an iterator reads."""
        return iterator._dataset

    @staticmethod
    def inputs_of(dataset: Any) -> list[Any]:
        """The datasets that a dataset reads; none of one that a function got as an argument."""
        inputs = getattr(dataset, "_inputs", None)
        return list(inputs()) if inputs is not None else []

    @staticmethod
    def undistributed(dataset: Any) -> Any:
        """The program's own dataset, of one that a strategy divides among its replicas."""
        return getattr(dataset, "_original_dataset", dataset)

    def release(self, iterator: Any) -> None:
        """Lets go of what an iterator owns, which ends its pipeline, as it is about to be deleted. An iterator inside a
        graph owns nothing."""
        for name in ("_iterator_resource", "_iterators"):
            owned = vars(iterator).get(name)
            if isinstance(owned, list) or (self.eager_tensor is not None and isinstance(owned, self.eager_tensor)):
                del owned
                delattr(iterator, name)

    def owned_iterators(self, value: Any) -> list[Any]:
        """The dataset iterators in an argument of a function: itself, or those of the replicas. Each device of a
        strategy has its own buffer, which a step reads."""
        if self.owned_iterator is None:
            return []
        if isinstance(value, self.owned_iterator):
            return [value]
        if self.distributed_iterator is None or not isinstance(value, self.distributed_iterator):
            return []
        found: list[Any] = []
        for worker in getattr(value, "_iterators", None) or ():
            inner = getattr(worker, "_iterator", None)
            found += [inner] if isinstance(inner, self.owned_iterator) else getattr(inner, "_device_iterators", ())
        return [one for one in found if isinstance(one, self.owned_iterator)]

    def iterator_model(self, iterator: Any) -> IteratorModel | None:
        """Report of an iterator (`ModelProto`), None if it has none. Not to be called while a graph is built: it runs
        an operation, which would become part of the graph."""
        if self._model_of is None:
            return None
        get, form = self._model_of
        try:
            if self.may_wait or not self._context().executing_eagerly():
                return None
            text = get(iterator=iterator._iterator_resource)
            model = form.FromString(self.value_of(text))
            return IteratorModel(int(model.nodes[model.output].num_elements), list(model.gap_times), model)
        except Exception:  # an iterator without a model, one over several devices, or one that has ended
            return None
