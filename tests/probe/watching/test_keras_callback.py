"""`gpulint.KerasCallback` in a real `fit`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probe.watching.in_process import DEVICES, said

pytestmark = pytest.mark.tensorflow

FIT = (
    DEVICES
    + """
import gc
import warnings
import numpy as np

def model():
    made = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8)])
    made.compile("sgd", "mse")
    return made

def fit(callback, made=None):
    data = np.ones((64, 4), "float32"), np.ones((64, 8), "float32")
    (made or model()).fit(*data, batch_size=8, epochs=2, verbose=0, callbacks=[callback])

WANTED = ["steps == 16", "ops.on_cpu == 100%"]
"""
)


def test_a_fit_is_watched_and_reported_on(tmp_path: Path) -> None:
    text = (
        FIT
        + """
printed = []
callback = gpulint.KerasCallback(WANTED, report=printed.append)
made = model()
fit(callback, made)
first = [[one.subject, one.status.value] for one in callback.run.expectations if one.id == "expect"]
fit(callback, made)
second = [[one.subject, one.status.value] for one in callback.run.expectations if one.id == "expect"]
print(json.dumps([first, second, len(printed), printed[0], gpulint.expect.is_probed(), callback.run.capture.faults]))
"""
    )
    first, second, reports, report, probed, faults = said(tmp_path, text)
    assert first == [["steps", "pass"], ["ops.on_cpu", "pass"]]
    assert second == [["steps", "inconclusive"], ["ops.on_cpu", "inconclusive"]]  # it was traced before
    assert reports == 2
    assert "16 steps" in report
    assert not probed
    assert faults == []


def test_what_is_broken_warns_or_raises_as_asked(tmp_path: Path) -> None:
    text = (
        FIT
        + """
found = []
for on_violation in ("report", "warn", "raise"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit(gpulint.KerasCallback(["steps <= 3"], on_violation=on_violation, report=None))
            ended = "well"
        except gpulint.Broken as error:
            ended = str(error)
        found.append([ended, [str(one.message) for one in caught if "gpulint" in str(one.message)]])
try:
    gpulint.KerasCallback(on_violation="loud")
except ValueError as error:
    found.append(str(error))
print(json.dumps(found))
"""
    )
    broken = "fail: steps: expected <= 3, observed 16"
    assert said(tmp_path, text) == [
        ["well", []],
        ["well", [f"gpulint: {broken}"]],
        [broken, []],
        'on_violation is "report", "warn" or "raise", not \'loud\'',
    ]


def test_a_fit_that_raises_leaves_nothing_behind(tmp_path: Path) -> None:
    text = (
        FIT
        + """
class Fails(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        raise KeyError("mine")

callback = gpulint.KerasCallback(report=None)
data = np.ones((64, 4), "float32"), np.ones((64, 8), "float32")
try:
    model().fit(*data, verbose=0, callbacks=[callback, Fails()])
except KeyError as error:
    raised = str(error)
during = gpulint.expect.is_probed()
callback.stop()
stopped = gpulint.expect.is_probed()
try:
    model().fit(*data, verbose=0, callbacks=[gpulint.KerasCallback(report=None), Fails()])
except KeyError:
    pass
gc.collect()
print(json.dumps([raised, during, stopped, gpulint.expect.is_probed(), len(callback.run.capture.functions)]))
"""
    )
    assert said(tmp_path, text) == ["'mine'", True, False, False, 1]
