"""All workers of a cluster set memory growth in the same way."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.cluster.worker_text import by_value
from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated
from gpulint.probe.measures.configuration import growth_enabled_for

_ID = "growth-alike"
_SUBJECT, _EXPECTED = "memory growth of each worker", "the same on each"
_VARIABLE = "TF_FORCE_GPU_ALLOW_GROWTH"


def check(run: Run) -> Iterator[Expectation]:
    """The calls and environment of each worker; nothing if no worker sets growth."""
    growths = {task: _growth(capture) for task, capture in run.capture.trainers if capture.logical}
    if len(growths) < 2 or set(growths.values()) == {""}:
        return
    observed = by_value({task: growth or "not set" for task, growth in growths.items()})
    if len(set(growths.values())) == 1:
        yield held(_ID, _SUBJECT, _EXPECTED, observed)
    else:
        fix = "set it for every worker, or for none: a worker without it reserves its whole card"
        yield violated(_ID, _SUBJECT, _EXPECTED, observed, fix=fix, level=Level.WARN)


def _growth(capture: Capture) -> str:
    devices = growth_enabled_for(capture)
    values = next((capture.environment[name] for name in ("runtime", "query") if name in capture.environment), {})
    parts = [f"set for {', '.join(sorted(devices))}"] if devices else []
    parts += [f"{_VARIABLE}={values[_VARIABLE]}"] if _VARIABLE in values else []
    return " and ".join(parts)
