"""A finding is inferred if it shows places in several functions or files, or depends on a condition."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from gpulint.confidence import Confidence
from gpulint.settings import Settings
from tests.checking import findings_of

START = """import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
samples = np.zeros((640, 4), "float32")
"""
IN_MODULE = """
for x in samples:
    print(model.predict(x[np.newaxis]))
"""
IN_FUNCTION = """
def predict_all():
    for x in samples:
        print(model.predict(x[np.newaxis]))

predict_all()
"""
IN_CLOSURE = """
def predict_all():
    def direct(x):
        return model.predict(x[np.newaxis])

    for x in samples:
        print(direct(x))

predict_all()
"""
UNDER_A_CONDITION = """
if input():
    for x in samples:
        print(model.predict(x[np.newaxis]))
"""
ON_A_DECORATOR = """
for x in samples:
    @tf.function
    def scaled(x):
        return x * 2

    print(scaled(x))
"""


@pytest.mark.parametrize(
    ("code", "program", "expected"),
    [
        ("GPU503", IN_MODULE, Confidence.HIGH),
        ("GPU503", IN_FUNCTION, Confidence.HIGH),
        ("GPU503", IN_CLOSURE, Confidence.INFERRED),
        ("GPU503", UNDER_A_CONDITION, Confidence.INFERRED),
        ("GPU505", ON_A_DECORATOR, Confidence.HIGH),
    ],
)
def test_one_function_is_certain(code: str, program: str, expected: Confidence, tmp_path: Path) -> None:
    result = gpulint.check_source(START + program, str(tmp_path / "program.py"), Settings(root=str(tmp_path)))
    assert [(one.code, one.confidence) for one in findings_of(result) if one.code == code] == [(code, expected)]


def test_what_another_file_does_is_inferred(tmp_path: Path) -> None:
    (tmp_path / "direct.py").write_text("def direct(model, x):\n    return model.predict(x[None])\n")
    program = START + "from direct import direct\n\nfor x in samples:\n    print(direct(model, x))\n"
    (tmp_path / "program.py").write_text(program)
    found = gpulint.check_paths([str(tmp_path)], Settings(root=str(tmp_path))).findings
    assert [(Path(one.span.path).name, one.confidence) for one in found if one.code == "GPU503"] == [
        ("direct.py", Confidence.INFERRED)
    ]
