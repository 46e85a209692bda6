"""Watches TensorFlow during a Keras `fit`.

The callback subclasses that of the Keras that the program has loaded: Keras 3, tf_keras, or TensorFlow's own.
"""

from __future__ import annotations

import os
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Literal

from gpulint.probe.watching.watch import Watch, one_line, watch


def _callback_class() -> Any:
    for name in ("keras", "tf_keras"):
        if name in sys.modules:
            return sys.modules[name].callbacks.Callback
    try:
        return import_module("keras").callbacks.Callback
    except ImportError:
        return import_module("tensorflow").keras.callbacks.Callback


_Callback = _callback_class()


class KerasCallback(_Callback):  # type: ignore[misc, valid-type]
    """Watches a `fit` and reports at its end.

        model.fit(x, y, callbacks=[gpulint.KerasCallback(expect=["ops.on_gpu >= 90%"], on_violation="raise")])

    `expect`, `warmup` and `capture` are those of `gpulint.watch`. `report` is called with the text of the report (None:
    no report). `on_violation` handles violations: "warn" warns, "raise" raises `gpulint.Broken` out of `fit`. `run` is
    the watch of the last `fit`. A model that was fitted before is already compiled and traced: its graphs are not
    observed, and expectations that depend on them are inconclusive. If `fit` raises, watching ends with the callback,
    at its next `fit`, or when `stop` is called.
    """

    def __init__(
        self,
        expect: Iterable[str] = (),
        *,
        on_violation: Literal["report", "warn", "raise"] = "report",
        report: Callable[[str], object] | None = print,
        warmup: int | None = None,
        capture: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        if on_violation not in ("report", "warn", "raise"):
            raise ValueError(f'on_violation is "report", "warn" or "raise", not {on_violation!r}')
        self._expect = tuple(expect)
        self._on_violation = on_violation
        self._report = report
        self._warmup, self._path = warmup, capture
        self.run: Watch | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Starts watching."""
        self.stop()
        self.run = watch(expect=self._expect, warmup=self._warmup, capture=self._path)
        self.run.__enter__()
        weakref.finalize(self, self.run.stop)

    def on_train_end(self, logs: Any = None) -> None:
        """Stops watching and reports."""
        self.stop()
        if self.run is None:
            return
        if self._report is not None:
            self._report(self.run.report())
        if self._on_violation == "raise":
            self.run.check()
        elif self._on_violation == "warn" and self.run.broken:
            warnings.warn(f"gpulint: {'; '.join(map(one_line, self.run.broken))}", stacklevel=2)

    def stop(self) -> None:
        """Stops watching if `fit` did not."""
        if self.run is not None:
            self.run.stop()
