"""What tests of several folders share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

from tests.claims import runner


@pytest.fixture(scope="session", autouse=True)
def home_of_the_user() -> Iterator[None]:
    """The user's own cache and configuration directories, empty ones: the tests leave the real ones alone."""
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", os.path.join(directory, "cache"))
        patch.setenv("XDG_CONFIG_HOME", os.path.join(directory, "config"))
        yield


@pytest.fixture(scope="session")
def stage() -> Iterator[runner.Stage]:
    """A process that has TensorFlow and runs programs."""
    with runner.stage() as made:
        yield made
