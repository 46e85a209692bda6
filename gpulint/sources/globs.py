"""Glob patterns in git's syntax. Matching never backtracks, as patterns come from the checked repository."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import count

MAX_WEIGHT = 10_000
"""Maximum total `Globs.weight` that a path is matched against."""

TOO_HEAVY = f"patterns with wildcards have more than {MAX_WEIGHT:,} characters"


class Globs:
    """Patterns as in a .gitignore, one per line: comments, `!`, `**`, `[a-z]`; the last match decides.

    Paths are relative to the folder of the patterns, with "/" between names and after a folder. A match takes at most
    `weight` × (length of the path) steps. `weight` counts the characters of patterns that need matching: those with
    wildcards other than a `*` before an extension.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._numbers: dict[str, list[int]] = {}
        self._lengths: dict[int, None] = {}
        self._wild: list[tuple[int, str]] = []
        self._negated: set[int] = set()
        self._covered = {"": False}
        self._latest: tuple[str, list[_Test]] | None = None
        for number, line in enumerate(lines):
            pattern = _trimmed(line)
            if pattern.startswith("#"):
                continue
            if pattern.startswith("!"):
                pattern = pattern[1:]
                self._negated.add(number)
            if "/" in pattern[:-1]:
                pattern = pattern if pattern.startswith("/") else f"/{pattern}"
            bare = pattern.removesuffix("/")
            if not bare:
                continue
            if _PLAIN.fullmatch(bare):
                self._numbers.setdefault(pattern, []).append(number)
            elif bare[0] == "*" and bare != "*" and _PLAIN.fullmatch(bare, 1):
                self._numbers.setdefault(pattern, []).append(number)
                self._lengths[len(bare) - 1] = None
            else:
                self._wild.append((number, pattern))
        self.weight = sum(len(pattern) for _, pattern in self._wild)

    def verdict(self, path: str) -> bool | None:
        """Result of the last pattern that matches a path itself: False for one with `!`, None if there is none."""
        number = max((numbers[-1] for numbers in self._found(path)), default=None)
        return None if number is None else number not in self._negated

    def covers(self, path: str) -> bool:
        """Whether a path or a folder above it matches. As in git, `!` cannot re-include a path below such a folder."""
        passed = []
        while path not in self._covered:
            passed.append(path)
            path = path[: path.rfind("/", 0, -1) + 1]
        is_covered = self._covered[path]
        for path in reversed(passed):
            is_covered = self._covered[path] = is_covered or self.verdict(path) is True
        return is_covered

    def matching(self, path: str) -> set[int]:
        """Indices of the patterns without `!` that match a path or a folder above it."""
        found = (numbers for part in _from_the_top(path) for numbers in self._found(part))
        return set().union(*found) - self._negated

    def _found(self, path: str) -> Iterator[list[int]]:
        """Ascending indices of patterns that match a path itself, in several lists."""
        is_folder = path.endswith("/")
        bare = "/" + (path[:-1] if is_folder else path)
        folder, _, name = bare.rpartition("/")
        keys = [name, bare]
        keys += ["*" + name[-length:] for length in self._lengths if length <= len(name)]
        if is_folder:
            keys += [key + "/" for key in keys]
        for key in keys:
            if key in self._numbers:
                yield self._numbers[key]
        if self._wild:
            for number, is_for_folders, matches in self._in(folder):
                if (is_folder or not is_for_folders) and matches(name):
                    yield [number]

    def _in(self, folder: str) -> list[_Test]:
        """The tests of names in a folder, cached for the next name."""
        if self._latest is None or self._latest[0] != folder:
            self._latest = folder, [test for is_here, test in self._tests if is_here is None or is_here(folder)]
        return self._latest[1]

    @cached_property
    def _tests(self) -> list[tuple[_Matches | None, _Test]]:
        found: list[tuple[_Matches | None, _Test]] = []
        for number, pattern in self._wild:
            bare = pattern.removesuffix("/")
            if (tokens := _tokens(bare)) is not None:
                *folders, name = _split(tokens, "/")
                if folders and name == ["**"]:
                    folders, name = [*folders, name], ["*"]
                is_here = _compiled(_of_path(folders[1:])) if folders else None
                found.append((is_here, (number, pattern != bare, _compiled(_of_name(name, count())))))
        return found


_Matches = Callable[[str], object]
_Test = tuple[int, bool, _Matches]
"""Index of a pattern, whether it matches folders only, and its expression for names."""

_PLAIN = re.compile(r"[^*?\[\\]*")


def _trimmed(line: str) -> str:
    """A line without trailing blanks, except one escaped by a backslash."""
    text = line.rstrip(" ")
    escapes = len(text) - len(text.rstrip("\\"))
    return line[: len(text) + escapes % 2]


def _from_the_top(path: str) -> Iterator[str]:
    end = 0
    while end < len(path):
        end = path.find("/", end) + 1 or len(path)
        yield path[:end]


def _compiled(expression: str) -> _Matches:
    return re.compile(expression + r"\Z", re.DOTALL).match


def _of_path(names: list[list[str]]) -> str:
    """Regular expression for the path of a folder, with "/" before each name, from tokens."""
    groups = count()
    runs = [""]
    for name in names:
        if name == ["**"]:
            runs.append("")
        else:
            runs[-1] += "/" + _of_name(name, groups)
    first, *others = runs
    middle = "".join(_atomic(f".*?{run}(?=/|\\Z)", groups) for run in others[:-1] if run)
    return first + (f"(?=/|\\Z){middle}.*{others[-1]}" if others else "")


def _of_name(tokens: list[str], groups: Iterator[int]) -> str:
    first, *others = ("".join(piece) for piece in _split(tokens, "*", "**"))
    middle = "".join(_atomic("[^/]*?" + piece, groups) for piece in others[:-1] if piece)
    return first + (f"{middle}[^/]*{others[-1]}" if others else "")


def _atomic(expression: str, groups: Iterator[int]) -> str:
    """An atomic group, which never backtracks; before Python 3.11 emulated by a named look-ahead."""
    name = f"g{next(groups)}"
    return f"(?=(?P<{name}>{expression}))(?P={name})"


def _split(tokens: list[str], *separators: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token in separators:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _tokens(pattern: str) -> list[str] | None:
    """Tokens of a pattern: "/", "*", "**", or the expression of one character. None if it is incomplete."""
    tokens: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if character == "*":
            if tokens and tokens[-1] in ("*", "**"):
                tokens[-1] = "**"
            else:
                tokens.append("*")
        elif character == "?":
            tokens.append("[^/]")
        elif character == "[":
            if (found := _set(pattern, position)) is None:
                return None
            expression, position = found
            tokens.append(expression)
        elif character == "\\":
            if position == len(pattern):
                return None
            tokens.append(re.escape(pattern[position]))
            position += 1
        else:
            tokens.append(re.escape(character))
    return tokens


_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": r" \t", "cntrl": r"\0-\x1f\x7f", "digit": "0-9", "graph": "!-~",
    "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r" \t\n\r", "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip

_MEMBER = re.compile(r"(\\.|[^\\])(?:-(\\.|[^\\\]]))?", re.DOTALL)
"""A character or range in a set; each end can be escaped by a backslash."""


def _set(pattern: str, position: int) -> tuple[str, int] | None:
    """Expression and end of the set whose "[" is just before a position, None if it is not closed."""
    inverse = "^" if pattern[position : position + 1] in ("!", "^") else ""
    position += len(inverse)
    members = ""
    while not members or pattern[position : position + 1] != "]":
        end = pattern.find("]", position + 2) if pattern.startswith("[:", position) else 0
        if end > position + 2 and pattern[end - 1] == ":":
            if (characters := _CLASSES.get(pattern[position + 2 : end - 1])) is None:
                return None
            members += characters
            position = end + 1
        elif member := _MEMBER.match(pattern, position):
            low, high = (re.escape(part[-1]) if part else "" for part in member.groups())
            members += low
            if high and low[-1] <= high[-1]:
                members += f"{low}-{high}"
            position = member.end()
        else:
            return None
    return (f"[^/{members}]" if inverse else f"(?!/)[{members}]"), position + 1
