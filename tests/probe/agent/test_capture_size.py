"""A capture stays small, whatever the program does."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from gpulint.probe.agent.session import RATE
from tests.probe.agent.test_agent import probed

pytestmark = pytest.mark.tensorflow

LINES = "\n".join("    y = tf.nn.relu(x)" for _ in range(700))
PROGRAM = f"""
import time
import tensorflow as tf

x = tf.ones((2, 2))
end = time.monotonic() + 6
rounds = 0
while time.monotonic() < end:
    rounds += 1
{LINES}
print(rounds)
"""


def test_operations_of_many_lines_are_written_less_often(tmp_path: Path) -> None:
    done, capture = probed(tmp_path, PROGRAM)
    assert sum(count for ran, count in capture.executions.items() if ran.op == "Relu") == 700 * int(done.stdout)
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    records = [(json.loads(line), len(line)) for line in lines if '"kind": "ops"' in line]
    for (record, size), (following, _) in pairwise(records[:-1]):  # the last one is written at the end
        assert following["t"] - record["t"] >= size / RATE
