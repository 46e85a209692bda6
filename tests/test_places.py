"""Where tests write: folders of pytest, which are set before the first module of tests is imported."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

COPY = {**os.environ}
"""The environment as a module of tests may copy it for its programs."""


@pytest.mark.parametrize("name", ["TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"])
def test_a_copy_of_the_environment_has_the_folders_of_the_session(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert Path(COPY[name]).parent == tmp_path_factory.getbasetemp()


def test_temporary_files_are_in_the_folder_of_the_session() -> None:
    assert tempfile.gettempdir() == COPY["TMPDIR"]
