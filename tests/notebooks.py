"""Notebooks for tests."""

from __future__ import annotations

import json
from typing import Any

from tests.programs import FIXTURES

NOTEBOOKS = sorted((FIXTURES / "notebooks").glob("*.ipynb"))
"""The fixture notebooks."""

PYTHON = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def notebook(*cells: str, metadata: dict[str, Any] | None = None) -> str:
    """A notebook as Jupyter writes it, of code cells; a text that begins with `md:` is a Markdown cell."""
    found: list[dict[str, Any]] = []
    for text in cells:
        if text.startswith("md:"):
            found.append({"cell_type": "markdown", "metadata": {}, "source": text[3:].splitlines(True)})
        else:
            source = text.splitlines(True)
            found.append(
                {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
            )
    document = {"cells": found, "metadata": PYTHON if metadata is None else metadata}
    return json.dumps({**document, "nbformat": 4, "nbformat_minor": 4}, indent=1, ensure_ascii=False) + "\n"
