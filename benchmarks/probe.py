"""What the probe costs: the same programs with and without it, alternately, in one run.

Needs TensorFlow, and for the notebook nbclient and ipykernel. The programs are a Keras `fit`; a custom loop over the
same data with the same model, as a script and as a notebook; a loop whose step takes a millisecond; a hundred eager
operations; and a program that has TensorFlow print 30,000 lines of placement log.

Three times are compared: a step after the warm-up, everything from the import of TensorFlow to the first step, and that
import. Printed are the lower quartile and the median, over the rounds, of the time with the probe divided by the time
without it. Which of the two runs first changes with each round. Single rounds differ by up to 40 % with the load of the
host, even the fastest. Beside the wall time of a step are its CPU times: of all threads, and of the main thread, in
which most of the probe's work is done.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WARM, STEPS = 30, 400
LINES = 30_000
CLOCKS = ("step", "step (processor)", "step (main thread)")
CONVNET = """
import sys, time
began = time.perf_counter()
import tensorflow as tf
imported = time.perf_counter()
import numpy as np

model = tf.keras.Sequential(
    [
        tf.keras.Input((32, 32, 3)),
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(10),
    ]
)
data = tf.data.Dataset.from_tensors((np.zeros((32, 32, 32, 3), "float32"), np.zeros((32,), "int64"))).repeat()
cost = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
times = []
"""
FIT = f"""{CONVNET}
model.compile("adam", cost, jit_compile=False)


class Clock(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        times.append((time.perf_counter(), time.process_time(), time.thread_time()))


model.fit(data, steps_per_epoch={WARM + STEPS}, epochs=1, verbose=0, callbacks=[Clock()])
"""
LOOP = f"""{CONVNET}
optimizer = tf.keras.optimizers.Adam()
optimizer.build(model.trainable_variables)


@tf.function
def step(images, labels):
    with tf.GradientTape() as tape:
        loss = cost(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for images, labels in data.take({WARM + STEPS}):
    step(images, labels)
    times.append((time.perf_counter(), time.process_time(), time.thread_time()))
"""
SHORT = f"""
import sys, time
began = time.perf_counter()
import tensorflow as tf
imported = time.perf_counter()

weights = tf.Variable(tf.random.normal((256, 256)))
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer.build([weights])


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.matmul(x, weights) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss


times = []
x = tf.random.normal((256, 256))
for _ in range({WARM + STEPS}):
    step(x).numpy()
    times.append((time.perf_counter(), time.process_time(), time.thread_time()))
"""
LOGGED = f"""
import sys, time
began = time.perf_counter()
import tensorflow as tf
imported = time.perf_counter()

tf.debugging.set_log_device_placement(True)
times = []
x = tf.ones((4, 4))
for _ in range({WARM + STEPS}):
    for _ in range({LINES // (WARM + STEPS) // 2 + 1}):
        x = tf.nn.relu(x) * 0.5
    times.append((time.perf_counter(), time.process_time(), time.thread_time()))
"""
EAGER = f"""
import sys, time
began = time.perf_counter()
import tensorflow as tf
imported = time.perf_counter()

times = []
x = tf.ones((4, 4))
for _ in range({WARM + STEPS}):
    for _ in range(50):
        x = tf.nn.relu(x) * 0.5
    times.append((time.perf_counter(), time.process_time(), time.thread_time()))
"""
NOTEBOOK = """
import sys, nbclient, nbformat
nbclient.NotebookClient(nbformat.read(sys.argv[1], 4), timeout=None).execute()
"""
"""Runs a notebook as `jupyter execute` does."""
END = f"""
import json, os
figures = {{}}
for clock, name in enumerate({CLOCKS}):
    steps = sorted(after[clock] - before[clock] for before, after in zip(times[{WARM}:], times[{WARM + 1}:]))
    figures[name] = steps[len(steps) // 2]
json.dump({{**figures, "start": times[0][0] - imported, "import": imported - began}}, open(os.environ["FIGURES"], "w"))
"""


def measured(program: Path, command: list[str], directory: Path) -> dict[str, float]:
    """The figures that one run of a program leaves, with the whole run's seconds."""
    out = directory / "figures.json"
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0", "CUDA_VISIBLE_DEVICES": "-1", "FIGURES": str(out)}
    subprocess.run([*command, str(program)], env=environment, capture_output=True, check=False)
    figures: dict[str, float] = json.loads(out.read_text())
    out.unlink()
    return figures


def notebook(source: str) -> dict[str, object]:
    """A notebook of one cell."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
    return {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int, nargs="?", default=9, metavar="ROUNDS", help="default: 9")
    rounds = parser.parse_args().rounds
    if rounds < 1:
        parser.error("ROUNDS must be at least 1")
    probed = [sys.executable, "-m", "gpulint", "probe", "--isolated"]
    with tempfile.TemporaryDirectory() as name:
        programs = {
            "Keras fit, small ConvNet": FIT,
            "tf.function loop, the same": LOOP,
            "tf.function loop, in a notebook": LOOP,
            "tf.function loop, steps of a millisecond": SHORT,
            "a hundred eager operations": EAGER,
            "30,000 lines of placement log": LOGGED,
        }
        for title, text in programs.items():
            plain = [sys.executable]
            program = Path(name) / "program.py"
            program.write_text(text + END)
            if "notebook" in title:
                plain += ["-c", NOTEBOOK]
                program = program.with_suffix(".ipynb")
                program.write_text(json.dumps(notebook(text + END)))
            sides: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
            for number in range(rounds):
                for side in (0, 1) if number % 2 else (1, 0):
                    sides[side].append(measured(program, (plain, probed)[side], Path(name)))
            for what in (*CLOCKS, "start", "import"):
                text = f"{title}: {what}"
                for label, place in (("lower quartile", rounds // 4), ("median", rounds // 2)):
                    without, probe = (sorted(figures[what] for figures in side)[place] for side in sides)
                    added = (probe - without) * 1e3
                    text += f", {label} {without * 1e3:.2f} ms x {probe / without:.3f} ({added:+.2f} ms)"
                print(text, flush=True)


if __name__ == "__main__":
    main()
