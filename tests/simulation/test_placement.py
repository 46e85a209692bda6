"""Where operations run on simulated GPUs, and what the program sees of it."""

from __future__ import annotations

import pytest

from tests.simulation.conftest import Rehearse
from tests.simulation.test_devices import said

pytestmark = pytest.mark.tensorflow


def test_without_a_device_operations_go_where_their_kernels_are(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
x = tf.random.normal([4, 4])
made = {
    "product": x @ x,
    "constant": tf.constant([1.0]),
    "range": tf.range(3),
    "shuffled": tf.random.shuffle(x),
    "text": tf.strings.join(["a", "b"]),
    "unique": tf.unique(tf.constant([1.0, 1.0]))[0],
    "complex": tf.sort(tf.constant([2.0, 1.0])),
    "variable": tf.Variable([1.0]),
    "counter": tf.Variable(1),
    "large counter": tf.Variable(1, dtype=tf.int64),
}
for name, tensor in made.items():
    said[name] = short(tensor.device)
said["kept"] = short(made["range"].backing_device), short(made["product"].backing_device)
""",
        2,
    )
    on_gpu = {"product", "constant", "range", "unique", "complex", "variable", "large counter"}
    on_cpu = {"shuffled", "text", "counter"}
    assert {name for name, device in answer.items() if device == "GPU:0"} == on_gpu
    assert {name for name, device in answer.items() if device == "CPU:0"} == on_cpu
    assert answer["kept"] == ["CPU:0", "GPU:0"]  # the kernel for int32 keeps its output on the host


def test_every_spelling_of_a_device_leads_to_it(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
x = tf.random.normal([4, 4])
full = "/job:localhost/replica:0/task:0/device:GPU:1"
spec = tf.DeviceSpec(device_type="GPU", device_index=1)
for name in ("/gpu:1", "GPU:1", "gpu:1", "/device:GPU:1", full, spec, tf.config.list_logical_devices("GPU")[1]):
    with tf.device(name):
        said[str(name)] = short((x @ x).device), short(tf.Variable(x).device), short(tf.identity(x).device)
with tf.device("/GPU:*"):
    said["any"] = short((x @ x).device), short(tf.Variable(x).device), short(tf.identity(x).device)
said["asked"] = []
with tf.device("gpu:1"):
    said["nested"] = [tf.identity(x).device]
    with tf.device("cpu:0"):
        said["nested"].append(tf.identity(x).device)
    with tf.device(None):
        said["nested"].append(tf.identity(x).device)
said["nested"] = [short(one) for one in said["nested"]]
""",
        2,
    )
    del answer["asked"]
    assert answer.pop("any") == ["GPU:0"] * 3
    assert answer.pop("nested") == ["GPU:1", "CPU:0", "GPU:0"]
    assert len(answer) == 7
    assert all(devices == ["GPU:1"] * 3 for devices in answer.values())


def test_a_device_that_does_not_exist_is_replaced_or_refused_as_placement_is_soft(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
x = tf.random.normal([4, 4])
def on(device, operation):
    with tf.device(device):
        return operation(x)
said["soft"] = short(on("/gpu:7", tf.abs).device), short(on("/gpu:1", tf.random.shuffle).device)
tf.config.set_soft_device_placement(False)
said["no device"] = raised(lambda: on("/gpu:7", tf.abs))
said["no kernel"] = raised(lambda: on("/gpu:1", tf.random.shuffle))
for name, device, operation in (("no such", "/gpu:7", tf.abs), ("no such kernel", "/gpu:1", tf.random.shuffle)):
    said[name] = raised(tf.function(lambda: on(device, operation))).partition(" [Op")[0]
said["well"] = short(on("/gpu:1", tf.abs).device)
""",
        2,
    )
    assert answer["soft"] == ["GPU:0", "CPU:0"]
    assert answer["well"] == "GPU:1"
    assert answer["no such"] == "InvalidArgumentError: Unable to find any devices for spec /device:GPU:7"
    reason = "because no supported kernel for GPU devices is available."
    sentence = f"Could not satisfy explicit device specification '/device:GPU:1' {reason}"
    assert answer["no such kernel"] == f"InvalidArgumentError: {sentence}"
    for name, device, types in (("no device", "GPU:7", "CPU"), ("no kernel", "GPU:1", "[CPU]")):
        assert answer[name].startswith("InvalidArgumentError: Could not satisfy device specification"), answer[name]
        assert f"device:{device}'. enable_soft_placement=0" in answer[name]
        assert types in answer[name]
        listed = answer[name].partition("All available devices [")[2].partition("]")[0]
        assert [one.rpartition("device:")[2] for one in listed.split(", ")] == ["CPU:0", "GPU:0", "GPU:1"]


def test_nodes_of_graphs_say_where_they_are_asked_for_and_are(rehearse: Rehearse) -> None:
    text = """
import tensorflow as tf

@tf.function
def step(x):
    with tf.device("/gpu:1"):
        y = tf.matmul(x, x)
        assert y.device == "/device:GPU:1" == y.op.device
        z = tf.random.shuffle(y)
        assert z.device == "/device:GPU:1"
    w = tf.tanh(z)
    assert w.device == ""
    with tf.compat.v1.device(lambda op: "/gpu:0" if op.type == "Neg" else "/gpu:1"):
        return tf.negative(w), tf.sin(w), tf.strings.as_string(w)

step(tf.random.normal([4, 4]))
"""
    capture = rehearse(text, 2).capture
    found = {node.op: (node.requested, node.assigned) for node in capture.nodes}
    assert found["MatMul"] == ("GPU:1", "GPU:1")
    assert found["RandomShuffle"] == ("GPU:1", "CPU:0")
    assert found["Tanh"] == ("", "GPU:0")
    assert found["Neg"] == ("GPU:0", "GPU:0")
    assert found["Sin"] == ("GPU:1", "GPU:1")
    assert found["AsString"] == ("GPU:1", "CPU:0")
    copies = {(copy.source, copy.target) for copy in capture.copies}
    assert {("GPU:1", "CPU:0"), ("CPU:0", "GPU:0")} <= copies
    lacking = {op for (op, _), kernel in capture.kernels.items() if not kernel.gpu}
    assert {"RandomShuffle", "AsString"} <= lacking
    assert not lacking & {"MatMul", "Tanh", "Neg"}


def test_python_functions_data_and_copies_speak_of_gpus(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
x = tf.random.normal([4])
seen = []
def look(tensor):
    seen.append(short(tensor.device))
    return tensor
tf.py_function(look, [x], tf.float32)
said["python"] = seen
numbers = tf.data.Dataset.range(4).map(lambda one: tf.cast(one, tf.float32)).batch(2)
said["data"] = [short(one.device) for one in numbers]
fetched = numbers.apply(tf.data.experimental.prefetch_to_device("/gpu:1"))
said["fetched"] = [short(one.device) for one in fetched]
said["copies"] = short(x.gpu(1).device), short(x.cpu().device)
said["gradient"] = []
with tf.GradientTape() as tape:
    tape.watch(x)
    with tf.device("gpu:1"):
        y = tf.reduce_sum(x * x)
said["gradient"] = short(tape.gradient(y, x).device)
""",
        2,
    )
    assert answer["python"] == ["CPU:0"]
    assert answer["data"] == ["CPU:0", "CPU:0"]
    assert answer["fetched"] == ["GPU:1", "GPU:1"]
    assert answer["copies"] == ["GPU:1", "CPU:0"]
    assert answer["gradient"] == "GPU:0"  # the gradient is taken outside the scope


def test_a_session_of_tensorflow_1_finds_the_gpus(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
v1 = tf.compat.v1
with v1.Graph().as_default():
    with v1.device("/gpu:1"):
        product = tf.matmul(v1.ones([2, 2]), v1.ones([2, 2]))
    with v1.Session(config=v1.ConfigProto(allow_soft_placement=False)) as session:
        said["devices"] = [short(one.name) for one in session.list_devices()]
        said["result"] = session.run(product).tolist()
    said["asked"] = product.device
""",
        2,
    )
    assert answer == {
        "devices": ["CPU:0", "GPU:0", "GPU:1"],
        "result": [[2.0, 2.0], [2.0, 2.0]],
        "asked": "/device:GPU:1",
    }


PINNED = """
v1 = tf.compat.v1
def pinned(device, operation, soft=False):
    with v1.Graph().as_default():
        with v1.device(device):
            asked = operation(v1.ones([2, 2]))
        def run():
            with v1.Session(config=v1.ConfigProto(allow_soft_placement=soft)) as session:
                said.setdefault("results", []).append(session.run(asked).tolist())
        return raised(run)
"""


def test_a_session_refuses_a_gpu_that_is_not_there_unless_its_placement_is_soft(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        PINNED
        + """
said["missing"] = pinned("/gpu:7", lambda x: tf.negative(x, name="turned"))
said["other job"] = pinned("/job:worker/task:1/gpu:0", tf.negative)
said["no kernel"] = pinned("/gpu:1", lambda x: tf.random.shuffle(x, name="mixed"))
said["there"] = pinned("/gpu:1", tf.negative)
said["soft"] = pinned("/gpu:7", tf.negative, soft=True)
""",
        2,
    )
    for name, asked in (("missing", "/device:GPU:7"), ("other job", "/job:worker/task:1/device:GPU:0")):
        assert answer[name].startswith("InvalidArgumentError: Graph execution error:"), answer[name]
        sentence = answer[name].partition(f"was explicitly assigned to {asked} but available devices are [")[2]
        listed, _, rest = sentence.partition("]")
        assert [one.rpartition("device:")[2].strip() for one in listed.split(",")] == ["CPU:0", "GPU:0", "GPU:1"]
        assert rest.startswith(". Make sure the device specification refers to a valid device.\n")
        assert "CUDA is not enabled" not in answer[name]
    assert "Cannot assign a device for operation turned" in answer["missing"]
    assert (
        "Cannot assign a device for operation mixed: Could not satisfy explicit device specification '/device:GPU:1' "
        "because no supported kernel for GPU devices is available."
    ) in answer["no kernel"]
    assert (answer["there"], answer["soft"]) == ("nothing", "nothing")
    assert answer["results"] == [[[-1.0, -1.0], [-1.0, -1.0]]] * 2


def test_sessions_of_both_kinds_can_have_one_graph(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
v1 = tf.compat.v1
soft, strict = (v1.ConfigProto(allow_soft_placement=is_soft) for is_soft in (True, False))
with v1.Graph().as_default() as graph:
    with v1.device("/gpu:5"):
        asked = tf.square(v1.constant(3.0))
    said["device"] = asked.device
    said["first"] = raised(lambda: v1.Session(config=strict).run(asked))
    later = v1.Session(config=soft)
    said["later"] = float(later.run(asked))
    with v1.device("/gpu:6"):
        more = tf.sqrt(asked)
    said["more"] = float(later.run(more))
    v1.Session(config=strict).list_devices()
    raised(lambda: v1.Session(config=strict).run(more))
    said["again"] = float(later.run(more))
""",
        2,
    )
    assert answer.pop("first").startswith("InvalidArgumentError")
    assert answer == {"later": 9.0, "more": 3.0, "again": 3.0, "device": "/device:GPU:5"}


def test_the_line_that_created_a_variable_is_one_of_the_program(rehearse: Rehearse) -> None:
    text = """
import tensorflow as tf

with tf.device("GPU:1"):
    w = tf.Variable(tf.ones((4,)))


@tf.function(jit_compile=True)
def double():
    return w * 2.0


try:
    with tf.device("GPU:0"):
        double()
except tf.errors.InvalidArgumentError as error:
    print(error)
"""
    assert "train.py:5) located in device" in rehearse(text, 2).output
