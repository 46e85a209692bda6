"""Which files are analysed: those about TensorFlow, and programs that import such a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpulint.analysis import Project
from gpulint.analysis.project.module_names import imported_paths
from gpulint.analysis.project.tensorflow_imports import imports_tensorflow
from gpulint.linting.files import Files
from gpulint.sources.source import Source

MAX_ASKED = 24
"""Maximum number of files, imported by one that does not mention TensorFlow, whose imports are followed."""

_SET_IN_ENVIRONMENT = re.compile(rb"\b(?:TF_[A-Z]|CUDA_VISIBLE_DEVICES)")
"""Environment variables that TensorFlow reads."""

_MODEL = re.compile(rb"\bTF[A-Z][a-z]")
"""A class of `transformers` whose models are those of TensorFlow: `TFAutoModel`."""

_LIBRARY = re.compile(rb"tensorflow|keras|tf_|horovod|transformers", re.IGNORECASE)
"""Text that every file contains which imports TensorFlow or a package built on it."""

_CALLS = re.compile(rb"^(?:[\w.]+ *= *)?[\w.]+\(", re.MULTILINE)
"""A call in the body of a module."""


def runs_something(data: bytes) -> bool:
    """Whether a file can have code that trains with what it imports."""
    return b"__main__" in data or b"def " in data or _CALLS.search(data) is not None


def mentions_tensorflow(data: bytes) -> bool:
    """Whether a file mentions TensorFlow, Keras or a model of TensorFlow, or sets TensorFlow up."""
    lowered = data.lower()
    if b"tensorflow" in lowered or b"keras" in lowered or _sets_up(data):
        return True
    return b"transformers" in data and _MODEL.search(data) is not None


def _sets_up(data: bytes) -> bool:
    """Whether a file sets an environment variable that TensorFlow reads."""
    named = (b"TF_" in data or b"CUDA_" in data) and _SET_IN_ENVIRONMENT.search(data) is not None
    return named and any(word in data for word in (b"environ", b"putenv", b"%env", b"export"))


class Screen:
    """Decides for each file of a run; `project` gives the project of a file."""

    def __init__(self, files: Files, project: Callable[[str], Project]) -> None:
        self._files = files
        self._project = project
        self._supplies: dict[str, bool] = {}

    def is_relevant(self, source: Source) -> bool:
        return mentions_tensorflow(source.words) or self._uses_tensorflow(source)

    def uses(self, programs: Sequence[Source]) -> bool:
        """Whether one of a file's programs imports TensorFlow or a package built on it, or runs something and imports a
        file of the project that does."""
        return any(map(self._imports_it, programs)) or self._uses_tensorflow(programs[0])

    def _imports_it(self, source: Source) -> bool:
        """Whether a program imports TensorFlow or a package built on it. One that is not Python does if it mentions
        it."""
        if _LIBRARY.search(source.words) is None:
            return False
        outline = self._project(source.file).outline_of_source(source)
        return imports_tensorflow(outline) if outline is not None else mentions_tensorflow(source.words)

    def forget(self, path: str) -> None:
        self._supplies.pop(path, None)

    def _uses_tensorflow(self, source: Source) -> bool:
        """Whether a file runs something and imports, directly or not, a file that imports TensorFlow or sets it up:
        `main.py` and the trainers beside the modules of a model do."""
        if not runs_something(source.words):
            return False
        project = self._project(source.file)
        asked = [source.path]
        for path in asked:
            for imported in sorted(imported_paths(project, path).difference(asked)):
                if self._supplies_tensorflow(imported):
                    return True
                asked.append(imported)
            if len(asked) > MAX_ASKED:
                break
        return False

    def _supplies_tensorflow(self, path: str) -> bool:
        if path not in self._supplies:
            read = self._files.read(path)
            self._supplies[path] = read is not None and (_sets_up(read.words) or self._imports_it(read))
        return self._supplies[path]
