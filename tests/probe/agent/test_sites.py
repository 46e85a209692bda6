"""Eager operations from known sites take the fast path, and are counted correctly."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gpulint.probe.agent.sites import UNCHECKED
from tests.probe.agent.test_agent import DEVICES, probed, row_of

pytestmark = pytest.mark.tensorflow

PROGRAM = (
    DEVICES
    + """
import functools
import threading
from gpulint.probe.agent import operations

looks = []
look = operations.Operations._executed
operations.Operations._executed = lambda self, op, *rest: (looks.append(op), look(self, op, *rest))[1]


def double(x):
    return tf.nn.relu(x) + x  # here


def alternate():
    for number in range(120):
        with tf.device(f"CPU:{number % 3}"):
            double(tf.ones((2, 2), (tf.float32, tf.float64)[number % 2]))
        if number % 4 == 0:
            double(tf.ones((2, 2)))


threads = [threading.Thread(target=alternate) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with tf.device("CPU:1"):
    far = tf.ones((2, 2))
for _ in range(50):
    with tf.device("CPU:2"):
        tf.nn.relu6(far)  # far
exec("\\n".join(["tf.nn.relu(far)"] * 2))


def own(x):
    return tf.nn.elu(x)  # inner


for number in range(500):
    apply = functools.singledispatch(tf.nn.elu) if number < 30 else own
    tf.nest.map_structure(apply, far)  # outer
print(looks.count("Relu"))
"""
)


def test_operations_are_counted_by_line_request_device_and_dtype(tmp_path: Path) -> None:
    done, capture = probed(tmp_path, PROGRAM)
    here = row_of(PROGRAM, "# here")
    found: Counter[tuple[str, str, str]] = Counter()
    for ran, count in capture.executions.items():
        if ran.op == "Relu" and ran.where is not None and ran.where.row == here:
            found[ran.requested, ran.device, ran.dtype] += count
    each = {(f"CPU:{n}", f"CPU:{n}", dtype): 3 * 20 for n in range(3) for dtype in ("float32", "float64")}
    assert found == {**each, ("", "CPU:0", "float32"): 3 * 30}
    assert sum(count for ran, count in capture.executions.items() if ran.op == "Relu6") == 50
    copied = {one.source: count for one, count in capture.copies.items() if one.consumer == "Relu6"}
    assert copied == {"CPU:1": 50}
    elu: Counter[int] = Counter()
    for ran, count in capture.executions.items():
        if ran.op == "Elu" and ran.where is not None:
            elu[ran.where.row] += count
    assert sum(elu.values()) == 500
    assert elu[row_of(PROGRAM, "# inner")] >= 470 - UNCHECKED, "the frames before the outer line were not visited"
    assert elu[row_of(PROGRAM, "# outer")] >= 30
    assert int(done.stdout) <= 3 * 7 + 2, "operations that ran before were looked at again"
    assert not capture.faults
