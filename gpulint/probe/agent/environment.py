"""Environment variables that affect devices, when TensorFlow reads them and at the end."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.writer import Writer

NAMES = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TF_GPU_THREAD_MODE",
    "TF_GPU_THREAD_COUNT",
    "TF_FORCE_UNIFIED_MEMORY",
    "TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC",
    "TF_CONFIG",
)

QUERIES = ("list_physical_devices", "get_visible_devices", "list_logical_devices")
"""Functions of `tf.config` that query the driver, which reads the environment."""


class Environment:
    """Records the variables once at each moment: "query", "runtime" and "end"."""

    def __init__(self, writer: Writer, hooks: Hooks) -> None:
        self._writer, self._hooks = writer, hooks
        self._told: set[str] = set()

    def watch(self, tensorflow: Any) -> None:
        for name in QUERIES:
            query = getattr(tensorflow.config, name)
            for owner in (tensorflow.config, tensorflow.config.experimental):
                if hasattr(owner, name):
                    self._hooks.replace(owner, name, self._telling(query))

    def tell(self, moment: str) -> None:
        """Records a moment, the first time only."""
        if moment not in self._told:
            self._told.add(moment)
            values = {name: os.environ[name] for name in NAMES if name in os.environ}
            self._writer.write("environment", moment=moment, values=values)

    def _telling(self, query: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(query)
        def asked(*arguments: Any, **keywords: Any) -> Any:
            self.tell("query")
            return query(*arguments, **keywords)

        return asked
