"""The progress of a long check on a terminal."""

from __future__ import annotations

import io

import pytest

from gpulint.cli.progress import Progress, is_terminal


def test_a_line_is_rewritten_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, 1.0, 2.0, 2.0, 2.1, 2.3, 2.3, 2.6, 2.6))
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    stream = io.StringIO()
    progress = Progress(stream)
    progress(1, 9)
    assert stream.getvalue() == ""
    for done in (3, 4, 0, 5):
        progress(done, 9)
    progress(9, 9)
    progress(9, 9)
    lines = [f"gpulint: {done} of 9 files analysed" for done in (3, 3, 5)]
    assert stream.getvalue().split("\r\x1b[K") == ["", *lines, ""]


def test_a_check_that_ends_early_shows_nothing() -> None:
    stream = io.StringIO()
    Progress(stream)(9, 9)
    assert stream.getvalue() == "" and not is_terminal(stream)
