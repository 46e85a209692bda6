"""What the analysis process does between the server's calls."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpulint.linting.deep_stack import collecting_seldom
from gpulint.server.analyst import FILES_BETWEEN_COLLECTIONS, Analyst, Order, Scope
from gpulint.server.buffers import Buffer, Document, Snapshot
from gpulint.server.folders import Folders
from gpulint.server.options import Options
from gpulint.settings import SettingsFinder
from tests.server.programs import PINNED


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The generations of the garbage collections since the test began."""
    seen: list[int] = []

    def note(phase: str, about: dict[str, Any]) -> None:
        if phase == "stop":
            seen.append(about["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)


def test_garbage_is_collected_while_nobody_waits(tmp_path: Path, collections: list[int]) -> None:
    begun: list[str] = []
    folders = Folders(SettingsFinder(isolated=True), False, (), Options())
    analyst = Analyst(folders, lambda path, limits: begun.append(path))
    path = str(tmp_path / "a.py")

    def edit(number: int) -> None:
        document = Document(Path(path).as_uri(), number, f"{PINNED}# {number}\n")
        snapshot = Snapshot(number, {path: Buffer(document.uri, path, (document,))})
        found = analyst.check(Order(snapshot, Scope.FILE, (path,)))
        assert [one.code for one in found.findings[Scope.FILE][path]] == ["GPU101"]

    with collecting_seldom():
        collections.clear()
        while len(begun) < FILES_BETWEEN_COLLECTIONS:
            analyst.tidy()
            edit(len(begun))
            assert 2 not in collections
        analyst.tidy()
        analyst.tidy()
    assert collections.count(2) == 1
