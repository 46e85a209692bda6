"""The files that describe a project: .gitignore, requirements, container files."""

from __future__ import annotations

from gpulint.sources.reading import read_file

MAX_DESCRIBED = 50_000_000
"""Maximum bytes of such files read in a run: thousands of names can be links to one file."""


class ProjectTexts:
    """Reads the files that describe a project. `notes` are the reasons why some were ignored, one line each."""

    def __init__(self) -> None:
        self._notes: dict[str, None] = {}
        self._read = 0

    @property
    def notes(self) -> list[str]:
        return list(self._notes)

    def note(self, line: str) -> None:
        self._notes[line] = None

    def text(self, path: str) -> str:
        """Text of a file, "" if it is missing or cannot be read."""
        if self._read > MAX_DESCRIBED:
            limit = f"only {MAX_DESCRIBED // 1_000_000} MB of project files are read"
            self.note(f"{limit}; the others are ignored")
            return ""
        try:
            data = read_file(path)
            self._read += len(data)
            return data.decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return ""
        except OSError as error:
            self.note(f"{path}: ignored: {error.strerror or error}")
            return ""
