"""Removed names (GPU901), and objects, conditions and releases to which they do not apply."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import gpulint
from tests.checking import codes_of, findings_in
from tests.fixing.fixing import fixed_text

SLOTS = """
import tensorflow as tf


def summing(base):
    class Summing(base):
        def _create_slots(self, variables):
            for one in variables:
                self.add_slot(one, "sum")

    return Summing


Sums = summing({base})
Sums(learning_rate=0.1)._create_slots([tf.Variable(1.0)])
"""


@pytest.mark.parametrize(
    ("base", "expected"),
    [("tf.keras.optimizers.legacy.SGD", set()), ("tf.keras.optimizers.SGD", {"GPU901"})],
)
def test_slots_of_optimizers_of_two_kinds(base: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gpulint]\ntarget-tensorflow = "2.15"\n', encoding="utf-8")
    (tmp_path / "program.py").write_text(SLOTS.format(base=base), encoding="utf-8")
    assert codes_of(gpulint.check_paths([tmp_path])) == expected


VARIABLES = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
optimizer = tf.keras.optimizers.Adam()
"""


def test_parentheses_after_a_property_are_left_out(tmp_path: Path) -> None:
    program = VARIABLES + "state = [one.name for one in optimizer.variables()]\n"
    assert {finding.code for finding in findings_in(program, tmp_path)} == {"GPU901"}
    assert fixed_text(textwrap.dedent(program), tmp_path) == program.replace("variables()", "variables")


@pytest.mark.parametrize(
    ("use", "remedy"),
    [
        ("tf.keras.metrics.Mean().reset_states()", "use `reset_state`"),
        ("tf.distribute.MirroredStrategy().experimental_run_v2(print)", "use `run`"),
    ],
)
def test_the_help_names_what_to_use(use: str, remedy: str, tmp_path: Path) -> None:
    (finding,) = findings_in(f"{VARIABLES}x = y = tf.zeros((4, 4))\n{use}\n", tmp_path)
    assert (finding.code, finding.instead) == ("GPU901", remedy)
