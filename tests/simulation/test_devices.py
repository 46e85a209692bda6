"""The devices of a simulation, as the program sees them, and what TensorFlow lets it do with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.simulation.conftest import Rehearse

pytestmark = pytest.mark.tensorflow

HEAD = """
import json, os
import tensorflow as tf
from tensorflow.python.client import device_lib

said = {}
def raised(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"
def short(device):
    return device.rpartition("device:")[2]
gpus = tf.config.list_physical_devices("GPU")
"""
TAIL = "\nprint(json.dumps(said))\n"


def said(rehearse: Rehearse, text: str, gpus: int) -> dict[str, Any]:
    """What a program stores in `said`."""
    answer: dict[str, Any] = json.loads(rehearse(HEAD + text + TAIL, gpus).output.splitlines()[-1])
    return answer


def test_every_list_of_devices_has_the_simulated_ones(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
said["physical"] = [one.name for one in tf.config.list_physical_devices()]
said["details"] = tf.config.experimental.get_device_details(gpus[1])
said["visible"] = [one.name for one in tf.config.get_visible_devices("GPU")]
said["built"] = tf.test.is_built_with_cuda(), tf.test.is_built_with_gpu_support()
said["name"], said["available"] = tf.test.gpu_device_name(), tf.test.is_gpu_available()
said["local"] = [(one.name, one.device_type) for one in device_lib.list_local_devices()]
said["logical"] = [(one.name, one.device_type) for one in tf.config.list_logical_devices()]
""",
        2,
    )
    assert answer["physical"] == [f"/physical_device:{name}" for name in ("CPU:0", "GPU:0", "GPU:1")]
    assert answer["visible"] == ["/physical_device:GPU:0", "/physical_device:GPU:1"]
    assert answer["details"] == {"device_name": "simulated GPU"}
    assert answer["built"] == [True, True]
    assert (answer["name"], answer["available"]) == ("/device:GPU:0", True)
    listed = [["/device:CPU:0", "CPU"], ["/device:GPU:0", "GPU"], ["/device:GPU:1", "GPU"]]
    assert answer["local"] == listed
    assert answer["logical"] == listed


def test_a_gpu_is_hidden_given_growth_and_split_as_a_real_one(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
limited = [tf.config.LogicalDeviceConfiguration(memory_limit=1024), tf.config.LogicalDeviceConfiguration(512)]
tf.config.set_visible_devices(gpus[1:3], "GPU")
tf.config.set_logical_device_configuration(gpus[1], limited)
tf.config.experimental.set_memory_growth(gpus[2], True)
said["growth"] = [tf.config.experimental.get_memory_growth(one) for one in gpus]
said["both"] = raised(lambda: tf.config.experimental.set_memory_growth(gpus[1], True))
said["parts"] = len(tf.config.get_logical_device_configuration(gpus[1]))
said["logical"] = [one.name for one in tf.config.list_logical_devices("GPU")]
with tf.device("/gpu:2"):
    said["last"] = short(tf.ones(3).device)
said["late"] = [
    raised(lambda: tf.config.set_visible_devices(gpus, "GPU")),
    raised(lambda: tf.config.experimental.set_memory_growth(gpus[0], True)),
    raised(lambda: tf.config.set_logical_device_configuration(gpus[0], limited)),
]
""",
        4,
    )
    assert answer["growth"] == [None, None, True, None]
    assert answer["both"] == "ValueError: Cannot set memory growth on device when virtual devices configured"
    assert answer["parts"] == 2
    assert answer["logical"] == ["/device:GPU:0", "/device:GPU:1", "/device:GPU:2"]
    assert answer["last"] == "GPU:2"
    assert answer["late"] == [
        "RuntimeError: Visible devices cannot be modified after being initialized",
        "RuntimeError: Physical devices cannot be modified after being initialized",
        "RuntimeError: Virtual devices cannot be modified after being initialized",
    ]


def test_limits_of_parts_are_in_the_capture(rehearse: Rehearse) -> None:
    text = """
tf.config.set_logical_device_configuration(gpus[0], [tf.config.LogicalDeviceConfiguration(64)] * 2)
tf.abs(tf.constant(-1.0))
"""
    capture = rehearse(HEAD + text, 2).capture
    assert capture.physical == ("CPU:0", "GPU:0", "GPU:1")
    assert capture.logical == ("CPU:0", "GPU:0", "GPU:1", "GPU:2")
    assert capture.limits == {"GPU:0": 64 << 20, "GPU:1": 64 << 20}


def test_growth_that_differs_raises(rehearse: Rehearse) -> None:
    text = "tf.config.experimental.set_memory_growth(gpus[0], True)\nsaid['e'] = raised(lambda: tf.ones(3))\n"
    assert said(rehearse, text, 2)["e"] == "ValueError: Memory growth cannot differ between GPU devices"


def test_a_part_without_a_limit_raises(rehearse: Rehearse) -> None:
    text = """
parts = [tf.config.LogicalDeviceConfiguration()]
said["e"] = raised(lambda: tf.config.set_logical_device_configuration(gpus[0], parts))
"""
    assert said(rehearse, text, 1)["e"] == "ValueError: Setting memory limit is required for GPU virtual devices"


@pytest.mark.parametrize(("mask", "seen"), [("1", 1), ("0,2", 2), ("-1", 0), ("", 0), ("0,7,1", 1), ("3,2,1,0", 4)])
def test_a_mask_that_the_program_sets_hides_gpus(mask: str, seen: int, rehearse: Rehearse) -> None:
    text = f"import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '{mask}'\nimport tensorflow as tf\n"
    text += "print(len(tf.config.list_physical_devices('GPU')), len(tf.config.list_logical_devices('GPU')))\n"
    assert rehearse(text, 4).output.split() == [str(seen), str(seen)]


def test_a_mask_that_is_set_before_the_import_hides_gpus(tmp_path: Path) -> None:
    text = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nimport tensorflow as tf\n"
    (tmp_path / "a.py").write_text(f"{text}print(len(tf.config.list_physical_devices('GPU')))\n")
    command = [sys.executable, "-m", "gpulint", "probe", "--isolated", "--simulate-gpus", "3", "-o", "a.txt", "a.py"]
    assert warm.python().run(command, cwd=tmp_path).stdout == "1\n"


def test_logical_cpus_of_the_program_stay_its_own(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
said["all"] = [one.name for one in tf.config.list_logical_devices()]
for name in ("/cpu:1", "/gpu:1"):
    with tf.device(name):
        said[name] = short(tf.random.normal([3]).device)
""",
        2,
    )
    assert answer["all"] == ["/device:CPU:0", "/device:CPU:1", "/device:GPU:0", "/device:GPU:1"]
    assert (answer["/cpu:1"], answer["/gpu:1"]) == ("CPU:1", "GPU:1")


def test_memory_is_an_estimate_of_what_lives_on_a_gpu(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        """
usage = tf.config.experimental.get_memory_info
with tf.device("/gpu:1"):
    kept = tf.random.normal([256, 256])
    weights = tf.Variable(tf.zeros([64, 64]))
said["used"] = usage("GPU:1")["current"], usage("/device:GPU:0")["current"]
del kept, weights
tf.config.experimental.reset_memory_stats("GPU:1")
said["after"] = usage("GPU:1")
said["none"] = raised(lambda: usage("GPU:7"))
""",
        2,
    )
    assert answer["used"] == [256 * 256 * 4 + 64 * 64 * 4, 0]
    assert answer["after"]["peak"] < 64
    assert answer["none"] == "ValueError: No matching devices found for 'GPU:7'"


MEMORY = """
usage = tf.config.experimental.get_memory_info
MIB = 1 << 18  # elements of float32
tf.config.set_logical_device_configuration(gpus[0], [tf.config.LogicalDeviceConfiguration(64)] * 2)
kept = []
"""


def test_a_variable_takes_over_the_memory_of_its_first_value(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        MEMORY
        + """
with tf.device("/gpu:1"):
    kept.append(tf.Variable(tf.ones([40 * MIB])))
    kept.append(tf.Variable(tf.ones([8 * MIB]), shape=tf.TensorShape(None)))
said["peak"] = usage("GPU:1")["peak"] >> 20
""",
        1,
    )
    assert answer["peak"] == 48


def test_what_shares_the_memory_of_a_tensor_counts_once_and_a_copy_on_another_gpu_there(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        MEMORY
        + """
same = tf.function(lambda x: (x, x[1:]))
with tf.device("/gpu:1"):
    x = tf.ones([40, MIB])
    kept += [x[2:], tf.identity(x), tf.reshape(x, [-1]), *tf.split(x, 2), *same(x)]
    said["shared"] = usage("GPU:1")["current"] >> 20
with tf.device("/gpu:0"):
    kept += [tf.identity(x)]
said["copied"] = usage("GPU:0")["current"] >> 20, usage("GPU:1")["current"] >> 20
""",
        1,
    )
    assert answer == {"shared": 40, "copied": [40, 40]}


def test_one_gpu_of_several_is_full_with_tensorflows_own_error_at_the_line_that_fills_it(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        MEMORY
        + """
import traceback, numpy as np
def fill():
    while True:
        kept.append(tf.zeros([10 * MIB]) + 1.0)  # the line
def full(call):
    try:
        with tf.device("/gpu:1"):
            call()
    except tf.errors.OpError as error:
        rows = traceback.extract_tb(error.__traceback__)
        return type(error).__name__, error.message, [row.line for row in rows if row.filename == __file__][-1]
said["operation"] = full(fill)
said["left"] = len(kept), usage("GPU:1")["current"] >> 20
said["array"] = full(lambda: tf.constant(np.ones([60, MIB], "float32")))
kept.clear()
with tf.device("/gpu:0"):
    half = tf.ones([30, MIB])
with tf.device("/gpu:1"):
    near = tf.ones([40, MIB])
    labels = tf.constant(np.ones([60, MIB], "int32"))
said["labels"] = short(labels.device), short(labels.backing_device)
said["copy"] = full(lambda: half.gpu(1))
said["fits"] = full(lambda: kept.append(tf.ones([16, MIB])))
""",
        1,
    )
    head = "/job:localhost/replica:0/task:0/device"
    kind, message, line = answer["operation"]
    assert kind == "ResourceExhaustedError"
    assert message.startswith(
        f"OOM when allocating tensor with shape[2621440] and type float on {head}:GPU:1 by allocator GPU_1_bfc [Op:"
    )
    assert line == "kept.append(tf.zeros([10 * MIB]) + 1.0)  # the line"
    assert answer["left"] == [5, 50]
    text = f"Failed copying input tensor from {head}:CPU:0 to {head}:GPU:1 in order to run _EagerConst: "
    assert answer["array"][:2] == ["InternalError", f"{text}Dst tensor is not initialized."]
    assert answer["copy"][0] == "InternalError"
    assert answer["fits"] is None
    assert answer["labels"] == ["GPU:1", "CPU:0"]  # constants of int32 stay on the host


def test_what_is_on_another_gpu_or_not_sure_to_be_here_fills_none(rehearse: Rehearse) -> None:
    answer = said(
        rehearse,
        MEMORY
        + """
grown = tf.function(lambda x: x + 1.0)
def work():
    with tf.device("/gpu:0"):
        kept.append(tf.ones([60 * MIB]))
    with tf.device("/gpu:1"):
        kept.extend(grown(tf.ones([8 * MIB])) for _ in range(10))
said["raised"] = raised(work)
""",
        1,
    )
    assert answer == {"raised": "nothing"}
