"""What do TensorFlow's debugging switches cost when they stay on while a model trains?

Measured on TensorFlow 2.21, 2 cores, a small Dense net: check_numerics 1.3–2.6 times in fit and 3–5 times in
eager calls; dump_debug_info with FULL_HEALTH 3–6 times in fit, 11 MB written in 300 batches;
log_device_placement 1.5 times in eager calls and half a megabyte of stderr, nothing in fit; the profiler 1.3
times in fit, 1.6 in eager calls; check_numerics switched off again costs nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

SWITCHES = [
    "nothing",
    "set_log_device_placement",
    "enable_check_numerics",
    "enable_check_numerics, off again",
    "dump FULL_HEALTH",
    "profiler",
]
BATCHES = 50


def switch_on(name: str, folder: str) -> None:
    import tensorflow as tf

    if name == "set_log_device_placement":
        tf.debugging.set_log_device_placement(True)
    elif name.startswith("enable_check_numerics"):
        tf.debugging.enable_check_numerics()
        if name.endswith("off again"):
            tf.debugging.disable_check_numerics()
    elif name.startswith("dump"):
        tf.debugging.experimental.enable_dump_debug_info(folder, tensor_debug_mode=name.split()[1])
    elif name == "profiler":
        tf.profiler.experimental.start(folder)


def best(work: Callable[[], object]) -> float:
    """Least milliseconds of five calls."""
    times: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times)


def measure(name: str) -> None:
    """Milliseconds a batch of fit (after a warm epoch), of eager steps, and megabytes written."""
    with tempfile.TemporaryDirectory() as folder:
        switch_on(name, folder)
        import keras
        import tensorflow as tf

        hidden = [keras.layers.Dense(128, "relu") for _ in range(4)]
        model = keras.Sequential([keras.Input((64,)), *hidden, keras.layers.Dense(10)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, jit_compile=False)
        x, y = tf.random.normal((BATCHES * 32, 64)), tf.zeros((BATCHES * 32,), tf.int32)
        model.fit(x[:64], y[:64], batch_size=32, verbose=0)
        fit = best(lambda: model.fit(x, y, batch_size=32, verbose=0)) / BATCHES
        eager = best(lambda: [model(x[:32]) for _ in range(10)]) / 10
        written = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 2**20
        print("RESULT", fit, eager, written)


def main() -> None:
    if len(sys.argv) == 2:
        measure(sys.argv[1])
        return
    print(f"{'left on':34}      fit ms       times    eager ms       times  MB written   stderr kB")
    base = (0.0, 0.0)
    for name in SWITCHES:
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0"}
        command = [sys.executable, __file__, name]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        found = next(line for line in ran.stdout.splitlines() if line.startswith("RESULT"))
        fit, eager, written = (float(each) for each in found.split()[1:])
        base = base if base[0] else (fit, eager)
        row = (fit, fit / base[0], eager, eager / base[1], written, len(ran.stderr) / 1024)
        print(f"{name:34}" + "".join(f"{number:>12.1f}" for number in row))


if __name__ == "__main__":
    main()
