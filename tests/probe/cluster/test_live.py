"""Real clusters of MultiWorkerMirroredStrategy on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.releases import never_seen

pytestmark = pytest.mark.tensorflow

PROGRAM = """import os, signal, sys, time
import tensorflow as tf

index = tf.distribute.cluster_resolver.TFConfigClusterResolver().task_id
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weights = tf.Variable(tf.ones((4, 8)))


def forward(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((x @ weights) ** 2)
    context = tf.distribute.get_replica_context()
    weights.assign_sub(0.001 * context.all_reduce("sum", tape.gradient(loss, weights)))


@tf.function
def step(x):
    strategy.run(forward, (x,))


data = tf.data.Dataset.from_tensor_slices(tf.ones((480, 4))).repeat(2).batch(8 * strategy.num_replicas_in_sync)
began = time.perf_counter()
for number, x in enumerate(strategy.experimental_distribute_dataset(data)):
    if index == 1 and number == 8:
        if "dies" in sys.argv:
            os.kill(os.getpid(), signal.SIGKILL)
        if "sleeps" in sys.argv:
            time.sleep(600)
    step(x)
    if index == 1 and "late" in sys.argv:
        took = time.perf_counter() - began
        time.sleep(min(1, max(0.05, 2 * took)))
        began = time.perf_counter()
"""
"""The late worker sleeps twice as long as it works, however slow the machine is."""


def probe(directory: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit status and the report."""
    (directory / "train.py").write_text(PROGRAM)
    options = ["--isolated", "--output-format", "json", "-o", "a.json"]
    done = warm.python().run([sys.executable, "-m", "gpulint", "probe", *options, *arguments], cwd=directory)
    assert (directory / "a.json").exists(), done.stderr
    return done.returncode, json.loads((directory / "a.json").read_text())


def said(report: dict[str, Any], id: str) -> list[tuple[str, str, str]]:
    return [(one["status"], one["subject"], one["observed"]) for one in report["expectations"] if one["id"] == id]


def test_two_workers_train_together_and_the_late_one_is_named(tmp_path: Path) -> None:
    status, report = probe(tmp_path, "--local-workers", "2", "--capture", "seen", "train.py", "late")
    assert status == 0, report["run"]
    reasons = {lost["evidence"]: lost["reason"] for lost in report["environment"]["lost"]}
    assert reasons.keys() == {"profile"} | never_seen()
    assert reasons["profile"] == "workers of a cluster are not traced"
    assert said(report, "worker-joined") == [("pass", "worker 0, 1", "60 steps")]
    assert said(report, "devices-alike") == [("pass", "devices of each worker", "1 × CPU")]
    assert next((one[0], one[2]) for one in said(report, "replica-balance")) == ("pass", "136 bytes")
    ((late, subject, _),) = said(report, "straggler")
    assert (late, subject) == ("warn", "straggler: worker 1")
    first = report["advice"][0]
    assert (first["cause"], first["text"]) == ("straggler", "the other workers wait for worker 1")
    assert first["row"] == 1 + next(n for n, line in enumerate(PROGRAM.splitlines()) if "max(0.05" in line)
    assert report["time"]["worker"] == "worker 0"
    ((waits, subject, _),) = said(report, "peer-wait")
    assert (waits, subject) == ("warn", "worker 0 waits for worker 1")
    assert not [one for one in said(report, "input-wait") if one[0] == "warn"]
    assert [one[0] for one in said(report, "host-reads")] == ["pass"]
    (strategy,) = report["strategies"]
    assert strategy["devices"] == [f"/job:worker/task:{index}/CPU:0" for index in range(2)]
    assert [one["devices"] for one in report["workers"]] == [["CPU:0"], ["CPU:0"]]
    merged, again = probe(tmp_path, "--merge", "seen")
    assert (merged, again["expectations"], again["workers"]) == (0, report["expectations"], report["workers"])


def test_a_worker_that_is_killed_while_it_trains_is_named(tmp_path: Path) -> None:
    status, report = probe(tmp_path, "--local-workers", "2", "train.py", "dies")
    assert (status, report["run"]["signal"], report["run"]["worker"]) == (4, 9, "worker 1")
    assert [one["reason"] for one in report["workers"]] != ["exit", "exit"] or report["workers"][0]["error"]


def test_a_worker_that_sleeps_while_the_other_waits_for_it_in_a_step_is_named(tmp_path: Path) -> None:
    status, report = probe(tmp_path, "--local-workers", "2", "--hang-after", "5", "train.py", "sleeps")
    assert (status, report["run"]["reason"], report["run"]["worker"]) == (124, "hang", "worker 1")
    waiting, sleeping = report["workers"]
    assert waiting["in_tensorflow"] and not sleeping["in_tensorflow"]
    row = PROGRAM.splitlines().index("            time.sleep(600)") + 1
    assert sleeping["stopped_at"] == {"filename": str(tmp_path / "train.py"), "row": row}
