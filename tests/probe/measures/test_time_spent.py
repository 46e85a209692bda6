"""Where the time of the steps went: real programs with a planted cost, and figures computed from records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gpulint.probe.capture.contents import Capture, Member
from gpulint.probe.capture.reader import read
from gpulint.probe.capture.records import (
    EagerCost,
    Happened,
    Inside,
    Retrace,
    Sampled,
    Segment,
    Stage,
    Steps,
    TakenStep,
    Task,
    Traced,
    Wait,
    Where,
    Work,
)
from gpulint.probe.measures.splits import splits_by_loop
from gpulint.probe.measures.time_spent import TimeSpent, time_spent
from tests.probe.agent.test_agent import DEVICES, probed, row_of
from tests.releases import needs_waits_of_fit

LINE = Where("train.py", 7)


def segment(began: float, ended: float, steps: int, stage: int = 0, eager: int = 0, **seconds: float) -> Segment:
    return Segment(stage, began, ended, steps, seconds, eager, ())


def inside(state: str, began: float, ended: float, seconds: float) -> Inside:
    return Inside(Work(LINE, state, "next", seconds, 1), began, ended)


def spent(capture: Capture) -> dict[str, float]:
    time = time_spent(capture)
    assert time is not None
    assert sum(part.seconds for part in time.parts) == pytest.approx(time.seconds)
    assert sum(part.share for part in time.parts) == pytest.approx(1)
    return {part.name: round(part.seconds, 6) for part in time.parts}


def test_parts_are_the_states_up_to_the_last_step() -> None:
    capture = Capture(
        segments=[
            segment(10, 12, 3, launch=1.0, python=0.75, own=0.25),
            segment(12, 13, 1, input=1.0),
            segment(13, 20, 0, python=7.0),  # after the last step
        ]
    )
    assert spent(capture) == {"input": 1.0, "launch": 1.0, "python": 0.75}
    time = time_spent(capture)
    assert time is not None
    assert (time.seconds, time.steps) == (2.75, 4)  # without gpulint's own time


def test_waits_inside_functions_are_taken_from_launch_and_no_more_than_there_is() -> None:
    capture = Capture(
        segments=[segment(0, 4, 2, launch=3.0, python=1.0)],
        steps_taken=[TakenStep(2, {"launch": 1.5, "python": 0.5}, 0), TakenStep(4, {"launch": 1.5, "python": 0.5}, 0)],
        inside=[inside("input", 0.5, 1.5, 1.0), inside("input", 2.5, 4, 9.0), inside("input", -3, -1, 2.0)],
    )
    assert spent(capture) == {"input": 2.5, "launch": 0.5, "python": 1.0}
    time = time_spent(capture)
    assert time is not None
    assert [one.parts for one in time.each] == [
        {"input": 1.0, "launch": 0.5, "python": 0.5},
        {"input": 1.5, "python": 0.5},
    ]


def test_a_long_call_that_was_a_wait_is_no_compilation() -> None:
    capture = Capture(
        segments=[segment(0, 4, 2, launch=4.0)],
        steps_taken=[TakenStep(2, {"launch": 2.0}, 0), TakenStep(4, {"launch": 2.0}, 0)],
        inside=[inside("trace", 2, 3.9, 1.9), inside("input", 2, 4, 1.9)],
    )
    assert spent(capture) == {"input": 1.9, "trace": 0.1, "launch": 2.0}


def test_compilations_that_were_waits_are_not_counted() -> None:
    capture = Capture(
        segments=[segment(0, 9, 3, launch=9.0)],
        inside=[inside("trace", 3, 4, 1.0), inside("trace", 6, 7, 1.0), inside("input", 6.001, 6.9, 0.899)],
        traced={("next", LINE, "xla"): Traced(2, 2.0, ("(16, None)",), 2, 2.0)},
    )
    time = time_spent(capture)
    assert time is not None
    assert [(one.count, one.seconds, one.again) for one in time.tracings] == [(1, 1.0, 1)]
    capture.inside = capture.inside[1:]
    capture.traced[("next", LINE, "xla")] = Traced(1, 1.0, (), 1, 1.0)
    time = time_spent(capture)
    assert time is not None
    assert not time.tracings


def test_eager_operations_between_functions_are_launches() -> None:
    capture = Capture(
        segments=[segment(0, 1, 10, eager=1000, launch=0.2, python=0.8)], eager_cost=EagerCost(100, 0.0005, 0.0004)
    )
    assert spent(capture) == {"launch": 0.7, "python": 0.3}
    time = time_spent(capture)
    assert time is not None
    assert (time.operations_per_step, time.launch_cost) == (100, 0.0004)


def test_reads_of_several_lines_stay_on_their_lines() -> None:
    """Samples tell the line of a callback, whose work is known by where it begins."""
    other, inner = Where("train.py", 8), Where("train.py", 5)
    works = (
        Work(LINE, "python", "read", 2.0, 4),
        Work(other, "python", "read", 1.0, 4),
        Work(LINE, "python", "Plot.on_epoch_end", 3.0, 2),
    )
    one = segment(10, 16, 4, python=6.0)._replace(work=works)
    capture = Capture(segments=[segment(9, 10, 1, python=1.0), one])
    for where, detail in ((other, "read"), (inner, "Plot.on_epoch_end")):
        capture.samples[Sampled(where, "python", detail, "training")] = 50
    time = time_spent(capture)
    assert time is not None
    found = {(part.where, part.detail): part.seconds for part in time.by_line}
    assert found == {(LINE, "read"): 2.0, (other, "read"): 1.0, (inner, "Plot.on_epoch_end"): 3.0}


def test_epochs_have_their_evaluation_as_a_phase_of_its_own() -> None:
    capture = Capture(
        stages={1: Stage("epoch 1", LINE), 2: Stage("evaluation", LINE), 3: Stage("epoch 2", LINE)},
        segments=[
            segment(0, 1, 5, 1, launch=1.0),
            segment(1, 3, 0, 2, launch=2.0),
            segment(3, 4, 0, 1, python=1.0),
            segment(4, 6, 5, 3, launch=2.0),
        ],
    )
    time = time_spent(capture)
    assert time is not None
    phases = [(one.name, one.seconds, one.steps) for one in time.phases]
    assert phases == [("epoch 1", 2, 5), ("evaluation", 2, 0), ("epoch 2", 2, 5)]


def test_passes_over_a_dataset_are_epochs_where_they_train() -> None:
    other = Where("train.py", 20)
    capture = Capture(
        stages={1: Stage("loop", LINE), 2: Stage("loop", other), 3: Stage("loop", LINE)},
        segments=[
            segment(0, 1, 5, 1, launch=1.0),
            segment(1, 2, 0, 2, launch=1.0),
            segment(2, 3, 5, 3, launch=1.0),
        ],
    )
    time = time_spent(capture)
    assert time is not None
    assert [one.name for one in time.phases] == ["epoch 1", "loop on line 20, pass 1", "epoch 2"]


def test_tracings_are_listed_longest_first() -> None:
    traced: dict[tuple[str, Where | None, str], Traced] = {
        ("step", LINE, "trace"): Traced(3, 1.0, (), 2, 0.7),
        ("step", LINE, "xla"): Traced(2, 5.0, ("(4,)",), 1, 2.5),
    }
    retraces = Counter({Retrace(LINE, "step", True, "value", "n", "1 → 2"): 2})
    time = time_spent(Capture(segments=[segment(0, 1, 1, launch=1.0)], traced=traced, retraces=retraces))
    assert time is not None
    assert [(one.kind, one.count, one.causes) for one in time.tracings] == [
        ("xla", 2, ("(4,)",)),
        ("trace", 3, ("2 ×: the Python value of `n` changed, first 1 → 2",)),
    ]


def test_without_steps_nothing_is_reported() -> None:
    assert time_spent(Capture()) is None
    assert time_spent(Capture(members=(Member(Task("worker", 0), None),))) is None


@pytest.mark.parametrize(
    ("waits", "parts", "unrecorded"),
    [({}, {}, 4.0), ({LINE: Wait(4, 1.0, 4.0, 4)}, {"input": 1.0}, 3.0)],
    ids=["none of the states", "waits of a loop"],
)
def test_what_a_capture_does_not_tell_is_not_recorded(
    waits: dict[Where | None, Wait], parts: dict[str, float], unrecorded: float
) -> None:
    """Before gpulint recorded states, `fit` had no waits, and eager operations no time."""
    steps = Steps("step", LINE, 5, 4.0, 1.0)
    timeline = [Happened(float(t), steps._replace(taken=1)) for t in range(5)]
    time = time_spent(Capture(steps={("step", LINE): steps}, timeline=timeline, waits=waits))
    assert time is not None
    assert ({part.name: part.seconds for part in time.parts}, time.unrecorded) == (parts, unrecorded)
    assert sum(part.share for part in time.shown) == pytest.approx(1)
    assert (time.steps, time.step_median, time.operations_per_step, time.launch_cost) == (4, 1.0, None, None)


def test_steps_of_early_captures_have_no_parts() -> None:
    capture = Capture(segments=[segment(0, 4, 2, launch=4.0)], steps_taken=[TakenStep(2, {}, 0)])
    time = time_spent(capture)
    assert time is not None
    assert [one.parts for one in time.each] == [{}]


def test_the_time_of_a_cluster_is_that_of_the_worker_that_took_most_steps() -> None:
    captures = [Capture(segments=[segment(0, 4, steps, launch=4.0)]) for steps in (3, 4, 4)]
    members = [Member(Task("worker", index), one) for index, one in enumerate(captures)]
    time = time_spent(Capture(members=(*members, Member(Task("evaluator", 0), captures[1]))))
    assert time is not None
    assert (time.worker, time.steps, time.seconds) == ("worker 1", 4, 4.0)


# ------------------------------------------------------------------------------------ real programs


def of_program(tmp_path: Path, text: str) -> TimeSpent:
    done, capture = probed(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert not capture.faults
    time = time_spent(capture)
    assert time is not None
    assert sum(part.seconds for part in time.parts) == pytest.approx(time.seconds, rel=0.02)
    assert time.seconds_of("other") <= 0.02 * time.seconds
    return time


def at(time: TimeSpent, part: str, text: str, marker: str) -> float:
    """Seconds that a line, found by its comment, spent in a part."""
    row = row_of(text, marker)
    return sum(one.seconds for one in time.by_line if one.name == part and one.where and one.where.row == row)


@pytest.mark.tensorflow
def test_a_loop_that_waits_retraces_and_saves(tmp_path: Path) -> None:
    text = """
import time
import tensorflow as tf

w = tf.Variable(tf.ones((16, 4)))

@tf.function
def scaled(loss, n):
    return loss * n

@tf.function  # the function
def step(x, n):
    with tf.GradientTape() as tape:
        loss = scaled(tf.reduce_mean(tf.matmul(x, w) ** 2), n)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss

def rows():
    for i in range(10):
        time.sleep(0.2)
        yield [[1.0] * 16]

checkpoint = tf.train.Checkpoint(w=w)
data = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((1, 16)))
for epoch in range(2):
    n = 0
    for x in data:  # waits
        loss = step(x, n // 3)
        n += 1
        time.sleep(0.02)  # own code
        checkpoint.write("saved")  # saves
"""
    time = of_program(tmp_path, text)
    assert time.steps == 19
    assert at(time, "input", text, "# waits") > 0.3 * 18 * 0.2
    assert time.seconds_of("python") > 0.8 * 18 * 0.02
    assert at(time, "python", text, "# own code") > 0.4 * 18 * 0.02
    assert at(time, "trace", text, "# the function") > 0
    assert at(time, "checkpoint", text, "# saves") == pytest.approx(time.seconds_of("checkpoint"))
    assert time.seconds_of("checkpoint") > 0
    (traced,) = [one for one in time.tracings if one.function == "step"]
    assert traced.count >= 4
    assert "`n` changed" in traced.causes[0]
    inner = [(one.count, one.again) for one in time.tracings if one.function == "scaled"]
    assert inner == [(1, 0)], "what is traced again because `step` is, is part of its trace"
    assert [one.name for one in time.phases] == ["epoch 1", "epoch 2"]
    assert time.operations_per_step is not None


@pytest.mark.tensorflow
@needs_waits_of_fit
def test_a_fit_that_waits_for_a_generator_and_a_callback(tmp_path: Path) -> None:
    text = """
import time
import numpy as np
import tensorflow as tf

class Batches(tf.keras.utils.PyDataset):
    def __len__(self):
        return 15
    def __getitem__(self, i):
        time.sleep(0.1)  # decodes
        return np.ones((8, 16), "float32"), np.ones((8, 1), "float32")

class Slow(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)  # logs
    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights("w.weights.h5")  # saves

model = tf.keras.Sequential([tf.keras.layers.Input((16,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Batches(), epochs=2, verbose=0, callbacks=[Slow()])  # fits
model.fit(Batches(workers=2), epochs=1, verbose=0)
model.evaluate(np.ones((8, 16), "float32"), np.ones((8, 1), "float32"), verbose=0)
"""
    time = of_program(tmp_path, text)
    assert time.steps == 44
    assert time.seconds_of("input") > 0.6 * (28 * 0.08 + 14 * 0.05)
    assert at(time, "input", text, "# fits") > 0.6 * 28 * 0.08
    assert at(time, "python", text, "# logs") > 0.8 * 28 * 0.02
    assert at(time, "checkpoint", text, "# saves") > 0
    assert [one.name for one in time.phases] == ["epoch 1", "epoch 2", "epoch 1"]
    assert any(one.where is not None and one.where.row == row_of(text, "# decodes") for one in time.input_stages)


@pytest.mark.tensorflow
@needs_waits_of_fit
def test_a_strategy_whose_replicas_wait(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
import time

def slow(i):
    time.sleep(0.01)
    return i

def read(i):
    i = tf.py_function(slow, [i], tf.int64)
    i.set_shape(())
    return tf.zeros((8,)), tf.zeros((1,))

with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.data.Dataset.range(8 * 20).map(read).batch(8), epochs=2, verbose=0)  # fits
"""
    )
    time = of_program(tmp_path, text)
    assert time.seconds_of("input") > 0.6 * 38 * 0.08
    assert at(time, "input", text, "# fits") > 0.5 * 38 * 0.08
    own = [one.function for one in time.tracings if one.function.startswith("_")]
    assert own == []  # the functions of TensorFlow's iterators, which it traces in each epoch


@pytest.mark.tensorflow
def test_an_eager_loop_that_reads_and_compiles(tmp_path: Path) -> None:
    text = """
import tensorflow as tf

w = tf.Variable(tf.ones((16, 4)))

@tf.function(jit_compile=True, input_signature=[tf.TensorSpec((None, 4))])  # compiled
def head(x):
    return tf.reduce_mean(tf.nn.softmax(x) ** 2)

for i in range(30):
    x = tf.ones((1 + i // 10, 16))
    with tf.GradientTape() as tape:
        loss = head(tf.matmul(x, w))
    w.assign_sub(0.1 * tape.gradient(loss, w))  # assigns
    if float(loss) < 0:  # reads
        break
"""
    time = of_program(tmp_path, text)
    assert time.steps == 29
    assert time.operations_per_step is not None
    assert time.operations_per_step > 3
    assert time.seconds_of("launch") > 0
    (compiled,) = [one for one in time.tracings if one.kind == "xla" and one.function == "head"]
    assert compiled.count >= 2
    assert compiled.where is not None
    assert compiled.where.row == row_of(text, "# compiled")
    assert any(one.detail == "read" for one in time.by_line)


@pytest.mark.tensorflow
@needs_waits_of_fit
def test_epochs_with_an_evaluation_open_and_close_pipelines_and_retrace_nothing(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
import gc
import numpy as np

with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.Dataset.from_tensor_slices((np.zeros((513, 8), "float32"), np.zeros((513, 1), "float32")))
data = data.shuffle(512).batch(32).prefetch(2)


class Collect(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        gc.collect()


model.fit(data, epochs=3, validation_data=data, callbacks=[Collect()], verbose=0)  # fits
"""
    )
    time = of_program(tmp_path, text)
    traced = [one for one in time.tracings if one.kind == "trace" and one.function == "multi_step_on_iterator"]
    assert [(one.count, one.again) for one in traced] == [(2, 0)]  # one for training, one for evaluation
    waits = {
        (one.where.row if one.where else None, one.detail): one.count for one in time.by_line if one.name == "input"
    }
    row = row_of(text, "# fits")
    assert waits[row, "iter"] >= 5
    assert {at for at, _ in waits} == {row}, "pipelines are closed where they were read, wherever they are deleted"
    (splits,) = splits_by_loop(read(str(tmp_path / "run.jsonl"))).values()
    assert splits[1, 0] == 3, "the last batch of each epoch has one element"
    assert splits[16, 16] == 48, "without those that Keras reads to build the model"


@pytest.mark.parametrize(("samples", "steps", "few"), [(300, 3, 3), (300, 200, 0), (3, 3, 0), (300, 0, 0)])
def test_lines_that_work_in_few_steps_are_told_from_those_of_each(samples: int, steps: int, few: int) -> None:
    """Work of some milliseconds in each step is not sampled in most of them."""
    works = (Work(None, "python", "", 6.0, 0),)
    one = segment(10, 16, 200, python=6.0)._replace(work=works)
    capture = Capture(segments=[segment(9, 10, 1, python=1.0), one])
    sampled = Sampled(LINE, "python", "", "training")
    capture.samples[sampled], capture.sampled_steps[sampled] = samples, steps
    time = time_spent(capture)
    assert time is not None
    assert [(part.where, part.few) for part in time.by_line] == [(LINE, few)]
