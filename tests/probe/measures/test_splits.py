"""How batches are divided among replicas. The sizes are those that TensorFlow 2.21 gave."""

from __future__ import annotations

import pytest

from gpulint.probe.measures.splits import divided, shares


@pytest.mark.parametrize(
    ("size", "sizes"),
    [(16, (4, 4, 4, 4)), (10, (3, 3, 3, 1)), (11, (3, 3, 3, 2)), (7, (2, 2, 2, 1)), (3, (1, 1, 1, 0))],
)
def test_replicas_are_filled_one_after_the_other(size: int, sizes: tuple[int, ...]) -> None:
    assert divided(size, 4) == sizes


def test_shares_in_words() -> None:
    assert shares((4, 4)) == "4 of 8 each"
    assert shares((4, 4, 2)) == "4, 4, 2 of 10"
