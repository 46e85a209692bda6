"""A first look at a file, ten times cheaper than parsing it with LibCST: is it Python, what does it import?"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from gpulint.sources.source import Source


class Imported(NamedTuple):
    """One import: `import module` has no names and level 0."""

    module: str
    level: int
    names: tuple[str, ...]


class Outline(NamedTuple):
    """What a first look shows. `imports` are those outside functions and classes."""

    data: bytes
    imports: tuple[Imported, ...]

    def mentions(self, words: frozenset[str]) -> bool:
        """Whether one of the words occurs as code may use it: an attribute, a call, an imported name."""
        return _uses(words).search(self.data) is not None


@lru_cache(maxsize=16)
def _uses(words: frozenset[str]) -> re.Pattern[bytes]:
    one = "|".join(sorted(words))
    return re.compile(
        rf"\.\s*(?:{one})\b|\b(?:{one})\s*\(|\bimport\b[^\n]*\b(?:{one})\b|^\s+(?:{one})\s*(?:,|$|as\b)".encode(), re.M
    )


def outline(source: Source) -> Outline | None:
    """The outline of a file; None where the running Python cannot parse it, which says little: LibCST decides."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Outline(source.data, tuple(_imports(tree.body)))


def _imports(body: list[ast.stmt]) -> Iterator[Imported]:
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield Imported(alias.name, 0, ())
        elif isinstance(statement, ast.ImportFrom):
            yield Imported(statement.module or "", statement.level, tuple(alias.name for alias in statement.names))
        elif isinstance(statement, (ast.If, ast.Try)):
            yield from _imports(statement.body)
            yield from _imports(statement.orelse)
            for handler in getattr(statement, "handlers", ()):
                yield from _imports(handler.body)
