"""The estimate as a page."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

from gpulint.estimate.report import page
from tests.estimate.report.made import estimate
from tests.probe.report.browser import chromium, opened

HOSTILE = '"><img src=x onerror="window.boom=1"></script><script>window.boom=1</script>`{{7*7}}`'


def test_it_has_a_section_for_each_question() -> None:
    text = page.render(estimate(), "train.py")
    assert "<title>gpulint estimate: train.py</title>" in text
    assert re.findall(r"<h2[^>]*>(\w+)</h2>", text) == ["Summary", "Memory", "Time", "Method"]
    assert "The step fits on H200; it does not fit on memory=8GiB." in text


def test_the_curve_keeps_the_peak() -> None:
    text = page.render(estimate())
    reads = json.loads(re.search(r"data-reads=\"([^\"]+)\"", text)[1].replace("&quot;", '"'))  # type: ignore[index]
    assert len(reads) == page.MOST_POINTS
    assert reads[-1] == [1000.0, "operation 951, MatMul (train.py:10): 9.5 GiB"]


def test_the_raw_data_can_be_downloaded() -> None:
    found = re.search(r"data:application/json;base64,([\w+/=]+)", page.render(estimate()))
    assert found is not None
    assert json.loads(base64.b64decode(found[1]))["gpus"][0]["name"] == "H200"


def test_an_unknown_memory_is_reported() -> None:
    assert "The memory is unknown." in page.render(estimate(with_memory=False))


def test_a_browser_shows_it_and_runs_nothing_of_it(tmp_path: Path) -> None:
    made = estimate()
    hostile = replace(made, step=replace(made.step, name=HOSTILE), method=(HOSTILE,))
    path = tmp_path / "page.html"
    path.write_text(page.render(hostile, HOSTILE), encoding="utf-8")
    with chromium() as browser, opened(browser, path) as seen:
        assert seen.page.evaluate("window.boom") is None
        assert "fits on H200" in seen.page.inner_text("h1")
        assert (seen.complaints, seen.requests) == ([], [])
