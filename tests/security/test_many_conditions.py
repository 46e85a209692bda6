"""Programs with thousands of conditions or settings: each is compared with a bounded number of others."""

from __future__ import annotations

import pytest

from gpulint.analysis import Plan, Project, analyse
from gpulint.analysis.engine import statements
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
    monkeypatch.setattr(statements, "MAX_ASSERTED", MOST)
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
