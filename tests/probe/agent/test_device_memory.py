"""Figures of the allocators: with a fake TensorFlow, and for real on the CPU."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpulint.probe.agent.device_memory import DeviceMemory
from gpulint.probe.capture.records import Sample
from gpulint.probe.measures.leaks import Growth, leaks
from gpulint.probe.measures.memory_limits import cpu_limit
from gpulint.probe.placement_log.counts import short_device
from gpulint.probe.placement_log.records import Hint, OutOfMemory
from tests import warm
from tests.probe.placement_log.logs import parse

ROOT = Path(__file__).resolve().parents[3]
MIB = 1 << 20


def fake(given: dict[str, Any]) -> Any:
    """A TensorFlow with these devices, and what `get_memory_info` returns or raises for each."""
    devices = {name if "/" in name else f"/device:{name}": info for name, info in given.items()}

    def answer(device: str) -> Any:
        if isinstance(devices[device], Exception):
            raise devices[device]
        return devices[device]

    def logical() -> list[SimpleNamespace]:
        return [SimpleNamespace(name=name) for name in devices]

    experimental = SimpleNamespace(get_memory_info=answer, reset_memory_stats=answer)
    return SimpleNamespace(config=SimpleNamespace(list_logical_devices=logical, experimental=experimental))


class TestFake:
    def test_devices_without_numbers_are_left_out_with_a_reason(self) -> None:
        error = ValueError("Allocator stats not available for device 'CPU:0'")
        memory = DeviceMemory(fake({"CPU:0": error, "GPU:0": {"current": 5, "peak": 9}, "GPU:1": KeyError("x")}))
        for _ in range(2):
            assert memory.sample() == {"GPU:0": (5, 9)}
            memory.reset_peaks()
        assert set(memory.lost) == {"CPU:0", "GPU:1"}
        assert memory.lost["CPU:0"] == f"ValueError: {error}"

    def test_a_release_without_the_function(self) -> None:
        tensorflow = fake({"GPU:0": {}})
        del tensorflow.config.experimental.get_memory_info
        memory = DeviceMemory(tensorflow)
        assert memory.sample() == {}
        assert memory.lost["GPU:0"].startswith("AttributeError")

    def test_a_release_without_devices(self) -> None:
        memory = DeviceMemory(SimpleNamespace())
        assert memory.sample() == {} and memory.lost[""].startswith("AttributeError")
        memory.reset_peaks()

    def test_nothing_is_asked_before_the_runtime_is_up(self) -> None:
        up: list[bool] = []
        memory = DeviceMemory(fake({"GPU:0": {"current": 1, "peak": 1}}), initialised=lambda: bool(up))
        memory.reset_peaks()
        assert memory.sample() == {} and memory.lost == {}
        up.append(True)
        assert memory.sample() == {"GPU:0": (1, 1)}

    def test_logical_cpus_share_an_allocator_and_gpus_do_not(self) -> None:
        info = {"current": 1, "peak": 1}
        memory = DeviceMemory(fake(dict.fromkeys(["CPU:0", "CPU:1", "GPU:0", "GPU:1"], info)))
        memory.sample()
        assert memory.shared == {"CPU:0", "CPU:1"}
        alone = DeviceMemory(fake({"CPU:0": info, "GPU:0": info}))
        alone.sample()
        assert alone.shared == frozenset()

    def test_devices_of_a_cluster_are_not_mixed_up(self) -> None:
        workers = [f"/job:worker/replica:0/task:{task}/device:GPU:0" for task in (0, 1)]
        memory = DeviceMemory(fake({workers[0]: {"current": 1, "peak": 2}, workers[1]: ValueError("No matching")}))
        assert memory.sample() == {short_device(workers[0]): (1, 2)}
        assert memory.lost == {short_device(workers[1]): "ValueError: No matching"}


NUMBERS = """
import json
import tensorflow as tf
from tensorflow.python.eager import context
from gpulint.probe.agent.device_memory import DeviceMemory

cpu = tf.config.list_physical_devices("CPU")[0]
memory = DeviceMemory(tf, lambda: bool(context.context()._initialized))
seen = {"before": memory.sample()}
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.ones([])
seen["start"] = memory.sample()
a = tf.zeros([1024, 1024])
seen["tensor"] = memory.sample()
b = a + 1.0
del b
seen["peak"] = memory.sample()
memory.reset_peaks()
seen["reset"] = memory.sample()
seen["small"] = [tf.ones([1000]) for _ in range(2000)] and memory.sample()
kept = [tf.ones([1000]) for _ in range(2000)]
seen["kept"] = memory.sample()
print(json.dumps({"seen": seen, "shared": sorted(memory.shared), "lost": memory.lost}))
"""

TRAINING = """
import json, sys
import tensorflow as tf
from gpulint.probe.agent.device_memory import DeviceMemory

memory, kept, seen = DeviceMemory(tf), [], {"ends": [], "between": []}
w = tf.Variable(tf.random.normal([512, 512]))

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        y = tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, w)), w))
        loss = tf.reduce_mean(y * y)
    w.assign_sub(1e-6 * tape.gradient(loss, w))
    return loss, y

def sample(kind, moment):  # the clock counts steps: under load, seconds would bend the curve
    if moment >= 5:
        seen[kind].append((moment, memory.sample()))

for number in range(125):
    if number % 3 == 0:
        sample("between", number)
    x = tf.random.normal([256, 512])
    if number % 3 == 1:
        sample("between", number + 0.25)
    loss, y = step(x)
    if number % 3 == 2:
        sample("between", number + 0.5)
    if sys.argv[1] == "leak":
        kept.append(y[:32] + 0.0)  # a slice of rows alone is no copy: it keeps all of y
    sample("ends", number + 0.75)
print(json.dumps(seen))
"""

EXHAUSTED = """
import tensorflow as tf
kept = [tf.random.normal([1024, 1024]) for _ in range(40)]
"""


def environment(**variables: str) -> dict[str, str]:
    """The memory of this process, with the given CPU allocator."""
    told = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONPATH": str(ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "0",
        **variables,
    }
    return {name: value for name, value in told.items() if value}


BFC = {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "64"}


def run(program: str, *arguments: str, onednn: bool = True, **variables: str) -> Any:
    python = warm.python() if onednn else warm.simulating()
    environment = {**warm.QUIET, "TF_ENABLE_ONEDNN_OPTS": str(int(onednn)), **variables}
    done = python.run([sys.executable, "-c", program, *arguments], cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.tensorflow
@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")
class TestLive:
    @pytest.mark.parametrize("onednn", [False, True])
    def test_the_numbers_of_known_tensors(self, onednn: bool) -> None:
        result = run(NUMBERS, onednn=onednn, **BFC)
        seen = {moment: sample.get("CPU:0") for moment, sample in result["seen"].items()}
        assert result["seen"]["before"] == {}
        base = seen["start"][0]
        assert seen["tensor"][0] - base == 4 * MIB
        assert seen["peak"][0] == seen["tensor"][0] and seen["peak"][1] - seen["peak"][0] == 4 * MIB
        assert seen["reset"] == [seen["peak"][0]] * 2
        assert seen["kept"][0] - seen["small"][0] >= 0 and seen["kept"][0] - base > 4 * MIB + 2000 * 4000
        assert result["shared"] == ["CPU:0", "CPU:1"] and result["lost"] == {}
        for moment in ("tensor", "peak", "reset", "kept"):
            assert result["seen"][moment]["CPU:0"] == result["seen"][moment]["CPU:1"]

    def test_onednn_counts_no_small_tensors(self) -> None:
        result = run(NUMBERS, onednn=True)
        if result["lost"]:
            pytest.skip("this TensorFlow was built without oneDNN")
        seen = {moment: sample.get("CPU:0") for moment, sample in result["seen"].items()}
        assert seen["tensor"][0] == seen["kept"][0] == 4 * MIB

    def test_neither_of_them_gives_no_numbers(self) -> None:
        result = run(NUMBERS, onednn=False)
        assert result["seen"]["kept"] == {}
        assert all("Allocator stats not available" in reason for reason in result["lost"].values())
        assert set(result["lost"]) == {"CPU:0", "CPU:1"}

    def test_a_limit_is_a_limit_and_its_message_is_read(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", EXHAUSTED], capture_output=True, env=environment(**BFC), timeout=300
        )
        assert done.returncode == 1 and b"ResourceExhaustedError" in done.stderr
        records = parse(done.stderr).records
        out = {record for record in records if isinstance(record, OutOfMemory)}
        device = "/job:localhost/replica:0/task:0/device:CPU:0"
        assert out == {OutOfMemory((1024, 1024), "float", device, "bfc_cpu_allocator_for_gpu")}
        (hint,) = {record.text for record in records if isinstance(record, Hint) and record.kind == "memory"}
        assert "ran out of memory trying to allocate 4.00MiB" in hint

    def test_a_real_leak_is_found_and_a_steady_loop_is_silent(self) -> None:
        limits = {"CPU:0": cpu_limit(environment(**BFC), 0) or 0}
        assert limits == {"CPU:0": 64 * MIB}

        def judged(taken: list[tuple[float, dict[str, tuple[int, int]]]]) -> Growth:
            (growth,) = leaks([Sample(t, "steps", devices) for t, devices in taken], limits, steps=120)
            return growth

        leak, steady = run(TRAINING, "leak", **BFC), run(TRAINING, "steady", **BFC)
        for samples in leak.values():
            growth = judged(samples)
            assert growth.verdict == "fail", growth
            assert growth.per_step == pytest.approx(32 * 512 * 4, rel=0.25)
        for samples in steady.values():
            growth = judged(samples)
            assert growth.verdict == "pass" and not growth.steady, growth
