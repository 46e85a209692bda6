"""Verifies several workers: each one, and all together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpulint.linting.finding import Finding
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Task
from gpulint.probe.checks import (
    devices_alike,
    growth_alike,
    peer_wait,
    replica_balance,
    stragglers,
    versions_alike,
    worker_balance,
    workers_joined,
)
from gpulint.probe.checks.verify import CHECKS as EACH
from gpulint.probe.checks.verify import in_order, verify
from gpulint.probe.cluster.worker_text import SHOWN, by_value, names
from gpulint.probe.expectations.expectation import Expectation, Run, UserExpectation
from gpulint.settings import Settings

CHECKS = (
    workers_joined.check,
    devices_alike.check,
    versions_alike.check,
    growth_alike.check,
    worker_balance.check,
    replica_balance.check,
    stragglers.check,
    peer_wait.check_cluster,
)
"""The checks of a cluster, in report order."""


def verify_all(
    capture: Capture, findings: Sequence[Finding], requested: Sequence[UserExpectation], settings: Settings
) -> list[Expectation]:
    """All expectations of a joined capture: those of the cluster, then those of its workers, with equal ones merged."""
    of_cluster = verify(Run(capture, findings, (), settings), CHECKS)
    own = [check for check in EACH if check is not peer_wait.check]
    of_workers = [(task, verify(Run(one, findings, requested, settings), own)) for task, one in capture.trainers]
    return in_order([*of_cluster, *merged(of_workers)])


def merged(of_workers: Sequence[tuple[Task, Iterable[Expectation]]]) -> list[Expectation]:
    """Merges the workers' expectations: equal results of all workers appear once."""
    groups: dict[Expectation, dict[Task, list[Expectation]]] = {}
    for task, expectations in of_workers:
        for one in expectations:
            groups.setdefault(replace(one, observed="", evidence=()), {}).setdefault(task, []).append(one)
    everybody = len(of_workers)
    return [_together(key, by_task, everybody) for key, by_task in groups.items()]


def _together(key: Expectation, by_task: dict[Task, list[Expectation]], everybody: int) -> Expectation:
    observed = {task: "; ".join(dict.fromkeys(one.observed for one in found)) for task, found in by_task.items()}
    evidence = {task: "; ".join(line for one in found for line in one.evidence) for task, found in by_task.items()}
    lines = dict.fromkeys(evidence.values())
    if len(lines) == 1:
        told = next(iter(by_task.values()))[0].evidence
    else:
        told = tuple(f"{task.name}: {line}" for task, line in list(evidence.items())[:SHOWN] if line)
    whose = "" if len(by_task) == everybody else f" on {names(by_task)}"
    return replace(key, subject=f"{key.subject}{whose}", observed=by_value(observed), evidence=told)
