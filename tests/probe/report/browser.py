"""A page in a real browser, with everything that went wrong in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Opened:
    """An open page. `complaints`: its console messages, errors and dialogs; `requests`: what it loaded besides
    itself."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium. Skips the test if this machine has none."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        found = next(filter(None, map(shutil.which, _NAMES)), driver.chromium.executable_path)
        if not os.path.exists(found):
            pytest.skip("no Chromium here")
        browser = driver.chromium.launch(executable_path=found, args=list(_OPTIONS))
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, path: Path, *, width: int = 1280, **options: Any) -> Iterator[Opened]:
    """A file in a new window."""
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    page = context.new_page()
    seen = Opened(page)
    address = path.as_uri()

    def dismissed(dialog: Any) -> None:
        seen.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def requested(request: Any) -> None:
        if request.url.partition("#")[0] != address:
            seen.requests.append(request.url)

    page.on("console", lambda message: seen.complaints.append(message.text))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("dialog", dismissed)
    page.on("request", requested)
    page.goto(address)
    yield seen
    context.close()
