"""TensorFlow's callbacks are per thread: registers them in each new thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.operations import Operations

OWN = "gpulint"
"""Name of the agent's own thread, which runs no operations."""


def watch_threads(
    internals: Internals, operations: Operations, on_fault: Callable[[str, BaseException], None]
) -> Callable[[], None]:
    """Watches operations of threads started from now on. Returns a function that stops this; threads that are
    running then are unregistered at their next callback."""
    bootstrap = getattr(threading.Thread, "_bootstrap_inner", None)
    if bootstrap is None:
        return lambda: None

    def watched(thread: threading.Thread) -> None:
        if thread.name != OWN and not operations.is_over:
            try:
                internals.requested.pop(threading.get_ident(), None)
                internals.watch_operations(operations.callback)
            except Exception as error:
                on_fault("threads", error)
        bootstrap(thread)

    def unwatch() -> None:
        if getattr(threading.Thread, "_bootstrap_inner", None) is watched:
            threading.Thread._bootstrap_inner = bootstrap  # type: ignore[attr-defined]

    threading.Thread._bootstrap_inner = watched  # type: ignore[attr-defined]
    return unwatch
