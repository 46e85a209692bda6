"""The program does not fork after TensorFlow's runtime is up."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.expectations.expectation import Expectation, Level, Run, violated

_ID = "forks"


def check(run: Run) -> Iterator[Expectation]:
    """Each line that forked. A fork has none of the threads of TensorFlow and cannot use its GPUs: an operation in it
    waits for ever, or ends the process."""
    for where, count in sorted(run.capture.forks.items(), key=str):
        yield violated(
            _ID,
            "forks after TensorFlow was initialised",
            "none",
            f"{count} fork{'s' * (count > 1)} here",
            where=where,
            evidence=("a fork has none of TensorFlow's threads: operations in it hang or crash",),
            fix='start processes with `multiprocessing.get_context("spawn")`, or before TensorFlow is used',
            level=Level.WARN,
        )
