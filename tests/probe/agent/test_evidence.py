"""What the agent observes besides placements: copies, waits, reads, replicas, compiled functions, the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.waiting import waits
from tests.probe.agent.test_agent import DEVICES, plain, probed, row_of

pytestmark = pytest.mark.tensorflow

MIRRORED = DEVICES + 'strategy = tf.distribute.MirroredStrategy(["CPU:1", "CPU:2"])\n'


def where(tmp_path: Path, text: str, part: str) -> Where:
    return Where(str(tmp_path / "prog.py"), row_of(text, part))


def test_copies_have_the_line_and_the_operation_that_needed_them(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
@tf.function
def step(x):
    with tf.device("CPU:1"):
        a = tf.matmul(x, x)
    with tf.device("CPU:2"):
        b = tf.matmul(x, x)
    return a + b  # inside

step(tf.ones((8, 8)))
with tf.device("CPU:1"):
    one = tf.ones((8, 8))
with tf.device("CPU:2"):
    two = tf.ones((8, 8))
for _ in range(3):
    three = one + two  # eager
"""
    )
    _, capture = probed(tmp_path, text)
    inside = where(tmp_path, text, "# inside")
    graph = {copy: count for copy, count in capture.copies.items() if copy.where == inside}
    assert {(one.source, one.target, one.consumer, one.bytes, one.mixed) for one in graph} == {
        ("CPU:1", "CPU:0", "AddV2", 256, False),
        ("CPU:2", "CPU:0", "AddV2", 256, False),
    }
    eager = {copy: count for copy, count in capture.copies.items() if copy.where == where(tmp_path, text, "# eager")}
    assert {(one.op, one.consumer, one.requested, one.mixed) for one in eager} == {("EagerCopy", "AddV2", "", True)}
    assert sum(eager.values()) == 3 * len(eager)
    assert not capture.faults


def test_operations_have_the_dtype_of_what_they_read(tmp_path: Path) -> None:
    text = DEVICES + "x = tf.ones((4, 4), tf.float64)\ntf.matmul(x, x)\ntf.function(lambda y: tf.matmul(y, y))(x)\n"
    _, capture = probed(tmp_path, text)
    assert {ran.dtype for ran in capture.executions if ran.op == "MatMul"} == {"float64"}
    assert {node.dtype for node in capture.nodes if node.op == "MatMul"} == {"float64"}


def test_functions_of_pipelines_are_distinguished_from_those_of_the_program(tmp_path: Path) -> None:
    text = (
        DEVICES
        + "data = tf.data.Dataset.range(4).map(lambda n: tf.matmul(tf.ones((3, 3)), tf.ones((3, 3))))\n"
        + "for one in data:\n    tf.function(lambda y: tf.matmul(y, y))(one)\n"
    )
    _, capture = probed(tmp_path, text)
    assert {node.part for node in capture.nodes if node.op == "MatMul"} <= {"tf.data", ""}
    assert "" in {node.part for node in capture.nodes if node.op == "MatMul"}


def test_reads_by_python_are_counted_where_they_are(tmp_path: Path) -> None:
    text = (
        DEVICES
        + "x = tf.ones(())\nfor _ in range(5):\n    x.numpy()  # numpy\n    float(x)  # float\n    if x > 0:  # if\n"
        + "        pass\ny = tf.function(lambda z: z + 1)(x)\n"
    )
    _, capture = probed(tmp_path, text)
    found = {read.where.row: count for read, count in capture.reads.items() if read.where}
    assert [found[row_of(text, part)] for part in ("# numpy", "# float", "# if")] == [5, 5, 5]
    assert row_of(text, "tf.function") not in found
    assert {read.device for read in capture.reads} == {"CPU:0"}


SLOW = """
import time


def slowly():
    for _ in range(40):
        time.sleep(0.05)
        yield [1.0]


data = tf.data.Dataset.from_generator(slowly, output_signature=tf.TensorSpec((1,)))
weight = tf.Variable(1.0)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(x * weight)
    weight.assign_sub(tape.gradient(loss, weight) * 0.01)


"""


def test_a_loop_that_waits_for_its_elements_is_timed(tmp_path: Path) -> None:
    text = DEVICES + SLOW + "for x in data:  # loop\n    step(x)\n"
    _, capture = probed(tmp_path, text)
    wait = waits(capture)[where(tmp_path, text, "# loop")]
    assert wait.elements >= 30
    assert wait.steps == wait.elements
    assert 0.005 * wait.elements < wait.waited <= wait.seconds


def test_fit_that_waits_for_its_elements_is_timed_where_iterators_tell(tmp_path: Path) -> None:
    text = (
        DEVICES
        + SLOW.replace("range(40)", "range(80)")
        + """
model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(data.map(lambda x: (x[None], x[None])), verbose=0)  # fit
"""
    )
    _, capture = probed(tmp_path, text)
    wait = waits(capture).get(where(tmp_path, text, "# fit"))
    if wait is None:
        assert "waits for input of `fit`" in dict(capture.lost)
    else:
        assert 0.005 * wait.elements < wait.waited <= wait.seconds
    assert not capture.faults


def test_what_replicas_are_given_is_recorded(tmp_path: Path) -> None:
    text = (
        MIRRORED
        + """
@tf.function
def step(x):
    return strategy.run(tf.identity, args=(x,))  # run

data = tf.data.Dataset.from_tensor_slices(tf.ones((64, 2))).batch(16)
for x in strategy.experimental_distribute_dataset(data):  # divided
    step(x)
step(tf.ones((16, 2)))
strategy.run(lambda: tf.ones(()))  # eager
"""
    )
    _, capture = probed(tmp_path, text)
    at_run = {one for one in capture.runs if one.where == where(tmp_path, text, "# run")}
    assert {(one.divided, one.whole, one.eager) for one in at_run} == {(True, False, False), (False, True, False)}
    assert {one.batch for one in at_run} == {8, 16}
    (eager,) = (one for one in capture.runs if one.where == where(tmp_path, text, "# eager"))
    assert (eager.eager, eager.traced, eager.divided, eager.whole) == (True, False, False, False)
    assert {(one.where, one.size) for one in capture.batches} == {(where(tmp_path, text, "# divided"), 16)}


def test_a_device_requested_around_the_call_of_a_function_is_that_of_its_nodes(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
@tf.function
def square(x):
    return tf.matmul(x, x)  # inner

with tf.device("CPU:0"):
    square(tf.ones((4, 4)))
square(tf.ones((8, 8)))
"""
    )
    _, capture = probed(tmp_path, text)
    inner = where(tmp_path, text, "# inner")
    nodes = {(one.requested, one.assigned) for one in capture.nodes if one.where == inner}
    assert nodes == {("CPU:0", "CPU:0"), ("", "CPU:0")}


def test_a_function_that_runs_later_on_another_device_works_there(tmp_path: Path) -> None:
    """Without another trace: TensorFlow instantiates it for the device."""
    text = (
        DEVICES
        + """
import time

w = tf.Variable(tf.ones((4, 4)))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, w))  # inner
    return tape.gradient(loss, w)

for device in ("CPU:1", "CPU:2"):
    with tf.device(device):
        for _ in range(3):
            step(tf.ones((2, 4)))
    time.sleep(2.5)
"""
    )
    _, capture = probed(tmp_path, text)
    inner = where(tmp_path, text, "# inner")
    assert {one.assigned for one in capture.nodes if one.where == inner and one.op == "MatMul"} == {"CPU:1", "CPU:2"}
    assert sum(one.taken for one in capture.steps.values()) == 6


def test_compiled_functions_and_the_devices_asked_for_inside_are_named(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
@tf.function(jit_compile=True)  # compiled
def step(x):
    with tf.device("CPU:2"):
        y = tf.matmul(x, x)  # inner
    return y + 1

step(tf.ones((4, 4)))
"""
    )
    _, capture = probed(tmp_path, text)
    assert set(capture.compiled) == {"step"}
    assert {(one.where, one.device) for one in capture.inner_devices} == {(where(tmp_path, text, "# inner"), "CPU:2")}


def test_eager_gradients_are_steps(tmp_path: Path) -> None:
    text = (
        DEVICES
        + "w = tf.Variable(1.0)\nfor _ in range(7):\n    with tf.GradientTape() as tape:\n        loss = w * w\n"
        + "    tape.gradient(loss, w)  # gradient\n"
    )
    _, capture = probed(tmp_path, text)
    steps = capture.steps[EAGER_STEP, where(tmp_path, text, "# gradient")]
    assert steps.taken == 7


def test_keras_and_the_calls_of_its_models_are_seen(tmp_path: Path) -> None:
    text = (
        DEVICES
        + "model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])\n"
        + "for _ in range(3):\n    model.predict(tf.ones((1, 2)), verbose=0)  # predict\n"
        + "model.compile(loss='mse')\n"
        + "model.fit(tf.ones((4, 2)), tf.ones((4, 1)), batch_size=2, verbose=0)  # arrays\n"
        + "class Loader(tf.keras.utils.PyDataset):\n"
        + "    def __len__(self):\n        return 1\n"
        + "    def __getitem__(self, index):\n        return tf.ones((4, 2)), tf.ones((4, 1))\n"
        + "model.fit(Loader(workers=3), verbose=0)  # loader\n"
        + "model.fit(((tf.ones((4, 2)), tf.ones((4, 1))) for _ in range(3)), verbose=0)  # generator\n"
        + "model.fit(tf.data.Dataset.from_tensors((tf.ones((4, 2)), tf.ones((4, 1)))), verbose=0)  # dataset\n"
    )
    _, capture = probed(tmp_path, text)
    assert capture.keras.split(".")[0] in ("2", "3")
    (call, (count, seconds)), *_ = capture.model_calls.items()
    kinds = {one.where: (one.kind, one.workers, one.batch) for one in capture.data}
    assert kinds == {
        where(tmp_path, text, "# arrays"): ("arrays", 0, 2),
        where(tmp_path, text, "# loader"): ("PyDataset", 3, 0),
        where(tmp_path, text, "# generator"): ("generator", 0, 0),
        where(tmp_path, text, "# dataset"): ("dataset", 0, 0),
    }
    (pipeline, *_) = capture.pipelines[where(tmp_path, text, "# dataset")]
    assert (pipeline[-1].name, pipeline[-1].where) == ("TensorDataset", where(tmp_path, text, "# dataset"))
    assert (call.method, call.where, count) == ("predict", where(tmp_path, text, "# predict"), 3)
    assert seconds > 0


def test_variables_of_the_environment_are_noted_when_devices_are_asked_for_and_at_the_end(tmp_path: Path) -> None:
    text = DEVICES + "import os\nos.environ['TF_GPU_ALLOCATOR'] = 'cuda_malloc_async'\ntf.ones(())\n"
    _, capture = probed(tmp_path, text)
    assert set(capture.environment) == {"query", "runtime", "end"}
    assert "TF_GPU_ALLOCATOR" not in capture.environment["query"]
    assert capture.environment["end"]["TF_GPU_ALLOCATOR"] == "cuda_malloc_async"


def test_an_error_has_the_line_it_came_from_and_the_traceback_it_has_without_us(tmp_path: Path) -> None:
    text = (
        'import tensorflow as tf\n\n\ndef pin():\n    tf.config.set_visible_devices("no", "GPU")  # raises\n\n\npin()\n'
    )
    done, capture = probed(tmp_path, text)
    assert capture.error_at == where(tmp_path, text, "# raises")
    alone = plain(tmp_path, text)
    assert done.stderr.split("Traceback")[1] == alone.stderr.split("Traceback")[1]
    assert done.returncode == alone.returncode == 1


def test_a_warning_about_a_deprecated_function_names_the_line_it_names_without_us(tmp_path: Path) -> None:
    text = (
        "import tensorflow as tf\n\ntf.test.is_gpu_available()\nwith tf.Graph().as_default():\n"
        "    tf.data.Dataset.from_generator(lambda: iter([1]), output_types=tf.int64)\n"
    )
    done, _ = probed(tmp_path, text)
    warnings = [line for line in done.stderr.split("\n") if line.startswith("WARNING:tensorflow:From")]
    assert [f"prog.py:{row}: " in line for row, line in zip((3, 5), warnings, strict=True)] == [True, True]


def test_an_error_in_traced_code_has_the_line_of_that_code(tmp_path: Path) -> None:
    text = DEVICES + "@tf.function\ndef step(x):\n    return tf.no_such_function(x)  # here\n\nstep(tf.ones(3))\n"
    _, capture = probed(tmp_path, text)
    assert capture.error_at == where(tmp_path, text, "# here")


def test_modules_of_the_program_are_named(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("import json\n")
    _, capture = probed(tmp_path, "import beside\nimport tensorflow as tf\n")
    assert str(tmp_path / "beside.py") in capture.modules
    assert not any("site-packages" in path or "json" in path for path in capture.modules)


KEPT = """
import tensorflow as tf

weights = tf.Variable(tf.ones((4, 4)))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, weights))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


def train():
    history = []
    for _ in range(20):
        history.append(step(tf.ones((4, 4))) + 1.0)  # the sum is kept
        last = tf.square(3.0)  # this is not


train()
"""


def test_tensors_that_outlive_their_step_are_distinguished_from_those_that_do_not(tmp_path: Path) -> None:
    _, capture = probed(tmp_path, KEPT)
    seen = {(one.where.row, one.op): (one.made, one.left, one.bytes) for one in capture.kept if one.where is not None}
    kept, gone = row_of(KEPT, "is kept"), row_of(KEPT, "this is not")
    made, left, size = seen[kept, "AddV2"]
    assert made == left >= 3
    assert size == 4 * left
    assert seen[kept, "step"][1] == 0
    assert seen[gone, "Square"][1] == 0


PILED = """
import tensorflow as tf


def build():
    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3), tf.keras.layers.Dense(3)])


for _ in range(4):
    model = build()  # piled
    model.compile("sgd", "mse")
    model.fit(tf.zeros((8, 4)), tf.zeros((8, 3)), verbose=0)
"""


def test_models_of_one_line_are_counted_by_those_that_are_still_there(tmp_path: Path) -> None:
    _, capture = probed(tmp_path, PILED)
    row = row_of(PILED, "# piled")
    made = [one for one in capture.variables if row in {where.row for where in one.callers}]
    assert {one.where.row for one in made if one.where} == {row_of(PILED, "Sequential")}
    assert len({one.round for one in made}) == 4
    assert max(one.older for one in made) == 3
