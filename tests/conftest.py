"""What tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.claims import runner


@pytest.fixture(scope="session")
def stage() -> Iterator[runner.Stage]:
    """A process that has TensorFlow and runs programs."""
    with runner.stage() as made:
        yield made
