"""What held a device's memory at its peak."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import read
from gpulint.probe.capture.records import Card, Holding, Kept, PeakRow, Sample, Steps, Where, WindowPeak
from gpulint.probe.measures.holders import Holder, held
from tests import warm

MODEL, STEP, LOAD = (Where("/train.py", row) for row in (3, 9, 20))


def capture(**fields: object) -> Capture:
    return Capture(logical=("CPU:0", "GPU:0"), **fields)  # type: ignore[arg-type]


def test_what_is_known_adds_up_to_the_allocators_peak() -> None:
    (gpu,) = held(
        capture(
            memory=[Sample(1, "warm-up", {"GPU:0": (10, 4000)}), Sample(2, "steps", {"GPU:0": (400, 1000)})],
            holdings=[
                Holding(MODEL, "GPU:0", "weights", "variable", 100),
                Holding(STEP, "GPU:0", "slots", "variable", 200),
                Holding(LOAD, "GPU:0", "python", "MatMul", 50),
            ],
            window_peaks=[
                WindowPeak(
                    "GPU:0",
                    900,
                    380,
                    (PeakRow(STEP, "activations", "conv/Relu", 420), PeakRow(STEP, "gradients", "x", 100)),
                )
            ],
        )
    )
    assert (gpu.allocator, gpu.first, gpu.peak) == (1000, 4000, 1000)
    assert gpu.holders == (
        Holder("GPU:0", "activations", STEP, 420),
        Holder("GPU:0", "slots", STEP, 200),
        Holder("GPU:0", "other", None, 130),
        Holder("GPU:0", "weights", MODEL, 100),
        Holder("GPU:0", "gradients", STEP, 100),
        Holder("GPU:0", "python", LOAD, 50),
    )


def test_what_python_held_at_another_moment_does_not_exceed_the_peak() -> None:
    (gpu,) = held(
        capture(
            memory=[Sample(2, "steps", {"GPU:0": (0, 300)})],
            holdings=[
                Holding(MODEL, "GPU:0", "weights", "variable", 100),
                Holding(LOAD, "GPU:0", "python", "MatMul", 9000),
            ],
        )
    )
    assert gpu.holders == (Holder("GPU:0", "python", LOAD, 200), Holder("GPU:0", "weights", MODEL, 100))


def test_what_steps_leave_behind_is_kept_by_python() -> None:
    """Only the tensors of a few steps are examined: here two of 100, of 5 bytes each."""
    seen = capture(
        memory=[Sample(2, "steps", {"GPU:0": (0, 600)})],
        holdings=[Holding(STEP, "GPU:0", "python", "step", 10)],
        kept=[Kept(STEP, "step", "GPU:0", 4, 4, 20), Kept(LOAD, "once", "GPU:0", 4, 1, 20)],
        steps={("step", STEP): Steps("step", STEP, 100, 1.0, 0.1)},
    )
    (gpu,) = held(seen)
    assert gpu.holders == (Holder("GPU:0", "python", STEP, 500), Holder("GPU:0", "other", None, 100))
    (gpu,) = held(replace(seen, memory=[Sample(2, "steps", {"GPU:0": (0, 300)})]))
    assert gpu.holders == (Holder("GPU:0", "python", STEP, 300),)


def test_an_eager_operation_of_the_window_has_the_line_that_python_knows() -> None:
    (gpu,) = held(
        capture(
            holdings=[Holding(LOAD, "GPU:0", "python", "Conv2D", 500)],
            window_peaks=[WindowPeak("GPU:0", 700, 100, (PeakRow(None, "activations", "Conv2D", 600),))],
            memory=[Sample(2, "steps", {"GPU:0": (0, 700)})],
        )
    )
    assert gpu.holders == (Holder("GPU:0", "python", LOAD, 500), Holder("GPU:0", "activations", None, 200))


def test_arrays_are_on_the_first_gpu_or_on_the_host() -> None:
    arrays = [Holding(LOAD, "", "input", "fit", 500)]
    devices = (("CPU:0",), ("CPU:0", "GPU:0", "GPU:1"))
    assert [[one.device for one in held(Capture(logical=each, holdings=arrays))] for each in devices] == [
        ["CPU:0"],
        ["GPU:0"],
    ]


def test_the_process_holds_more_than_the_allocator() -> None:
    card = Card(1.0, "0000:01:00.0", "H200", 10_000, 5000, 4000, 0, 5)
    (gpu,) = held(capture(memory=[Sample(2, "steps", {"GPU:0": (0, 300)})], cards=[card]))
    assert (gpu.allocator, gpu.process) == (300, 4000)
    other = card._replace(bus="0000:02:00.0")
    (gpu,) = held(capture(memory=[Sample(2, "steps", {"GPU:0": (0, 300)})], cards=[card, other]))
    assert gpu.process is None


def test_the_host_holds_what_its_process_does() -> None:
    buffers = [Holding(LOAD, "CPU:0", "input", "Shuffle", 500), Holding(MODEL, "CPU:0", "weights", "variable", 20)]
    memory = [Sample(2, "steps", {"CPU:0": (0, 40)})]
    (host,) = held(Capture(logical=("CPU:0",), memory=memory, holdings=buffers, resident=[(1, 600), (2, 900)]))
    assert (host.device, host.allocator, host.process) == ("host", 900, 900)
    assert host.holders == (
        Holder("host", "input", LOAD, 500),
        Holder("host", "other", None, 380),
        Holder("host", "weights", MODEL, 20),
    )


def test_without_samples_and_holdings_nothing_is_known() -> None:
    assert held(capture()) == ()


PROGRAM = """import numpy as np
import tensorflow as tf
L = tf.keras.layers; model = tf.keras.Sequential([L.Input((64, 64, 3)), L.Conv2D(8, 3), L.Flatten(),
                                                  L.Dense(4)])
optimizer = tf.keras.optimizers.Adam()
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
images = tf.random.normal((256, 64, 64, 3))
for number in range(8):
    step(images[:32])
predictions = model(images)
model.predict(np.zeros((64, 64, 64, 3), "float32"), verbose=0)
"""


@pytest.mark.tensorflow
def test_a_program_on_tensorflows_own_allocator(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "gpulint", "probe", "--isolated", "--capture", "run.jsonl", "train.py"]
    done = warm.python().run(command, cwd=tmp_path, env={**warm.QUIET, "TF_CPU_ALLOCATOR_USE_BFC": "true"})
    assert done.returncode == 0, done.stderr
    (cpu,) = held(read(str(tmp_path / "run.jsonl")))
    by_row = {(one.group, one.where.row): one.bytes for one in cpu.holders if one.where is not None}
    weights = 4 * (3 * 3 * 3 * 8 + 8 + 62 * 62 * 8 * 4 + 4)
    assert by_row["weights", 3] == weights
    assert by_row["slots", 11] == 2 * weights
    assert by_row["python", 13] == 4 * 256 * 64 * 64 * 3
    assert by_row["python", 16] >= 4 * 256 * 62 * 62 * 8
    assert ("input", 17) not in by_row
    assert cpu.allocator is not None and cpu.peak == pytest.approx(cpu.allocator, rel=0.05)
