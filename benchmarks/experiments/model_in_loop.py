"""Does memory climb when a model is built in every iteration of a loop, and what stops it?

Measured on TensorFlow 2.21, 2 cores, MB an iteration for a kernel of 8.4 MB: fit 9.5–10.0, with
clear_session 8.9–9.2, with gc.collect too 8.9–9.2 — the tf.function around Keras's optimizer keeps the
variables alive; a step of the program's own in a tf.function 9.3; fit and predict run eagerly 0.1; predict
3.8–6.6, collected 0.1, with or without clear_session; one model built once 0.1.
So a fit in a loop needs its own process or one model.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")
ENVIRONMENT = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}  # glibc hands large blocks back at once

ITERATIONS, WARM = 6, 2
CASES: list[tuple[str, str]] = [
    ("build", "nothing"),
    ("build, predict", "nothing"),
    ("build, predict", "collect"),
    ("build, predict", "all"),
    ("build, fit", "nothing"),
    ("build, fit", "clear_session"),
    ("build, fit", "all"),
    ("build, own step", "all"),
    ("build, fit eagerly", "all"),
    ("build, predict eagerly", "all"),
    ("build once, fit", "nothing"),
]


def resident() -> float:
    """Resident megabytes of this process (Linux)."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(way: str, cleaner: str) -> None:
    """Print megabytes of growth an iteration, and the models, variables and graphs alive at the end."""
    import keras
    import numpy as np
    import tensorflow as tf

    x, y = np.zeros((64, 512), np.float32), np.zeros((64, 1), np.float32)

    def build() -> keras.Model:
        model = keras.Sequential([keras.Input((512,)), keras.layers.Dense(4096), keras.layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=way.endswith("eagerly"), jit_compile=False)
        return model

    @tf.function
    def step(model: keras.Model) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        variables = model.trainable_variables
        model.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    def iterate(model: keras.Model) -> None:
        if "fit" in way:
            model.fit(x, y, verbose=0)
        elif "predict" in way:
            model.predict(x, verbose=0)
        elif "step" in way:
            step(model)
        elif "call" in way:
            model(x)

    sizes: list[float] = []
    kept = build() if "once" in way else None
    for _ in range(ITERATIONS):
        if cleaner in ("clear_session", "all"):
            keras.backend.clear_session()
        iterate(kept or build())
        if cleaner in ("collect", "all"):
            gc.collect()  # the model went with the call of iterate: nothing of ours refers to it
        sizes.append(resident())
    kinds = (keras.Model, keras.Variable, tf.Graph)
    alive = [sum(isinstance(each, kind) for each in gc.get_objects()) for kind in kinds]
    growth = (sizes[-1] - sizes[WARM - 1]) / (ITERATIONS - WARM)
    print(f"RESULT{growth:>16.1f}" + "".join(f"{count:>11}" for count in alive))


def run(case: tuple[str, str]) -> str:
    command = [sys.executable, __file__, *case]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return next(line for line in ran.stdout.splitlines() if line.startswith("RESULT")).removeprefix("RESULT")


def main() -> None:
    if len(sys.argv) == 3:
        measure(sys.argv[1], sys.argv[2])
        return
    print("a kernel of 8.4 MB; all = clear_session, no reference kept, gc.collect")
    alive = "".join(f"{name:>11}" for name in ("models", "variables", "graphs"))
    print(f"{'each iteration':24}{'then':15}{'MB an iteration':>16}{alive}")
    with ThreadPoolExecutor(2) as pool:
        for (way, cleaner), found in zip(CASES, pool.map(run, CASES), strict=True):
            print(f"{way:24}{cleaner:15}{found}")


if __name__ == "__main__":
    main()
