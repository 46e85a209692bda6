"""Findings in programs that exceed a limit of the analysis, here a tenth of the real one, so that they are short."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.analysis import Project, analyse
from gpulint.sources.source import Source
from tests.analysis import budgets
from tests.checking import PACK, codes_in


@pytest.fixture(autouse=True)
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets.shrink(monkeypatch)


MODEL = """
import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")


def trained():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)))


def work(scale):
{head}{long}{tail}

def main(scale):
{before}    work(scale)
    {after}


main(2)
"""


LONG = [f"    table = [{', '.join(f'scale + {row * number}' for number in range(30))}]\n" for row in range(36)]
"""Code beyond the bounds of the analysis, some of it before the function in which it stops."""


def program(head: str, tail: str, after: str, *, is_long: bool) -> str:
    before, long = ("".join(LONG[:3]), "".join(LONG)) if is_long else ("", "    table = [scale]\n")
    return MODEL.format(head=head, tail=tail, long=long, before=before, after=after)


@pytest.mark.parametrize("is_long", [False, True])
def test_only_the_long_program_exceeds_the_limit(is_long: bool) -> None:
    text = program("", "", "trained()", is_long=is_long)
    source = Source("program.py", text.encode(), text, "utf-8")
    plan = analyse(source, Project([], lambda path: None), "2.21")
    assert any(bound == "steps" for bound, _ in plan.bounds) is is_long


EAGER = "    tf.config.run_functions_eagerly({})\n"
NUMERICS = "    tf.debugging.{}_check_numerics()\n"
PROFILE = "    tf.profiler.experimental.{}\n"


@pytest.mark.parametrize(
    ("code", "head", "tail"),
    [
        ("GPU506", EAGER.format(True), EAGER.format(False)),
        ("GPU506", NUMERICS.format("enable"), NUMERICS.format("disable")),
        ("GPU506", PROFILE.format("start('logs')"), PROFILE.format("stop()")),
    ],
)
@pytest.mark.parametrize("is_long", [False, True])
def test_what_is_undone_beyond_the_limit(code: str, head: str, tail: str, is_long: bool, tmp_path: Path) -> None:
    assert code not in codes_in(program(head, tail, "trained()", is_long=is_long), tmp_path)


@pytest.mark.parametrize(
    ("code", "head"), [("GPU506", EAGER.format(True)), ("GPU506", NUMERICS.format("enable"))], ids=["eager", "numerics"]
)
@pytest.mark.parametrize("is_long", [False, True])
def test_what_nothing_in_the_text_undoes(code: str, head: str, is_long: bool, tmp_path: Path) -> None:
    assert code in codes_in(program(head, "", "trained()", is_long=is_long), tmp_path)


GROW = "    tf.config.experimental.set_memory_growth(gpus[{}], True)\n"


@pytest.mark.parametrize(
    ("is_long", "tail", "expected"),
    [(True, GROW.format(1), set()), (False, GROW.format(1), set()), (False, "", {"GPU303"}), (True, "", {"GPU303"})],
)
def test_growth_of_other_gpus_beyond_the_limit(is_long: bool, tail: str, expected: set[str], tmp_path: Path) -> None:
    found = codes_in(program(GROW.format(0), tail, "trained()", is_long=is_long), tmp_path)
    assert found & {"GPU303"} == expected


KEEPS = """
    weight, optimizer, history = tf.Variable(tf.ones((4,))), tf.keras.optimizers.SGD(), []
    for x in tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).repeat():
        with tf.GradientTape() as tape:
            outputs = x * weight
            loss = tf.reduce_sum(outputs)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
        history.append(outputs)
        work(history)
"""


SEARCHES = """
    for trial in range(20):
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8 * (trial + 1))])
        model.compile("sgd", "mse")
        model.fit(tf.zeros((640, 4)), tf.zeros((640, 8 * (trial + 1))))
        work(trial)
"""


@pytest.mark.parametrize(
    ("code", "after", "tail"),
    [("GPU307", KEEPS, "    scale.clear()\n"), ("GPU305", SEARCHES, "    tf.keras.backend.clear_session()\n")],
)
@pytest.mark.parametrize(("is_long", "says"), [(False, False), (True, False), (False, True), (True, True)])
def test_memory_that_may_be_freed_beyond_the_limit(
    code: str, after: str, tail: str, is_long: bool, says: bool, tmp_path: Path
) -> None:
    assert (code in codes_in(program("", "" if says else tail, after, is_long=is_long), tmp_path)) is says


def test_an_environment_variable_in_a_comment_hides_nothing(tmp_path: Path) -> None:
    text = program(GROW.format(0), "    # CUDA_VISIBLE_DEVICES says which GPUs there are\n", "trained()", is_long=True)
    assert "GPU303" in codes_in(text, tmp_path)


DEEP = """
import contextlib

import tensorflow as tf


def scope_for(several):
    return tf.distribute.MirroredStrategy().scope() if several else contextlib.nullcontext()


{steps}
def step{last}(scope):
    {entered}
        return tf.Variable(1.0)


step0(scope_for(True))
"""


@pytest.mark.parametrize(
    ("calls", "entered", "expected"),
    [(3, "with scope:", set()), (40, "with scope:", set()), (3, "if scope:", {"GPU203"}), (40, "if scope:", set())],
)
def test_a_scope_entered_deeper_than_calls_are_followed(
    calls: int, entered: str, expected: set[str], tmp_path: Path
) -> None:
    steps = "".join(f"def step{one}(scope):\n    return step{one + 1}(scope)\n\n\n" for one in range(calls))
    text = DEEP.format(steps=steps, last=calls, entered=entered)
    assert codes_in(text, tmp_path) & {"GPU203"} == expected


LARGE = """
import sys

import tensorflow as tf

{branches}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    for i in range(1000):
        strategy.run(lambda: model(tf.zeros((4, 4))))
    total = 0
    for i in range(100000):
        for j in range(100000):
{sums}
"""


def test_the_branch_with_many_replicas_is_analysed_first(tmp_path: Path) -> None:
    sums = "\n".join(f"            total += abs(i * {number} - j) % max(i, {number})" for number in range(120))
    branches = (
        'if "--one" in sys.argv:\n    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")\n'
        "else:\n    strategy = tf.distribute.MirroredStrategy()"
    )
    assert codes_in(LARGE.format(branches=branches, sums=sums), tmp_path) == {"GPU207"}


IMAGES = """
import numpy as np
import tensorflow as tf

images = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 8)))


class Images:
    def seed(self, number):
        self.rng = np.random.RandomState(number)

    def noisy(self, image):
        return image + self.rng.normal()

    def pipeline(self):
        return images.map(self.noisy)
"""


def test_a_method_is_run_for_what_another_one_assigns(tmp_path: Path) -> None:
    pack = [rule for rule in PACK if rule.code == "GPU510"]
    assert codes_in(IMAGES, tmp_path, pack) == {"GPU510"}


@pytest.mark.parametrize(
    "table",
    [f"[{', '.join(map(str, range(12_000)))}]", f"{{{', '.join(f'{key}: 0.5' for key in range(6_000))}}}"],
    ids=["list", "dict"],
)
def test_code_behind_a_table_of_numbers_is_analysed(tmp_path: Path, table: str) -> None:
    text = f"import tensorflow as tf\n\nTABLE = {table}\n\nwith tf.device('/gpu:0'):\n    print(tf.zeros(4))\n"
    assert codes_in(text, tmp_path) == {"GPU101"}
