"""`gpulint probe --simulate-gpus` on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.cli.probe import command
from gpulint.probe.launch.command import Simulated
from tests import warm


def probe(directory: Path, *arguments: str, paths: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run the command in a directory, with `paths` first on the module path."""
    command = [sys.executable, "-m", "gpulint", "probe", "--isolated", *arguments]
    if paths:
        path = os.pathsep.join([*paths, *filter(None, sys.path)])
        return warm.Fresh().run(command, cwd=directory, env={"PYTHONPATH": path})
    return warm.simulating().run(command, cwd=directory)


@pytest.mark.parametrize("size", ["16gigs", "16", "GiB", "-1GiB", "1e3MB", "10B", ""])
def test_a_malformed_size_is_wrong_usage_and_says_how_to_write_one(size: str) -> None:
    done = CliRunner().invoke(command, ["--simulate-gpus", "2", "--simulate-memory", size, "train.py"])
    assert done.exit_code == 2
    assert "16GiB" in done.output or "1MiB" in done.output
    assert repr(size) in done.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--simulate-memory", "1GiB", "train.py"), "--simulate-memory needs --simulate-gpus N"),
        (("--simulate-gpus", "2", "--replay", "x.jsonl"), "--simulate-gpus needs a program to run"),
        (("--simulate-gpus", "0", "train.py"), "0 is not in the range 1<=x<=128"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(arguments: tuple[str, ...], text: str) -> None:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2
    assert text in done.output


@pytest.mark.parametrize("lacking", ["python/eager/context.py", "python/ops/nccl_ops.py"])
def test_a_tensorflow_without_a_private_piece_is_refused_before_the_program_runs(lacking: str, tmp_path: Path) -> None:
    """A TensorFlow whose files lack what the simulation replaces, or are missing."""
    package = tmp_path / "site" / "tensorflow"
    (package / "python").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    if lacking.endswith("context.py"):
        (package / lacking).parent.mkdir(parents=True)
        (package / lacking).write_text("class Context: pass\n")
    (tmp_path / "train.py").write_text("print('it ran')\n")
    done = probe(tmp_path, "--simulate-gpus", "2", "train.py", paths=(str(tmp_path / "site"),))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("gpulint: GPUs cannot be simulated: this TensorFlow has no ")


def test_a_program_without_tensorflow_runs_and_is_labelled(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('it ran')\n")
    done = probe(tmp_path, "--simulate-gpus", "2", "train.py")
    assert done.returncode == 0
    assert "it ran" in done.stdout
    assert "SIMULATED" in done.stdout


TRAINING = """
import tensorflow as tf

with tf.device("/gpu:1"):
    kept = tf.ones([1024, 1024])
    mixed = tf.random.shuffle(kept)
print(kept.device, mixed.device)
"""


@pytest.mark.tensorflow
def test_every_form_of_the_report_says_that_gpus_were_simulated(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    options = ("--simulate-gpus", "2", "--simulate-memory", "64MiB", "--capture", "run.jsonl")
    done = probe(tmp_path, *options, "--output-format", "json", "-o", "report.json", "train.py")
    assert done.stdout.split()[0].endswith("device:GPU:1"), done.stderr
    assert done.stdout.split()[1].endswith("device:CPU:0")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["simulated"]["gpus"] == 2
    assert report["simulated"]["memory"] == 64 << 20
    assert report["simulated"]["fallbacks"] == {"RandomShuffle": 1}
    skipped = {one["id"]: one["observed"] for one in report["expectations"] if one["status"] == "skip"}
    assert {"mem-headroom", "mem-balance", "step-time"} <= skipped.keys()
    assert all("simulated" in reason for reason in skipped.values())
    estimate = next(one for one in report["expectations"] if "GPU:1 (estimate)" in one["subject"])
    assert (estimate["status"], estimate["observed"]) == ("pass", "4.0 MiB at most")

    def replayed(form: str) -> str:
        return probe(tmp_path, "--replay", "run.jsonl", "--output-format", form).stdout

    assert "\nSIMULATED GPUs" in replayed("text")
    assert "no kernel for GPUs, would run on the CPU: RandomShuffle (1)" in replayed("text")
    assert json.loads(replayed("sarif"))["runs"][0]["properties"] == {"simulated": 2}
    named = ElementTree.fromstring(replayed("junit")).findall("properties/property")
    assert {"name": "simulated", "value": "2"} in [one.attrib for one in named]


HUNGRY = """
import tensorflow as tf

kept = []
try:
    for _ in range(64):
        kept.append(tf.zeros([1 << 20]) + float(len(kept)))
except tf.errors.ResourceExhaustedError as error:
    print("exhausted:", str(error).partition(" [Op")[0])
"""


@pytest.mark.tensorflow
def test_too_little_memory_is_a_real_out_of_memory_error_of_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HUNGRY)
    done = probe(tmp_path, "--simulate-gpus", "1", "--simulate-memory", "32MiB", "train.py")
    line = next(line for line in done.stdout.splitlines() if line.startswith("exhausted:"))
    assert "OOM when allocating tensor with shape[1048576]" in line
    assert "device:GPU:0" in line


ARRAY = """
import numpy as np, tensorflow as tf

for device in (None, "/cpu:0"):
    try:
        with tf.device(device):
            tf.data.Dataset.from_tensor_slices(np.ones([64, 1 << 18], "float32"))
    except tf.errors.OpError as error:
        print("raised:", type(error).__name__, error.message)
"""


@pytest.mark.tensorflow
def test_an_array_for_which_there_is_no_memory_raises_and_does_not_end_the_program_by_a_signal(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ARRAY)
    done = probe(tmp_path, "--simulate-gpus", "2", "--simulate-memory", "16MiB", "train.py")
    on_gpu, on_host = (line for line in done.stdout.splitlines() if line.startswith("raised:"))
    assert on_gpu.startswith("raised: InternalError Failed copying input tensor from ")
    assert "device:GPU:0 in order to run _EagerConst: Dst tensor is not initialized." in on_gpu
    assert "ResourceExhaustedError OOM when allocating tensor with shape[64,262144] and type float on " in on_host
    assert on_host.endswith("device:CPU:0 by allocator bfc_cpu_allocator_for_gpu")
    assert done.returncode == 0


ITERATORS = """
import numpy as np
import tensorflow as tf

x = np.ones((1600, 32, 32, 2), "float32")
sets = [tf.data.Dataset.from_tensor_slices(x).batch(16).prefetch(2) for _ in range(4)]
for ds in sets:
    for batch in ds:  # here
        pass
"""
"""The iterator's copy of the data did not fit, which killed the process by SIGSEGV (2.21)."""

COMPILED = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((32, 32, 3)), tf.keras.layers.Conv2D(64, 3), tf.keras.layers.Flatten()])
model.compile("sgd", "mse")
assert model.jit_compile
model.fit(np.zeros((256, 32, 32, 3), "float32"), np.zeros((256, 57600), "float32"), batch_size=128, verbose=0)  # here
"""
"""A function compiled by XLA ran out of memory, which killed the process by SIGABRT after TensorFlow's error (2.21)."""


@pytest.mark.tensorflow
@pytest.mark.parametrize(("program", "size"), [(ITERATORS, "75MiB"), (COMPILED, "128MiB")], ids=["tf.data", "XLA"])
def test_memory_that_runs_out_inside_the_runtime_raises_at_the_programs_line(
    tmp_path: Path, program: str, size: str
) -> None:
    (tmp_path / "train.py").write_text(program)
    options = ("--simulate-gpus", "1", "--simulate-memory", size, "--output-format", "json", "-o", "report.json")
    done = probe(tmp_path, *options, "train.py")
    assert "ResourceExhaustedError: OOM when allocating " in done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["run"]["status"], report["run"]["signal"]) == (1, None)
    (full,) = (one for one in report["expectations"] if one["id"] == "out-of-memory")
    assert full["status"] == "fail" and full["subject"] == "memory of the simulated GPUs together"
    row = next(row for row, line in enumerate(program.split("\n"), 1) if "# here" in line)
    assert (full["origin"]["filename"], full["origin"]["row"]) == (str(tmp_path / "train.py"), row)


SMALLER = """
import tensorflow as tf

@tf.function
def needs(size):
    return tf.reduce_sum(tf.ones((size, 1 << 18)) * tf.cast(size, tf.float32))

size = 128
while True:
    try:
        needs(tf.constant(size))
        break
    except tf.errors.ResourceExhaustedError:
        print("too large:", size)
        size //= 2
print("fits:", size, float(needs(tf.constant(size))) > 0)
"""


@pytest.mark.tensorflow
def test_a_program_can_go_on_with_less_after_an_error_of_memory(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SMALLER)
    done = probe(tmp_path, "--simulate-gpus", "1", "--simulate-memory", "72MiB", "train.py")
    assert done.stdout.splitlines()[:2] == ["too large: 128", "fits: 64 True"]


POOL = """
import tensorflow as tf

@tf.function
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool2d(x, 2, 2, "VALID")
    return tape.gradient(y, x)

print(gradient(tf.zeros((0, 16, 16, 8))).shape)
"""


@pytest.mark.tensorflow
def test_max_pooling_of_an_empty_batch_does_not_end_the_process(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(POOL)
    done = probe(tmp_path, "--simulate-gpus", "2", "train.py")
    assert done.returncode == 0
    assert done.stdout.startswith("(0, 16, 16, 8)\n")


def test_the_environment_of_the_user_overrides_that_of_a_simulation() -> None:
    assert Simulated().environment({"A": "1"}) == {"A": "1"}
    assert Simulated(2).environment({})["TF_ENABLE_ONEDNN_OPTS"] == "0"
    assert Simulated(2).environment({"TF_ENABLE_ONEDNN_OPTS": "1"})["TF_ENABLE_ONEDNN_OPTS"] == "1"
    limited = Simulated(2, 1 << 50).environment({})
    assert limited["TF_CPU_BFC_MEM_LIMIT_IN_MB"] == str(2 << 30)  # MiB
