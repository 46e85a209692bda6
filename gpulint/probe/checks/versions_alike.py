"""All workers of a cluster run the same software."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.cluster.worker_text import by_value
from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated

_ID = "versions-alike"

_VERSIONS: tuple[tuple[str, Callable[[Capture], str]], ...] = (
    ("Python", lambda capture: str(capture.process.get("python") or "")),
    ("TensorFlow", lambda capture: str(capture.tensorflow.get("tensorflow") or "")),
    ("Keras", lambda capture: capture.keras),
)


def check(run: Run) -> Iterator[Expectation]:
    """Each package by version; workers that never imported it are left out."""
    for name, version_of in _VERSIONS:
        versions = {task: version for task, capture in run.capture.trainers if (version := version_of(capture))}
        if len(versions) < 2:
            continue
        subject, expected, observed = f"{name} of each worker", "one version", by_value(versions)
        if len(set(versions.values())) == 1:
            yield held(_ID, subject, expected, observed)
        else:
            fix = f"install the same {name} for every worker: graphs and collectives of two versions need not agree"
            yield violated(_ID, subject, expected, observed, fix=fix, level=Level.WARN)
