"""Forks of a program after TensorFlow's runtime was initialised."""

from __future__ import annotations

import pytest

from gpulint.probe.expectations.expectation import Status
from tests.simulation.conftest import Rehearse

pytestmark = pytest.mark.tensorflow

PROGRAM = """
import multiprocessing, subprocess, sys

import tensorflow as tf


def work(number):
    return number


forking = multiprocessing.get_context("fork")
with forking.Pool(2) as pool:
    pool.map(work, range(4))
tf.ones(3)
process = forking.Process(target=work, args=(1,))
process.start()  # forks
process.join()
subprocess.run([sys.executable, "-c", ""], check=True)
"""


def test_only_forks_after_the_start_of_the_runtime_are_warned_of(rehearse: Rehearse) -> None:
    run = rehearse(PROGRAM, 1)
    (one,) = [one for one in run.expectations() if one.id == "forks"]
    assert (one.status, one.observed) == (Status.WARN, "1 fork here")
    assert one.where is not None and "# forks" in PROGRAM.split("\n")[one.where.row - 1]
    assert any(what == "other processes" for what, _ in run.capture.lost)
