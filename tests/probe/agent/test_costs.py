"""The cost of the probe is measured, reported, and not included in figures about the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
from tests.probe.agent.test_agent import probed

PROGRAM = """
import time
import tensorflow as tf
from gpulint.probe.agent import steps

add = steps.Steps.add
steps.Steps.add = lambda *arguments: (time.sleep(0.3), add(*arguments))[1]  # an agent that is slow
weight = tf.Variable(tf.ones((4, 4)))


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(weight)
    weight.assign_sub(0.1 * tape.gradient(loss, weight))


for _ in range(8):
    step()
"""


@pytest.mark.tensorflow
def test_the_time_of_the_agent_is_known_and_in_no_step(tmp_path: Path) -> None:
    _, capture = probed(tmp_path, PROGRAM)
    (steps,) = capture.steps.values()
    assert steps.taken == 8
    assert steps.seconds < 7 * 0.2
    assert sum(segment.seconds.get("own", 0.0) for segment in capture.segments) >= 6 * 0.3
    assert capture.own_cost is not None
    assert capture.own_cost.hooks >= 8 * 0.3
    assert capture.own_cost.counting >= 0 and capture.own_cost.writing >= 0


def test_the_cost_is_in_the_report(tmp_path: Path) -> None:
    records = [
        {"kind": "start", "version": 1, "command": []},
        {"kind": "process", "pid": 1, "python": "3.11.0", "main": "a.py"},
        {"kind": "tensorflow", "tensorflow": "2.21.0", "keras": None, "cuda": False},
        {"kind": "cost", "hooks": 0.1, "counting": 0.1, "writing": 0.0},
        {"kind": "cost", "hooks": 0.25, "counting": 0.15, "writing": 0.1},
        {"kind": "end", "status": 0, "signal": None, "reason": "exit", "seconds": 20.0},
    ]
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps({"t": 0.0, **record}) + "\n" for record in records))
    command = ["probe", "--isolated", "--replay", str(path)]
    assert "gpulint itself took 500 ms of the program's 20.0 s; no figure includes it.\n" in (
        CliRunner().invoke(main, command).stdout
    )
    report = json.loads(CliRunner().invoke(main, [*command, "--output-format", "json"]).stdout)
    assert report["overhead"] == {"seconds": 0.5, "hooks": 0.25, "counting": 0.15, "writing": 0.1, "share": 0.025}
