"""Records configuration calls of TensorFlow: their arguments and results."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.writer import Writer

CONFIGURATION = (
    "config.set_visible_devices",
    "config.set_logical_device_configuration",
    "config.set_soft_device_placement",
    "config.threading.set_inter_op_parallelism_threads",
    "config.threading.set_intra_op_parallelism_threads",
    "config.run_functions_eagerly",
    "config.experimental.set_memory_growth",
    "config.experimental.set_visible_devices",
    "config.experimental.set_virtual_device_configuration",
    "config.experimental.set_device_policy",
    "config.experimental_run_functions_eagerly",
    "config.experimental_connect_to_cluster",
    "data.experimental.enable_debug_mode",
    "debugging.set_log_device_placement",
    "debugging.enable_check_numerics",
    "debugging.disable_check_numerics",
    "debugging.experimental.enable_dump_debug_info",
    "debugging.experimental.disable_dump_debug_info",
    "profiler.experimental.start",
    "profiler.experimental.stop",
)
"""Recorded functions, relative to `tensorflow`."""


class Calls:
    """Wraps functions of TensorFlow and records their calls, transparently to the program."""

    def __init__(self, writer: Writer, places: Places, hooks: Hooks, no_jit: bool) -> None:
        self._writer = writer
        self._hooks = hooks
        self._places = places
        self._no_jit = no_jit
        self._strategies = 0
        self.compiled: set[str] = set()
        """Names of functions that XLA compiles, whether they are called or not."""
        self._compiled_at: dict[str, Place | None] = {}
        self.made: Counter[str] = Counter()
        """Number of `tf.function`s created, by name of the Python function."""

    def watch(self, tensorflow: Any) -> list[str]:
        """Installs the wrappers; returns what could not be wrapped."""
        missing = []
        for name in CONFIGURATION:
            *path, last = name.split(".")
            try:
                owner = functools.reduce(getattr, path, tensorflow)
                self._hooks.replace(owner, last, self._recorded(f"tf.{name}", getattr(owner, last)))
            except AttributeError:
                missing.append(name)
        try:
            self._watch_strategies(tensorflow.distribute.Strategy)
            self._hooks.replace(tensorflow, "function", self._function(tensorflow.function))
        except AttributeError as error:
            missing.append(str(error))
        return missing

    def _recorded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            where = self._places.here(2)
            given = {str(index): _text(value) for index, value in enumerate(arguments)}
            given |= {key: _text(value) for key, value in keywords.items()}
            outcome = "ok"
            began = time.perf_counter()
            try:
                return function(*arguments, **keywords)
            except Exception as error:
                outcome = f"{type(error).__name__}: {error}"
                raise
            finally:
                seconds = round(time.perf_counter() - began, 6)
                self._writer.write("call", name=name, arguments=given, outcome=outcome, where=where, seconds=seconds)

        return call

    def _watch_strategies(self, strategy: Any) -> None:
        owner = next(cls for cls in strategy.__mro__ if "__init__" in vars(cls))
        construct = owner.__init__

        @functools.wraps(construct)
        def made(made_strategy: Any, *arguments: Any, **keywords: Any) -> None:
            construct(made_strategy, *arguments, **keywords)
            name = type(made_strategy).__name__
            if not name.startswith("_"):
                self._strategies += 1
                devices = getattr(made_strategy.extended, "worker_devices", ())
                self._writer.write(
                    "strategy",
                    id=self._strategies,
                    **{"class": name},
                    devices=[short(str(device)) for device in devices],
                    replicas=made_strategy.num_replicas_in_sync,
                    where=self._places.here(2),
                )

        self._hooks.replace(owner, "__init__", made)

    def _function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps `tf.function` to record which functions XLA compiles, or to disable compilation (`--no-jit`)."""

        @functools.wraps(function)
        def traced(func: Any = None, *arguments: Any, **keywords: Any) -> Any:
            if keywords.get("jit_compile"):
                if self._no_jit:
                    keywords["jit_compile"] = False
                elif func is not None:
                    self._compiles(getattr(func, "__name__", ""))
            if func is None:
                return functools.partial(traced, **keywords)
            self.made[getattr(func, "__name__", "")] += 1
            return function(func, *arguments, **keywords)

        return traced

    def _compiles(self, name: str) -> None:
        if name not in self.compiled:
            self.compiled.add(name)
            self._compiled_at[name] = self._places.here(3)

    def traces_compiled(self, name: str) -> None:
        """A function that XLA compiles is traced, and will run."""
        if name in self._compiled_at:
            self._writer.write("compiled", name=name, where=self._compiled_at.pop(name))


def _text(value: Any) -> str:
    if hasattr(value, "device_type") and hasattr(value, "name"):
        text = short(str(value.name).replace("physical_device:", ""))
    elif hasattr(value, "memory_limit"):
        text = f"{type(value).__name__}({value.memory_limit or ''})"
    elif isinstance(value, (list, tuple)):
        text = f"[{', '.join(_text(one) for one in value)}]"
    else:
        text = repr(value)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


MAX_TEXT = 200
"""Characters of an argument that are kept."""
