"""Writes the pages into a directory: python -m scripts.pages DIRECTORY"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.pages.gathered import gathered


def write(directory: Path) -> None:
    """All pages, and none that were there before."""
    wanted = {directory / path: text for path, text in gathered().items()}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(Path(sys.argv[1]))
