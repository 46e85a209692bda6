"""Shares of the replicas in the batches of `fit`, from the length of the data."""

from __future__ import annotations

import numpy as np
import pytest

from gpulint.probe.agent.shares import of_arrays, shared


@pytest.mark.parametrize(
    ("size", "replicas", "parts"),
    [(64, 2, (32, 32)), (10, 4, (3, 3, 3, 1)), (4, 3, (2, 2, 0)), (1, 3, (1, 0, 0))],
)
def test_parts_have_one_size_rounded_up_until_nothing_is_left(size: int, replicas: int, parts: tuple[int, ...]) -> None:
    assert shared(size, replicas) == parts


def test_arrays_are_cut_into_batches_of_which_the_last_may_be_smaller() -> None:
    x = np.zeros((46, 3))
    assert of_arrays(x, 9, 3) == {(3, 3, 3): 5, (1, 0, 0): 1}
    assert of_arrays({"left": [x, x]}, None, 2) == {(16, 16): 1, (7, 7): 1}  # the batch of Keras is 32
    assert of_arrays((x,), 50, 2) == {(23, 23): 1}
    assert not of_arrays([], 9, 3)
    assert not of_arrays(3.0, 9, 3)
