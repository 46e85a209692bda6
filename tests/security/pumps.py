"""Texts that make a regular expression backtrack, derived from the expression itself.

Run as a program, it searches all of gpulint's expressions in such texts: it ends in seconds if the time of each grows
in proportion to the text, and not in hours if that of one grows faster. That one is named in the last line printed.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_IS_OLD = sys.version_info < (3, 11)
parser: Any = importlib.import_module("sre_parse" if _IS_OLD else "re._parser")
op: Any = importlib.import_module("sre_constants" if _IS_OLD else "re._constants")

METHODS = "match|fullmatch|search|findall|finditer|sub|split"

APART = ("gpulint.__main__", "gpulint.doctor", "gpulint.probe")
"""Modules that read the output of programs rather than files of a project."""

SIZE = 3_000
"""Length of the texts that are tried, in characters."""
SUSPICIOUS = 0.0005
"""Seconds for such a text above which a longer one is tried; most take less than a tenth."""
LONG = 400_000
"""Length of the longer text, which takes minutes if the time is quadratic."""

COMMON = ("\n", " ", "\n ", " \n", "#", "'", '"', '\\"', "\\'", '\\"""\n', "\n\\'''", "(", "[", "{", "a", "1", "\\\n")
"""Texts for every expression."""


class Used(NamedTuple):
    """An expression, and the methods by which it is applied."""

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def modules() -> Iterator[ModuleType]:
    """All modules that read a project, including the rules."""
    for package in map(importlib.import_module, ("gpulint", "gpulint.rules")):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda name: None):
            if not found.name.startswith(APART):
                yield importlib.import_module(found.name)


def expressions() -> Iterator[Used]:
    """All regular expressions of modules and rules, including inline ones."""
    sources = {module: Path(str(module.__file__)).read_text(encoding="utf-8") for module in modules()}
    everywhere = "\n".join(sources.values())
    for module, source in sources.items():
        for name, value in vars(module).items():
            for pattern in value.values() if isinstance(value, dict) else (value,):
                if isinstance(pattern, re.Pattern):
                    applied = re.findall(rf"\b{name}\b[^.\n]*\.({METHODS})\b", source if name[0] == "_" else everywhere)
                    yield Used(f"{module.__name__}.{name}", pattern, frozenset(applied or ["search"]))
            itself = value.__dict__.get("itself") if isinstance(value, type) else None
            if isinstance(itself, str) and value.__module__ == module.__name__:
                yield Used(f"{module.__name__}.{name}.itself", re.compile(itself), frozenset({"search"}))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and re.fullmatch(rf"re\.({METHODS})", ast.unparse(node.func)):
                if isinstance(node.args[0], ast.Constant):
                    flags = [ast.unparse(one) for one in node.args if ast.unparse(one).startswith("re.")]
                    pattern = re.compile(node.args[0].value, eval("|".join(flags) or "0", {"re": re}))
                    method = ast.unparse(node.func).removeprefix("re.")
                    yield Used(f"{module.__name__}:{node.lineno}", pattern, frozenset({method}))


_CHARACTERS = [*map(chr, range(32, 127)), "\n", "\t", "\r", "é", "\x80", "\u2028", "\ud800"]
_FAVOURITES = "a10 \n#\\'\".,([{=-:_x\t\r"


class Writer:
    """Generates texts that parts of an expression match."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._chance = random.Random(0)
        text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self.tree = list(parser.parse(text, pattern.flags))

    def sequences(self, tree: Any, before: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
        """Each run of parts that are matched one after the other, at any depth, with what is matched before them."""
        yield before, list(tree)
        for index, (kind, value) in enumerate(tree):
            inner: list[Any] = []
            if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
                inner = [value[2]]
            elif kind in (op.SUBPATTERN, op.ASSERT, op.ASSERT_NOT):
                inner = [value[-1]]
            elif kind is op.BRANCH:
                inner = value[1]
            for one in inner:
                yield from self.sequences(one, [*before, *tree[:index]])

    def text(self, tree: Any) -> str:
        """A text that the parts match, as far as their surroundings allow."""
        return "".join(self._of(kind, value) for kind, value in tree)

    def _of(self, kind: Any, value: Any) -> str:
        if kind is op.LITERAL:
            return chr(value)
        if kind in (op.IN, op.NOT_LITERAL, op.ANY):
            return self._chance.choice(self._fitting(kind, value))
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, inner = value
            times = self._chance.choice([least, min(int(most), max(least, 1)), min(int(most), max(least, 3))])
            return "".join(self.text(inner) for _ in range(times))
        if kind is op.SUBPATTERN or (kind is op.ASSERT and value[0] > 0):
            return self.text(value[-1])
        return self.text(self._chance.choice(value[1])) if kind is op.BRANCH else ""

    def _fitting(self, kind: Any, value: Any) -> list[str]:
        if kind is op.IN:
            is_negated = value[0][0] is op.NEGATE
            found = [one for one in _CHARACTERS if any(map(_matches, value, [one] * len(value))) != is_negated]
            found = found or [chr(value[0][1] if value[0][0] is op.LITERAL else value[0][1][0])]
        else:
            found = [one for one in _CHARACTERS if kind is op.ANY or ord(one) != value]
        return [one for one in _FAVOURITES if one in found][:6] or found[:6]


def _matches(part: Any, character: str) -> bool:
    kind, value = part
    if kind is op.LITERAL:
        return ord(character) == int(value)
    if kind is op.RANGE:
        return int(value[0]) <= ord(character) <= int(value[1])
    if kind is op.CATEGORY:
        return re.match(_CATEGORIES[str(value).removeprefix("CATEGORY_")], character) is not None
    return False


_CATEGORIES = {"DIGIT": r"\d", "NOT_DIGIT": r"\D", "SPACE": r"\s", "NOT_SPACE": r"\S", "WORD": r"\w", "NOT_WORD": r"\W"}


def pumps(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """(beginning, what is repeated, end): repeated are texts for each few parts that follow each other, behind one for
    what stands before them, and before something that no part expects."""
    writer = Writer(pattern)
    found = {("", one): None for one in COMMON}
    for outer, sequence in writer.sequences(writer.tree, []):
        for first in range(len(sequence)):
            for last in range(first + 1, min(first + 7, len(sequence)) + 1):
                for _ in range(2):
                    before, repeated = writer.text([*outer, *sequence[:first]]), writer.text(sequence[first:last])
                    if 0 < len(repeated) <= 100:
                        whole = ("", before + repeated)
                        found |= dict.fromkeys([(before, repeated), whole, ("", repeated), ("", f"\n{repeated}")])
    for before, repeated in found:
        yield before, repeated, "\n\x00"
        yield before, repeated, ""


def seconds(used: Used, method: str, text: str) -> float:
    """Processor time of a method for a text."""
    subject: Any = text
    if isinstance(used.pattern.pattern, bytes):
        subject = text.encode("utf-8", "surrogatepass")
    apply = getattr(used.pattern, "findall" if method == "finditer" else method)
    start = time.process_time()
    _ = apply(subject[:0], subject) if method == "sub" else apply(subject)
    return time.process_time() - start


def main() -> None:
    for used in expressions():
        for method in sorted(used.methods):
            for before, repeated, end in pumps(used.pattern):
                text = before + repeated * (SIZE // len(repeated)) + end
                if all(seconds(used, method, text) > SUSPICIOUS for _ in range(2)):  # twice: anything can interrupt
                    print(f"{used.place}: {method} of {before!r} + {repeated!r} * n + {end!r}", flush=True)
                    seconds(used, method, before + repeated * (LONG // len(repeated)) + end)
    print("done")


if __name__ == "__main__":
    main()
