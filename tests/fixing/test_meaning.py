"""Fixes run for real: after a safe one a program computes what it did before, after any other one it runs.

Each program runs on TensorFlow with two logical CPU devices for GPUs, as written and as fixed.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.claims.claim import Claim
from tests.claims.runner import Performance, Stage
from tests.claims.test_claims import installed_tensorflow
from tests.fixing.fixing import fixed, fixed_text
from tests.fixing.test_rules import FIXING, example

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(not installed_tensorflow(), reason="TensorFlow is not installed"),
]


class Safe(NamedTuple):
    """A program that prints numbers as JSON, the same ones before and after the fix."""

    code: str
    text: str


TRAINING = """
import json
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
inputs = tf.random.stateless_normal((256, 4), seed=(1, 2))
targets = tf.reduce_sum(inputs, axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""

PROGRAMS = [
    Safe(
        "GPU308",
        """
import json
import tensorflow as tf

weights = tf.Variable(tf.range(4.0))
seen = []
for x in tf.data.Dataset.from_tensor_slices(tf.random.stateless_normal((64, 4), seed=(1, 2))):
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(x * weights) ** 2
    gradient = tape.gradient(loss, weights)
    weights.assign_sub(0.001 * gradient)
    seen.append(float(loss))
print(json.dumps([seen, weights.numpy().tolist()]))
""",
    ),
    Safe(
        "GPU402",
        TRAINING
        + """
options = tf.data.Options()
options.experimental_optimization.inject_prefetch = False
data = tf.data.Dataset.from_tensor_slices((inputs, targets)).with_options(options)
data = data.map(lambda x, y: (tf.tanh(x), y), num_parallel_calls=tf.data.AUTOTUNE).shuffle(256, seed=3).batch(32)
history = model.fit(data, epochs=3, verbose=0)
print(json.dumps(history.history["loss"]))
""",
    ),
    Safe(
        "GPU402",
        TRAINING
        + """
options = tf.data.Options()
options.experimental_optimization.map_parallelization = False


def prepare(x, y):
    x = tf.clip_by_value(x, -2.0, 2.0)
    x = x - tf.reduce_mean(x)
    x = tf.tanh(x) * 2.0
    return tf.abs(x) + 1.0, y


data = tf.data.Dataset.from_tensor_slices((inputs, targets)).with_options(options).map(prepare).batch(32)
history = model.fit(data, epochs=3, verbose=0)
print(json.dumps(history.history["loss"]))
""",
    ),
    Safe(
        "GPU002",
        """
import json
import tensorflow as tf

x = tf.range(3)  # gpulint: ignore[GPU101] nothing
print(json.dumps(x.numpy().tolist()))
""",
    ),
]

RAISING = [
    ("GPU103", 'import tensorflow as tf\n\nwith tf.device("cpu0"):\n    print("[1]", tf.zeros(4).device)\n'),
    ("GPU304", 'import os\nimport tensorflow as tf\n\nos.environ["CUDA_VISIBLE_DEVICES"] = 0\nprint("[1]")\n'),
    (
        "GPU901",
        "import tensorflow as tf\n\n"
        'tf.keras.mixed_precision.experimental.set_policy("mixed_float16")\n'
        'print("[1]", tf.keras.mixed_precision.global_policy().name)\n',
    ),
]


def performed(stage: Stage, text: str, path: Path, claim: Claim) -> Performance:
    path.write_text(text, encoding="utf-8")
    return stage.perform(path, claim)


def numbers(performance: Performance) -> list[float]:
    assert performance.raised is None, performance.stderr[-3000:]
    found: list[float] = []

    def collect(value: object) -> None:
        if isinstance(value, list):
            for part in value:
                collect(part)
        else:
            found.append(float(str(value)))

    collect(json.loads(performance.stdout.splitlines()[-1]))
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.code)
def test_after_a_safe_fix_a_program_computes_the_same(program: Safe, stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(program.text, encoding="utf-8")
    outcome = fixed([path], unsafe=False)
    assert [one.code for one in outcome.fixed] == [program.code]
    before = numbers(performed(stage, program.text, tmp_path / "before.py", Claim(devices=2, ok=True)))
    after = numbers(performed(stage, outcome.after[str(path)].text, tmp_path / "after.py", Claim(devices=2, ok=True)))
    assert after == before


@pytest.mark.parametrize(("code", "text"), RAISING, ids=[code for code, _ in RAISING])
def test_after_a_safe_fix_a_program_that_raised_runs(code: str, text: str, stage: Stage, tmp_path: Path) -> None:
    after = fixed_text(text, tmp_path, unsafe=False, select=(code,))
    assert performed(stage, text, tmp_path / "before.py", Claim(devices=2, ok=True)).raised is not None
    performance = performed(stage, after, tmp_path / "after.py", Claim(devices=2, ok=True))
    assert performance.raised is None and "[1]" in performance.stdout


NOT_RUN = frozenset({"GPU702", "GPU704"})
"""These need workers that the test does not have."""


@pytest.mark.parametrize("rule", [rule for rule in FIXING if rule.code not in NOT_RUN], ids=lambda rule: rule.code)
def test_a_fixed_example_runs(rule: type, stage: Stage, tmp_path: Path) -> None:
    text = fixed_text(textwrap.dedent(example(rule)), tmp_path)
    claim = Claim(gpus=2, ok=True) if rule.code.startswith("GPU30") else Claim(devices=2, ok=True)
    text = text.replace("range(20)", "range(2)")  # two trials of GPU305 show what twenty show, in a tenth of the time
    performance = performed(stage, text, tmp_path / "after.py", claim)
    assert performance.raised is None, f"{text}\n{performance.stderr[-3000:]}"


def test_a_model_that_was_brought_into_the_scope_trains_on_all_devices(stage: Stage, tmp_path: Path) -> None:
    text = (
        "import tensorflow as tf\n\n"
        "strategy = tf.distribute.MirroredStrategy()\n"
        "inputs = tf.keras.Input((4,))\n"
        "hidden = tf.keras.layers.Dense(8)(inputs)\n"
        "model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden))\n"
        'model.compile("sgd", "mse")\n'
        "model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), batch_size=8 * strategy.num_replicas_in_sync, verbose=0)\n"
        "with strategy.scope():\n    pass\n"
    )
    claim = Claim(devices=2, ok=True, busy=0)
    before = performed(stage, text, tmp_path / "before.py", claim)
    after = performed(stage, fixed_text(text, tmp_path, select=("GPU2",)), tmp_path / "after.py", claim)
    assert (before.raised, after.raised) == (None, None), after.stderr[-3000:]
    assert (len(before.busy), len(after.busy)) == (1, 2)
