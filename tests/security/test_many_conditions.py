"""Programs with thousands of conditions or settings: each is compared with a bounded number of others."""

from __future__ import annotations

from typing import Any

import pytest

from gpulint.analysis import Plan, Project, analyse
from gpulint.analysis.domain import path_conditions, store
from gpulint.analysis.domain.values.base import Union
from gpulint.analysis.engine import machine, statements
from gpulint.analysis.models.tensorflow import device_runtime
from gpulint.analysis.plan.events import DeviceEntered
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.sources.source import Source

ROWS = 60
MOST = 10


def plan_of(body: str) -> Plan:
    text = "import tensorflow as tf\n" + body
    source = Source("program.py", text.encode(), text, "utf-8")
    return on_deep_stack(lambda: analyse(source, Project([], lambda path: None), "2.21"))


@pytest.mark.parametrize("test", ["c{0}", "c{0} and tf.zeros(x{0})", "c{0} or d{0}", "not c{0}"])
def test_a_path_has_a_bounded_number_of_asserted_conditions(monkeypatch: pytest.MonkeyPatch, test: str) -> None:
    monkeypatch.setattr(statements, "MAX_CONDITIONS", MOST)
    plan = plan_of("".join(f"assert {test.format(row)}\n" for row in range(ROWS)) + "tf.zeros(1)\n")
    longest = max(len(event.where.path) for event in plan.events)
    assert MOST <= longest < 2 * MOST


@pytest.mark.parametrize(("before", "entered"), [("assert c\n", 0), ("", 1)])
def test_an_asserted_condition_is_remembered(before: str, entered: int) -> None:
    plan = plan_of(before + "if not c:\n    with tf.device('/gpu:0'):\n        tf.zeros(1)\n")
    assert sum(isinstance(event, DeviceEntered) for event in plan.events) == entered


def test_a_setting_is_compared_with_a_bounded_number_of_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    is_of_same = device_runtime._is_of_same

    def counted(*arguments: object) -> bool:
        nonlocal compared
        compared += 1
        return is_of_same(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(device_runtime, "MAX_SETTINGS", MOST)
    monkeypatch.setattr(device_runtime, "_is_of_same", counted)
    plan_of(
        "gpus = tf.config.list_physical_devices('GPU')\n"
        + "".join(f"tf.config.set_visible_devices(gpus[{row}], 'GPU')\n" for row in range(ROWS))
    )
    assert ROWS < compared <= ROWS * MOST


ENDING = {
    "raise": "if c{0}:\n    raise ValueError\n",
    "exit": "if c{0}:\n    sys.exit()\n",
    "a match": "match c{0}:\n    case [a, b]:\n        raise ValueError\n",
}


@pytest.mark.parametrize("ending", ENDING)
def test_a_path_has_a_bounded_number_of_branches_that_do_not_end(monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(machine, "MAX_CONDITIONS", MOST)
    plan = plan_of("import sys\n" + "".join(ENDING[ending].format(row) for row in range(ROWS)) + "tf.zeros(1)\n")
    longest = max(len(event.where.path) for event in plan.events)
    assert MOST <= longest < 2 * MOST


def test_an_alternative_that_no_branch_changes_has_a_bounded_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a variable was before sixty branches is on the path on which none was taken."""
    monkeypatch.setattr(store, "MAX_CONDITIONS", MOST)
    plan = plan_of(
        "x = False\n"
        + "".join(f"if c{row}:\n    x = True\n" for row in range(ROWS))
        + "if not x:\n    with tf.device('/gpu:0'):\n        tf.zeros(1)\n"
    )
    entered = [event for event in plan.events if isinstance(event, DeviceEntered)]
    assert entered and max(len(event.where.path) for event in entered) < 2 * MOST


def test_a_join_has_a_bounded_number_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_DEFINITIONS", MOST + 5)
    counts: list[int] = []
    join = store.join

    def recorded(*arguments: Any) -> Any:
        joined = join(*arguments)
        counts.append(len(joined.alternatives) if isinstance(joined, Union) else 1)
        return joined

    monkeypatch.setattr(store, "join", recorded)
    plan_of("".join(f"if c{row}:\n    def f():\n        return {row}\n" for row in range(ROWS)))
    assert max(counts) == MOST + 5


def test_excluded_cases_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    contradict = path_conditions._contradict

    def counted(*arguments: object) -> bool:
        nonlocal compared
        compared += 1
        return contradict(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(path_conditions, "_contradict", counted)
    plan_of("match c:\n" + "".join(f"    case {row}:\n        tf.zeros({row})\n" for row in range(ROWS)))
    assert compared < ROWS * ROWS
