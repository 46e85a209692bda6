"""What a program expects of its devices, said in the program.

    import gpulint

    model = gpulint.expect.on_gpu(build_model())      # its variables are on a GPU
    gpulint.expect.max_traces(train_step, 1)
    with gpulint.expect.no_copies():                  # between devices
        train_step(batch)
    gpulint.expect.that("ops.on_gpu >= 90%")

Nothing is checked here: `gpulint probe`, `gpulint.watch` and `pytest --gpulint-probe` record what is expected with the
line that says so, and hold the run against it. In a program that none of them watches every function does nothing,
imports nothing and raises nothing. A value that is given comes back, so that `on_gpu(value)` stands where the value
does, and `@gpulint.expect.on_gpu` above a function.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, TypeVar, overload

from gpulint.probe.agent import active

__all__ = ["is_probed", "max_traces", "no_copies", "on", "on_cpu", "on_gpu", "that"]

T = TypeVar("T")


class _Nothing:
    """No value, not even None."""


_NOTHING = _Nothing()


@overload
def on(device: str) -> AbstractContextManager[None]: ...
@overload
def on(device: str, value: T) -> T: ...
def on(device: str, value: object = _NOTHING) -> object:
    """Expects something on a device: "GPU" (any), "GPU:1", "/cpu:0".

    A tensor, a variable, or several: where they are. A model, a layer, an optimizer or a `tf.Module`: where its
    variables are, at the end of the program where it has none yet. A function: where the operations run that it
    consists of, in graphs or one by one. Without a value: a context manager, for all that runs in its block.
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
    """Expects that a `tf.function` is traced so many times at most, until the program ends."""
    for session in active.SESSIONS:
        session.inline.state("traces", str(limit), function)
    return function


def no_copies() -> AbstractContextManager[None]:
    """Expects that nothing is copied from one device to another while a block runs."""
    return _Block("copies", "0")


def that(expression: str) -> None:
    """Expects what an expression says of the whole run, such as "memory.peak[GPU:0] <= 2 GiB"."""
    for session in active.SESSIONS:
        session.inline.state("that", str(expression))


def is_probed() -> bool:
    """Whether somebody watches this process."""
    return bool(active.SESSIONS)


class _Block:
    """A `with` statement whose block is expected to do something."""

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
    # AutoGraph would rewrite them where a tf.function calls them. It leaves alone what has this attribute, which is
    # all that tf.autograph.experimental.do_not_convert adds (2.16 and 2.21).
    setattr(_function, "autograph_info__", {})  # noqa: B010
