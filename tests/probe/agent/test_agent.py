"""The agent inside real programs: what it observes, and that it does not affect them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import read
from gpulint.probe.capture.records import Where
from gpulint.probe.launch.command import Target, command_line
from tests import warm

pytestmark = pytest.mark.tensorflow

DEVICES = """
import tensorflow as tf

cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
"""


def probed(
    tmp_path: Path, text: str, *arguments: str, steps: int = 0, warmup: int = 1, is_warm: bool = True
) -> tuple[subprocess.CompletedProcess[str], Capture]:
    """Run a program under the agent, in its own directory; return its output and the capture. `is_warm`: TensorFlow
    has been imported beforehand."""
    (tmp_path / "prog.py").write_text(text)
    capture = tmp_path / "run.jsonl"
    line = command_line(Target("prog.py", arguments=arguments), str(capture), steps, warmup, False)
    run = warm.python().run if is_warm else warm.Fresh().run
    return run(line, cwd=tmp_path), read(str(capture))


def plain(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program without the agent."""
    (tmp_path / "prog.py").write_text(text)
    return warm.Fresh().run([sys.executable, "prog.py", *arguments], cwd=tmp_path)


def row_of(text: str, part: str) -> int:
    """The row of a text that contains some words."""
    return next(number for number, line in enumerate(text.split("\n"), 1) if part in line)


def test_eager_operations_have_line_request_and_device(tmp_path: Path) -> None:
    text = DEVICES + "with tf.device('CPU:2'):\n    x = tf.ones((4, 4))\n    y = tf.matmul(x, x)  # here\n"
    _, capture = probed(tmp_path, text)
    found = [ran for ran in capture.executions if ran.op == "MatMul"]
    assert [(ran.requested, ran.device) for ran in found] == [("CPU:2", "CPU:2")]
    assert found[0].where == Where(str(tmp_path / "prog.py"), row_of(text, "# here"))
    assert capture.logical == ("CPU:0", "CPU:1", "CPU:2")
    assert not capture.faults


def test_nodes_of_functions_have_the_lines_they_were_written_on(tmp_path: Path) -> None:
    text = (
        DEVICES
        + """
@tf.function
def step(x):
    if tf.reduce_sum(x) > 0:
        with tf.device("CPU:1"):
            x = tf.matmul(x, x)  # inside
    return x

step(tf.ones((4, 4)))
"""
    )
    _, capture = probed(tmp_path, text)
    found = [node for node in capture.nodes if node.op.endswith("MatMul")]
    assert [(node.requested, node.assigned) for node in found] == [("CPU:1", "CPU:1")]
    assert found[0].where is not None
    assert found[0].where.row == row_of(text, "# inside")
    assert [(one.name, one.traces) for one in capture.functions.values()] == [("step", 1)]
    assert not capture.faults


def test_graphs_are_distinguished_from_those_of_functions_that_do_the_same_and_of_eager_operations(
    tmp_path: Path,
) -> None:
    """TensorFlow does not report which function a graph belongs to."""
    text = (
        DEVICES
        + """
def make(name, device):
    def own(x):
        with tf.device(device):
            return tf.matmul(x, x)
    own.__name__ = name
    return tf.function(own)

@tf.function
def step(x):
    with tf.device("CPU:2"):
        return tf.matmul(x, x)  # one

x = tf.ones((4, 4))
tf.matmul(x, x)  # eager
for function in (make("first", "CPU:0"), step, make("third", "CPU:1")):
    function(x)

@tf.function
def step(x):
    return tf.matmul(x, x)  # other

step(x)
"""
    )
    _, capture = probed(tmp_path, text)
    found = {(node.where.row, node.assigned): count for node, count in capture.nodes.items() if node.where}
    inner = row_of(text, "return tf.matmul")
    assert found == {
        (inner, "CPU:0"): 1,
        (inner, "CPU:1"): 1,
        (row_of(text, "# one"), "CPU:2"): 1,
        (row_of(text, "# other"), "CPU:0"): 1,
    }
    assert all(function.graph for function in capture.functions.values())
    assert not capture.faults


FIT = (
    DEVICES
    + """
import numpy as np

strategy = tf.distribute.MirroredStrategy(["CPU:1", "CPU:2"])  # strategy
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8, name="first")])  # model
    model.compile("sgd", "mse")
model.fit(np.ones((64, 4), "float32"), np.ones((64, 8), "float32"), batch_size=8, epochs=2, verbose=0)
print("done")
"""
)


def test_a_strategy_its_variables_and_its_steps_are_seen(tmp_path: Path) -> None:
    done, capture = probed(tmp_path, FIT)
    assert done.returncode == 0, done.stderr
    (strategy,) = capture.strategies
    assert (strategy.cls, strategy.devices, strategy.replicas) == ("MirroredStrategy", ("CPU:1", "CPU:2"), 2)
    assert strategy.where is not None
    assert strategy.where.row == row_of(FIT, "# strategy")
    kernels = [one for one in capture.variables if "first/kernel" in one.name]
    assert [(one.device, one.bytes, one.shape) for one in kernels] == [
        ("CPU:1", 128, (4, 8)),
        ("CPU:2", 128, (4, 8)),
    ]
    assert {one.where.row for one in kernels if one.where} == {row_of(FIT, "# model")}
    assert sum(one.taken for one in capture.steps.values()) == 16
    assert any("first" in node.layer and node.op.endswith("MatMul") for node in capture.nodes)
    assert {"CPU:1", "CPU:2"} <= {node.assigned for node in capture.nodes}
    assert not capture.faults


def test_the_program_ends_after_the_steps_that_were_asked_for(tmp_path: Path) -> None:
    text = FIT.replace('print("done")', "") + "import atexit\n"
    done, capture = probed(tmp_path, "import atexit\natexit.register(print, 'tidied')\n" + text, steps=4)
    assert done.returncode == 0
    assert "tidied" in done.stdout
    assert sum(one.taken for one in capture.steps.values()) == 5


def test_without_warm_up_all_steps_count(tmp_path: Path) -> None:
    _, capture = probed(tmp_path, FIT, warmup=0)
    assert capture.phase == "steps"
    assert set(capture.taken) == {"steps"}


def test_threads_of_the_program_are_watched(tmp_path: Path) -> None:
    text = (
        DEVICES
        + "import threading\nt = threading.Thread(target=lambda: tf.abs(tf.constant(-1.0)))\nt.start()\nt.join()\n"
    )
    _, capture = probed(tmp_path, text)
    assert "Abs" in {ran.op for ran in capture.executions}


def test_a_configuration_that_raises_is_recorded_with_its_error(tmp_path: Path) -> None:
    text = (
        DEVICES
        + "tf.ones(3)\ntry:\n    tf.config.set_logical_device_configuration(cpu, [])  # late\n"
        + "except RuntimeError:\n    pass\n"
    )
    _, capture = probed(tmp_path, text)
    late = capture.calls[-1]
    assert (late.name, late.error) == (
        "tf.config.set_logical_device_configuration",
        "RuntimeError: Virtual devices cannot be modified after being initialized",
    )
    assert late.where is not None
    assert late.where.row == row_of(text, "# late")


def test_configuration_before_the_first_operation_still_works(tmp_path: Path) -> None:
    """The agent must not initialise the runtime when TensorFlow is imported."""
    text = DEVICES + "print(len(tf.config.list_logical_devices('CPU')))\n"
    done, _ = probed(tmp_path, text)
    assert done.stdout.split("\n")[0] == "3", done.stderr


SCRIPTS = {
    "its names": "import sys\nprint(__name__, __file__, sys.argv, sys.path[0], sorted(globals()), __spec__)",
    "its exit status": "import sys\nsys.exit(7)",
    "a message as exit status": "raise SystemExit('no data')",
    "an exception": "def f():\n    raise ValueError('é')\n\nf()",
    "a chained exception": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
    "its own hook": "import sys\nsys.excepthook = lambda *a: print('mine', a[0].__name__)\nraise ValueError",
    "os._exit": "import os\nprint('a', flush=True)\nos._exit(3)",
    "a syntax error": "x = = 1",
    "input": "print(input())",
    "a fork": "import os\npid = os.fork()\nif not pid:\n    os._exit(5)\nprint(os.waitpid(pid, 0)[1])",
    "pickles of its own classes": "import pickle\nclass A: pass\nprint(pickle.loads(pickle.dumps(A)).__module__)",
    "atexit": "import atexit\natexit.register(print, 'bye')\nprint('hi')",
    "a module beside it": "import os\nos.chdir('/')\nimport beside\nprint(beside.x)",
    "no closed streams": "import sys\nsys.stdout.close()",
    "processes": (
        "import multiprocessing\n\ndef work(x):\n    return x * 2\n\n"
        "if __name__ == '__main__':\n    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        print(pool.map(work, [1, 2, 3]))"
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_program_behaves_as_without_the_agent(name: str, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("x = 3\n")
    alone = plain(tmp_path, SCRIPTS[name] + "\n", "a", "-b", "--c=d")
    watched, _ = probed(tmp_path, SCRIPTS[name] + "\n", "a", "-b", "--c=d", is_warm=False)
    assert watched.stdout == alone.stdout
    assert watched.stderr == alone.stderr
    assert watched.returncode == alone.returncode


def test_a_program_that_never_imports_tensorflow_leaves_an_honest_capture(tmp_path: Path) -> None:
    _, capture = probed(tmp_path, "print(1)\n")
    assert capture.process["main"] == "prog.py"
    assert not capture.tensorflow
    assert capture.error == ""


def test_records_stay_small(tmp_path: Path) -> None:
    """Records are counts: a thousand steps need no more space than ten."""
    text = DEVICES + "x = tf.ones((4, 4))\nfor _ in range({}):\n    y = tf.matmul(x, x)\n"
    sizes = []
    for rounds in (10, 3000):
        probed(tmp_path, text.format(rounds))
        sizes.append((tmp_path / "run.jsonl").stat().st_size)
        (tmp_path / "run.jsonl").unlink()
    assert sizes[1] < 3 * sizes[0]


def test_every_line_of_a_capture_is_one_record(tmp_path: Path) -> None:
    probed(tmp_path, FIT)
    kinds = {json.loads(line)["kind"] for line in (tmp_path / "run.jsonl").read_text().splitlines()}
    assert {"process", "tensorflow", "devices", "ops", "nodes", "variable", "steps", "function", "exit"} <= kinds


def test_a_line_of_generated_code_is_looked_up_once(tmp_path: Path) -> None:
    """TensorFlow's own stack takes as long as several operations that are traced."""
    text = """
import tensorflow as tf
from gpulint.probe.agent.places import Places

looked_up = []
original = Places._original


def counted(places, path, row):
    extract, places.extract_stack = places.extract_stack, lambda: (looked_up.append(row), extract())[1]
    try:
        return original(places, path, row)
    finally:
        places.extract_stack = extract


Places._original = counted


@tf.function
def step(x):
    for _ in range(50):
        x = tf.matmul(x, x)
    return x


step(tf.ones((4, 4)))
print(len(looked_up), len(set(looked_up)))
"""
    done, _ = probed(tmp_path, text)
    looks, rows = map(int, done.stdout.split())
    assert 0 < looks == rows


BY_HAND = (
    DEVICES
    + """
w = tf.Variable(tf.ones((4, 4)))


def share(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.matmul(x, w))
        found = tape.gradient(loss, w)
    return found


for step in range(5):
    shares = []
    for device in range(2):
        with tf.device(f"CPU:{device}"):
            shares.append(share(tf.ones((4, 4))))  # call
    w.assign_sub(sum(shares))
"""
)
"""Divides each batch among two devices."""


@pytest.mark.parametrize("text", [BY_HAND, BY_HAND.replace("def share", "@tf.function\ndef share")])
def test_the_shares_of_several_devices_are_one_step(text: str, tmp_path: Path) -> None:
    _, capture = probed(tmp_path, text)
    assert sum(one.taken for one in capture.steps.values()) == 5


def test_steps_on_one_device_after_another_are_steps_of_their_own(tmp_path: Path) -> None:
    text = (
        BY_HAND[: BY_HAND.index("for step")]
        + """
for device in range(2):
    for step in range(5):
        with tf.device(f"CPU:{device}"):
            share(tf.ones((4, 4)))
"""
    )
    _, capture = probed(tmp_path, text)
    assert sum(one.taken for one in capture.steps.values()) == 10


FAILING = """
import tensorflow as tf

w = tf.Variable(tf.ones((4,)))


@tf.function
def pick(i):
    return tf.gather(w, i)


pick(tf.constant([1]))
try:
    pick(tf.constant([7]))
except tf.errors.InvalidArgumentError as error:
    print(error)
"""


def test_errors_of_tensorflow_list_the_lines_of_the_program_only(tmp_path: Path) -> None:
    printed = plain(tmp_path, FAILING).stdout, probed(tmp_path, FAILING, is_warm=False)[0].stdout
    expected, found = ([line for line in text.split("\n") if " File " in line] for text in printed)
    assert len(expected) == 2
    assert found == expected
