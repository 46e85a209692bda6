"""Expectations about devices, stated in the program.

    import gpulint

    model = gpulint.expect.on_gpu(build_model())      # its variables are on a GPU
    gpulint.expect.max_traces(train_step, 1)
    with gpulint.expect.no_copies():                  # between devices
        train_step(batch)
    gpulint.expect.that("ops.on_gpu >= 90%")

Nothing is checked here: `gpulint probe`, `gpulint.watch` and `pytest --gpulint-probe` record the expectation with its
line and compare it with the run. In a program that none of them watches, every function does nothing, imports nothing
and raises nothing. Functions return the value they are given, so `on_gpu(value)` can replace the value, and
`@gpulint.expect.on_gpu` can decorate a function.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, TypeVar, overload

from gpulint.probe.agent import active

__all__ = ["is_probed", "max_traces", "no_copies", "on", "on_cpu", "on_gpu", "that"]

T = TypeVar("T")


class _Nothing:
    """The type of a missing value, as None is a value."""


_NOTHING = _Nothing()


@overload
def on(device: str) -> AbstractContextManager[None]: ...
@overload
def on(device: str, value: T) -> T: ...
def on(device: str, value: object = _NOTHING) -> object:
    """Expects something on a device: "GPU" (any), "GPU:1", "/cpu:0".

    A tensor, a variable, or several: their device. A model, a layer, an optimizer or a `tf.Module`: the device of its
    variables, at the end of the program if it has none yet. A function: the device of its operations, in graphs or
    eager. Without a value: a context manager, for everything that runs in its block.
    """
    if isinstance(value, _Nothing):
        return _Block("on", device)
    for session in active.SESSIONS:
        session.inline.state("on", device, value)
    return value


@overload
def on_gpu() -> AbstractContextManager[None]: ...
@overload
def on_gpu(value: T) -> T: ...
def on_gpu(value: object = _NOTHING) -> object:
    """As `on("GPU", value)`."""
    return on("GPU", value)


@overload
def on_cpu() -> AbstractContextManager[None]: ...
@overload
def on_cpu(value: T) -> T: ...
def on_cpu(value: object = _NOTHING) -> object:
    """As `on("CPU", value)`."""
    return on("CPU", value)


def max_traces(function: T, limit: int) -> T:
    """Expects that a `tf.function` is traced at most `limit` times until the program ends."""
    for session in active.SESSIONS:
        session.inline.state("traces", str(limit), function)
    return function


def no_copies() -> AbstractContextManager[None]:
    """Expects that nothing is copied between devices while a block runs."""
    return _Block("copies", "0")


def that(expression: str) -> None:
    """Expects an expression to be true for the whole run, such as "memory.peak[GPU:0] <= 2 GiB"."""
    for session in active.SESSIONS:
        session.inline.state("that", str(expression))


def is_probed() -> bool:
    """Whether this process is watched."""
    return bool(active.SESSIONS)


class _Block:
    """A context manager that states an expectation of its block."""

    __slots__ = ("_expected", "_form", "_opened")

    def __init__(self, form: str, expected: str) -> None:
        self._form, self._expected = form, expected
        self._opened: list[tuple[active.Watcher, Any]] = []

    def __enter__(self) -> None:
        for session in active.SESSIONS:
            self._opened.append((session, session.inline.open(self._form, self._expected)))

    def __exit__(self, *error: object) -> None:
        while self._opened:
            session, block = self._opened.pop()
            session.inline.close(block)


for _function in (on, on_gpu, on_cpu, max_traces, no_copies, that):
    # Keeps AutoGraph from converting them inside a tf.function: this attribute is all that
    # tf.autograph.experimental.do_not_convert adds (2.16 and 2.21).
    setattr(_function, "autograph_info__", {})  # noqa: B010
