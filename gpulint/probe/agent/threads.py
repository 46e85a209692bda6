"""TensorFlow calls back for the thread that asked only: each new thread is made to ask, too."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.operations import Operations

OWN = "gpulint"
"""The name of the agent's own thread, which runs no operation."""


def watch_threads(
    internals: Internals, operations: Operations, on_fault: Callable[[str, BaseException], None]
) -> Callable[[], None]:
    """Watch the operations of threads that are started from now on. Gives what ends that; threads that run then are
    sent away when they call back."""
    bootstrap = getattr(threading.Thread, "_bootstrap_inner", None)
    if bootstrap is None:
        return lambda: None

    def watched(thread: threading.Thread) -> None:
        if thread.name != OWN and not operations.is_over:
            try:
                internals.watch_operations(operations)
            except Exception as error:
                on_fault("threads", error)
        bootstrap(thread)

    def unwatch() -> None:
        if getattr(threading.Thread, "_bootstrap_inner", None) is watched:
            threading.Thread._bootstrap_inner = bootstrap  # type: ignore[attr-defined]

    threading.Thread._bootstrap_inner = watched  # type: ignore[attr-defined]
    return unwatch
