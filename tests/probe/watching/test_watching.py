"""`gpulint.watch` in real programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.probe.report.browser import chromium, opened
from tests.probe.watching.in_process import DEVICES, row_of, run, said
from tests.releases import never_seen

WATCHED = (
    DEVICES
    + """
with gpulint.watch(expect=["ops.on[CPU:1] == 100%", "traces.max <= 1", "steps >= 3", "replicas == 1"]) as run:
    with tf.device("CPU:1"):
        w = tf.Variable(tf.ones((4, 4)))

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.matmul(x, w))
            w.assign_sub(0.1 * tape.gradient(loss, w))

        for size in (2, 2, 3):
            step(tf.ones((size, 4)))
"""
)


@pytest.mark.tensorflow
def test_a_block_is_watched_and_checked_against_expressions(tmp_path: Path) -> None:
    text = (
        WATCHED
        + """
from gpulint.probe.measures.time_spent import time_spent

time = time_spent(run.capture)
spent = [time.steps, time.seconds, {one.name: one.seconds for one in time.parts}]
print(json.dumps([told(run), run.ok, run.capture.end["status"], len(run.capture.variables), spent]))
"""
    )
    expectations, is_ok, status, variables, (steps, seconds, parts) = said(tmp_path, text)
    by_subject = {one[2]: one for one in expectations if one[0] == "expect"}
    assert by_subject["ops.on[CPU:1]"][1] == "pass", by_subject
    assert by_subject["traces.max"][1::2] == ["fail", "2"]
    assert by_subject["steps"][1::2] == ["pass", "3"]
    assert by_subject["replicas"][1::2] == ["pass", "1"]
    assert (is_ok, status, variables) == (False, 0, 1)
    assert steps == 2
    assert sum(parts.values()) == pytest.approx(seconds, rel=0.02)
    assert parts["trace"] > 0  # of the third batch


@pytest.mark.tensorflow
def test_what_is_broken_is_raised_with_limit_and_actual_and_shown_in_notebooks(tmp_path: Path) -> None:
    text = (
        WATCHED
        + """
try:
    run.check()
except gpulint.Broken as error:
    broken = isinstance(error, AssertionError), str(error), len(error.expectations)
print(json.dumps([broken, repr(run), str(run), run._repr_html_()]))
"""
    )
    broken, short, report, shown = said(tmp_path, text)
    assert broken == [True, "fail: traces.max: expected <= 1, observed 2: `step`: 2", 1]
    assert short.startswith("<gpulint.watch: 1 fail, ")
    assert "TensorFlow 2." in report
    (tmp_path / "notebook.html").write_text(f"<p>Out[1]:</p>{shown}")
    with chromium() as browser, opened(browser, tmp_path / "notebook.html") as seen:
        frame = seen.page.frame_locator("iframe")
        assert frame.locator("h1").inner_text() == report.split("\n")[2]
        frame.get_by_role("tab", name="Checks").click()
        assert "<= 1" in frame.locator("#checks").inner_text()
        frame.get_by_role("tab", name="Summary").click()
        frame.locator("#summary a[href='#checks']").first.click()
        assert frame.locator("#checks").is_visible()
        assert not seen.complaints and not seen.requests


@pytest.mark.tensorflow
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
import keras
from tensorflow.python.data.ops import iterator_ops
from tensorflow.python.distribute import input_lib
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import ops

HOOKED = (
    keras.Model, tf.GradientTape, *tf.distribute.Strategy.__mro__, ops._EagerTensorBase, iterator_ops.OwnedIterator,
    input_lib.DistributedIteratorBase,
)

def state():  # Python makes __annotations__ when somebody asks for them
    return [
        *({name: own for name, own in vars(cls).items() if name != "__annotations__"} for cls in HOOKED),
        dict(vars(tf.config)), dict(vars(tf.config.experimental)), tf.function, tf.distribute.Strategy.__init__,
        tf.debugging.set_log_device_placement, threading.Thread._bootstrap_inner, list(sys.meta_path),
        execute.execute, list(context.context().op_callbacks), threading.enumerate(), gpulint.expect.is_probed(),
    ]

def traced():
    return tf.function(lambda x: x + 1)

go, seen = threading.Event(), []

def work():
    tf.abs(tf.constant(-1.0))
    go.wait()
    tf.abs(tf.constant(-1.0))
    seen.append(len(context.context().op_callbacks))

x = tf.ones(3)
before = state()
with gpulint.watch() as run:
    inside = state()
    thread = threading.Thread(target=work)
    thread.start()
    traced()(x)
go.set()
thread.join()
same = [a == b for a, b in zip(before, state())]
traced()(x)
kept = len(context.context().export_run_metadata().function_graphs)
with gpulint.watch() as second:
    traced()(x)
print(json.dumps([
    all(same), sum(a != b for a, b in zip(before, inside)), seen, kept,
    [one.name for one in second.capture.functions.values()],
    second.capture.faults + run.capture.faults,
]))
"""
    )
    same, changed_inside, in_thread, kept, functions, faults = said(tmp_path, text)
    assert same
    assert changed_inside >= 14  # otherwise the test shows nothing
    assert in_thread == [0]
    assert kept == 0
    assert len(functions) == 1
    assert faults == []


@pytest.mark.tensorflow
def test_what_ran_before_is_said_not_to_be_seen(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
@tf.function
def step(x):
    return tf.matmul(x, x)

step(tf.ones((4, 4)))
with gpulint.watch(expect=["ops.on_cpu == 100%", "replicas == 2", "steps >= 1", "traces.max <= 1"]) as run:
    step(tf.ones((4, 4)))
    with gpulint.expect.on_cpu():
        step(tf.ones((4, 4)))
    gpulint.expect.max_traces(step, 1)
print(json.dumps([told(run), run.capture.lost]))
"""
    )
    expectations, lost = said(tmp_path, text)
    assert ["what ran before", "TensorFlow was already in use when watching began"] in lost
    statuses = {one[2]: one[1] for one in expectations}
    assert statuses == {
        "ops.on_cpu": "inconclusive",
        "replicas": "inconclusive",
        "steps": "inconclusive",
        "traces.max": "pass",
        "this block": "inconclusive",
        "traces of function `step`": "pass",
        "traces of `step`": "pass",
    }


@pytest.mark.tensorflow
def test_an_exception_goes_on_and_a_watch_is_used_once(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
run = gpulint.watch()
early = [repr(run)]
try:
    run.capture
except RuntimeError as error:
    early.append(str(error))
try:
    with run:
        tf.abs(tf.constant(-1.0))
        raise KeyError("mine")
except KeyError as error:
    early.append(str(error))
try:
    with run:
        pass
except RuntimeError as error:
    early.append(str(error))
print(json.dumps([early, run.capture.error, run.capture.end["status"], gpulint.expect.is_probed(), run.ok]))
"""
    )
    early, error, status, probed, is_ok = said(tmp_path, text)
    assert early == [
        "<gpulint.watch: not begun>",
        "the watched block has not ended",
        "'mine'",
        "this watch has been used: create another one with gpulint.watch()",
    ]
    assert (error, status, probed, is_ok) == ("KeyError: 'mine'", 1, False, True)


NESTED = (
    DEVICES
    + """
def traced(name):
    def own(x):
        return tf.matmul(x, x)
    own.__name__ = name
    return tf.function(own)

x = tf.ones((4, 4))
with gpulint.watch() as outer:
    traced("first")(x)
    with gpulint.watch() as inner:
        traced("second")(x)
        tf.config.set_soft_device_placement(True)
    traced("third")(x)
print(json.dumps([
    [sorted((one.name, one.graph) for one in run.capture.functions.values()), len(run.capture.calls)]
    for run in (outer, inner)
]))
"""
)


@pytest.mark.tensorflow
def test_watches_can_be_nested(tmp_path: Path) -> None:
    (outer, outer_calls), (inner, inner_calls) = said(tmp_path, NESTED)
    assert outer == [["first", True], ["second", True], ["third", True]]
    assert inner == [["second", True]]
    assert (outer_calls, inner_calls) == (1, 1)


@pytest.mark.tensorflow
def test_a_program_that_watches_itself_can_be_probed(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(NESTED)
    command = [
        sys.executable,
        "-m",
        "gpulint",
        "probe",
        "--isolated",
        "--output-format",
        "json",
        "-o",
        "r.json",
        "prog.py",
    ]
    done = warm.python().run(command, cwd=tmp_path)
    (outer, _), (inner, _) = json.loads(done.stdout.splitlines()[-1])
    assert (outer[1], inner) == (["second", True], [["second", True]])
    report = json.loads((tmp_path / "r.json").read_text())
    assert {one["name"] for one in report["functions"]} == {"first", "second", "third"}
    assert report["faults"] == []


@pytest.mark.tensorflow
def test_tensorflow_may_be_imported_in_the_block(tmp_path: Path) -> None:
    text = """
import json, sys, gpulint
with gpulint.watch(expect=["ops.on_cpu == 100%"]) as run:
    before = "tensorflow" in sys.modules
    import tensorflow as tf
    with gpulint.expect.on_cpu():
        tf.abs(tf.constant(-1.0))
print(json.dumps([before, [one.status.value for one in run.expectations], run.capture.lost]))
"""
    before, statuses, lost = said(tmp_path, text)
    assert not before
    assert statuses == ["pass", "pass"]
    assert {evidence for evidence, _ in lost} == never_seen()


def test_without_tensorflow_everything_is_inconclusive(tmp_path: Path) -> None:
    text = """
import json, sys, gpulint
with gpulint.watch(expect=["ops.on_cpu == 100%", "memory.host.peak <= 1 TiB"]) as run:
    with gpulint.expect.on_gpu():
        pass
    gpulint.expect.that("steps == 1")
print(json.dumps([sorted([one.subject, one.status.value] for one in run.expectations), run.report()]))
"""
    expectations, report = said(tmp_path, text)
    assert expectations == [
        ["memory.host.peak", "pass"],
        ["ops.on_cpu", "inconclusive"],
        ["steps", "inconclusive"],
        ["the program", "inconclusive"],
        ["this block", "inconclusive"],
    ]
    assert "The program did not import TensorFlow." in report.splitlines()


def test_an_expression_that_cannot_be_read_is_reported_before_the_block(tmp_path: Path) -> None:
    done = run(tmp_path, "import gpulint\nwith gpulint.watch(expect=['ops.on_gup > 1%']):\n    print('ran')\n")
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].endswith("there is no metric `ops.on_gup`; did you mean `ops.on_gpu`?")


def test_thresholds_and_levels_come_from_the_settings_but_no_expressions(tmp_path: Path) -> None:
    (tmp_path / "gpulint.toml").write_text(
        '[probe]\nexpect = ["steps >= 1000"]\nstrict = true\n[probe.level]\nexpect = "warn"\n'
    )
    text = """
import json, gpulint
with gpulint.watch(expect=["memory.host.peak <= 1 B", "seconds <= 1us"]) as run:
    pass
print(json.dumps([[one.subject, one.status.value] for one in run.expectations]))
"""
    assert said(tmp_path, text) == [
        ["memory.host.peak", "warn"],
        ["seconds", "warn"],
        ["the program", "inconclusive"],
    ]


def test_the_capture_can_be_kept_and_replayed(tmp_path: Path) -> None:
    done = run(tmp_path, "import gpulint\nwith gpulint.watch(capture='kept.jsonl'):\n    pass\n")
    assert done.returncode == 0, done.stderr
    command = [sys.executable, "-m", "gpulint", "probe", "--isolated", "--replay", "kept.jsonl"]
    replayed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert replayed.returncode == 0, replayed.stderr
    assert "The program did not import TensorFlow." in replayed.stdout.splitlines()


def test_places_are_the_users_own(tmp_path: Path) -> None:
    """No line is gpulint's, wherever it is installed."""
    text = "import json, gpulint\nwith gpulint.watch() as run:\n    gpulint.expect.that('steps > 1')  # here\n"
    text += "print(json.dumps([one.where for one in run.capture.stated.values()]))\n"
    assert said(tmp_path, text) == [[str(tmp_path / "prog.py"), row_of(text, "# here"), None]]
