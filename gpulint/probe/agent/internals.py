"""Everything of TensorFlow that is no public API, found or given up here.

Seen working on 2.16 and 2.21: `op_callbacks` (there since 2.4), `context.enable_run_metadata` and
`export_run_metadata`, `context.device_name`, `tf_stack.extract_stack`. What a TensorFlow has not is in `lost`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Internals:
    """The private parts of the TensorFlow that is loaded."""

    def __init__(self, told: Callable[[Any], None] | None = None) -> None:
        """`told` puts a graph into the terms of the program, where the runtime's are others."""
        self._told = told
        self.lost: list[tuple[str, str]] = []
        """(evidence, reason) for what this TensorFlow does not give."""
        self._callbacks = self._found("operations", "tensorflow.python.framework.op_callbacks", "add_op_callback")
        self._context = self._found("runtime state", "tensorflow.python.eager.context", "context")
        self._stack = self._found("lines of traced code", "tensorflow.python.util.tf_stack", "extract_stack")

    def _found(self, evidence: str, module: str, name: str) -> Any:
        try:
            found = __import__(module, fromlist=[name])
            getattr(found, name)
        except (ImportError, AttributeError) as error:
            self.lost.append((evidence, f"{module}.{name}: {error}"))
            return None
        return found

    @property
    def extract_stack(self) -> Any:
        return self._stack.extract_stack if self._stack is not None else None

    def watch_operations(self, callback: Callable[..., None]) -> bool:
        """Call back for every operation of this thread from now on; whether that is possible."""
        if self._callbacks is None:
            return False
        self._callbacks.add_op_callback(callback)
        return True

    @property
    def is_live(self) -> bool:
        """Whether the runtime is initialised: what was configured before cannot be changed any more."""
        return self._context is not None and self._context.context()._context_handle is not None

    @property
    def requested_device(self) -> str:
        """The device that `tf.device` asks for at this moment, "" for none."""
        return (self._context.context().device_name or "") if self._context is not None else ""

    def keep_graphs(self) -> bool:
        """Keep the graphs of functions that are run from now on; whether that is possible. Initialises the runtime."""
        try:
            self._context.enable_run_metadata()
        except AttributeError as error:
            self.lost.append(("graphs", f"enable_run_metadata: {error}"))
            return False
        return True

    def graphs(self) -> list[Any]:
        """The graphs that were run since the last call: `pre_optimization_graph` and `partition_graphs` of each."""
        metadata = self._context.export_run_metadata()
        graphs = list(metadata.function_graphs) if metadata is not None else []
        if self._told is not None:
            for graph in graphs:
                self._told(graph)
        return graphs
