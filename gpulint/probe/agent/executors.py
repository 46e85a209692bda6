"""Executors, which run the operations of a thread at once or later."""

from __future__ import annotations

from typing import Any


def is_asynchronous(tfe: Any, handle: Any) -> bool:
    """Whether this thread runs operations later: asking for a tensor's shape then waits for its value, in 2.16 while
    holding the GIL, which the operation may need.

    `tfe` is TensorFlow's module `pywrap_tfe`, `handle` that of its context. `context().is_async()` would wait, too:
    the executor that it returns waits for all operations when it is deleted (`tensorflow/python/eager/executor.py`).
    """
    if handle is None:
        return False
    executor = tfe.TFE_ContextGetExecutorForThread(handle)
    try:
        return bool(tfe.TFE_ExecutorIsAsync(executor))
    finally:
        tfe.TFE_DeleteExecutor(executor)
