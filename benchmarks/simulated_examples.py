"""Public multi-GPU programs, rehearsed with 2, 4 and 8 simulated GPUs.

    python -m benchmarks.simulated_examples [-n 2,4,8] FILE…

The files are scripts and notebooks, such as TensorFlow's tutorials on distribution. They run unchanged except that
small random data replaces what would have to be downloaded, such as MNIST. For each, the output says how it ended,
which strategies it has, and which checks of the probe failed. A program that fails is run again on as many logical
CPUs, without simulation: its batch may not be divisible by that number, for example. The exit status is 1 if a
program fails only in the simulation, or with another type of error there, or if a strategy leaves a GPU idle.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from gpulint.probe.expectations.expectation import Status
from tests import warm
from tests.simulation.rehearsal import Rehearsed, Stage

DATA = """
import sys, types
import numpy as np
import tensorflow as tf

def _images(*shape, classes=10, rows=256):
    draw = np.random.default_rng(0)
    def part(rows):
        return draw.integers(0, 255, (rows, *shape), dtype="uint8"), draw.integers(0, classes, rows).astype("uint8")
    return lambda *_, **__: (part(rows), part(rows // 4))

tf.keras.datasets.mnist.load_data = tf.keras.datasets.fashion_mnist.load_data = _images(28, 28)
tf.keras.datasets.cifar10.load_data = _images(32, 32, 3)

class _Splits(types.SimpleNamespace):
    num_examples = 256

def _load(*_, **given):
    (x, y), (u, v) = _images(28, 28, 1)()
    parts = {"train": tf.data.Dataset.from_tensor_slices((x, y.astype("int64"))),
             "test": tf.data.Dataset.from_tensor_slices((u, v.astype("int64")))}
    info = types.SimpleNamespace(splits={"train": _Splits(), "test": _Splits()})
    return (parts, info) if given.get("with_info") else parts

sys.modules["tensorflow_datasets"] = types.SimpleNamespace(load=_load, disable_progress_bar=lambda: None)
"""


PLAIN = """
import tensorflow as tf
_cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(_cpu, [tf.config.LogicalDeviceConfiguration()] * {devices})
tf.config.set_logical_device_configuration = lambda *_: None
"""
"""Creates logical CPUs; without a GPU, a strategy uses all of them. A program that creates its own gets these."""

RUNS = re.compile(r"(?!\s*[!%]|from __future__ )")
"""Lines that can follow other code in a script: no magics, no `from __future__` imports."""


def program(path: Path) -> str:
    """The text of a script or of the code of a notebook, with the data before it and without the other lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        text = "\n".join(line.rstrip("\n") for cell in cells for line in [*cell, ""])
    text = "\n".join(line if RUNS.match(line) else "pass" for line in text.split("\n"))
    return f"{DATA}\n{text}\n"


def rehearse(path: Path, stages: Stage, gpus: int) -> bool:
    """Runs one program and prints the outcome. Returns whether it is as expected."""
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory) / f"{path.stem}.py"
        script.write_text(program(path), encoding="utf-8")
        run = stages.rehearse(script, gpus, seconds=900)
        expectations = run.expectations()
        print(f"{path.stem}, {gpus} GPUs: status {run.status}{_said(run)}", flush=True)
        is_well = not run.capture.faults
        if run.status:
            script.write_text(PLAIN.format(devices=gpus) + program(path), encoding="utf-8")
            plain = stages.rehearse(script, 0, seconds=900).capture.error
            is_well &= bool(_kind(plain)) and _kind(plain) == _kind(run.capture.error)
            print(f"    on plain logical CPUs: {_kind(plain) or 'ends well'}", flush=True)
    for strategy in run.capture.strategies:
        print(f"    {strategy.cls} of {strategy.replicas}: {', '.join(strategy.devices)}")
    for one in expectations:
        if one.status in (Status.FAIL, Status.WARN) or one.id == "strategy-spread":
            print(f"    {one.status.value} {one.code or one.id} {one.subject}: {one.observed[:160]}", flush=True)
        is_well &= one.id != "strategy-spread" or one.status is not Status.FAIL
    return is_well


def _kind(error: str) -> str:
    return error.partition(":")[0]


def _said(run: Rehearsed) -> str:
    return "".join(f"; fault {fault}" for fault in run.capture.faults) + (
        f": {run.capture.error[-400:]}" if run.capture.error else ""
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", default="2,4,8", help="numbers of simulated GPUs")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    stage = Stage(warm.python())
    done = [rehearse(path, stage, int(gpus)) for path in options.files for gpus in options.n.split(",")]
    print(f"{len(done)} rehearsals, {done.count(False)} failed")
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()
