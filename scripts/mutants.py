"""Mutation test: changes one place of gpulint at a time, and runs the tests of its room. A change that they do not
notice is a survivor: a missing test, or a change without effect.

    python -m scripts.mutants --count 100 --seed 1 > mutants.md

Places are drawn from `gpulint` and `rules` by the seed. Each change is made in a copy of the repository. The tests of a
room are those of its folder, then those of programs through the whole analysis; a mutant is tested until one fails.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.util
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]

SOURCES = ("gpulint", "rules")

LONGEST = 60
"""Characters that are shown of a text."""

AROUND = 20
"""Characters that are shown before a difference, if the text before it is long."""

PROGRAMS = ("tests/test_mdtest.py", "tests/rules", "tests/test_rule_examples.py", "tests/test_messages.py")
"""Tests that analyse small programs."""

FIXTURES = ("tests/test_fixtures.py",)

ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "rules": (PROGRAMS, FIXTURES, ("tests/fixing",)),
    "gpulint/analysis": (("tests/analysis",), PROGRAMS, FIXTURES),
    "gpulint/knowledge": (("tests/knowledge",), PROGRAMS, FIXTURES),
    "gpulint/syntax": (("tests/syntax",), PROGRAMS),
    "gpulint/rewriting": (("tests/rewriting",), ("tests/fixing",)),
    "gpulint/linting": (("tests/linting",), ("tests/cli", "tests/test_library.py", "tests/security/test_trust.py")),
    "gpulint/plugin": (("tests/linting",), PROGRAMS),
    "gpulint/probe/agent": (
        ("tests/probe/agent", "tests/probe/measures"),
        ("tests/probe/watching", "tests/simulation"),
    ),
    "gpulint/probe/checks": (
        ("tests/probe/checks", "tests/probe/cluster"),
        ("tests/probe/report", "tests/cli/test_probe.py"),
    ),
    "gpulint/probe": (("tests/probe/{rest}",), ("tests/probe/report", "tests/cli/test_probe.py")),
    "gpulint": (("tests/{rest}",), ("tests/cli", "tests/test_library.py", "tests/test_discovery.py")),
}
"""Folder of sources → its tests, in the order in which they run. The longest folder that contains a module counts.
`{rest}` is the folder of the module below it; if no tests have that name, the nearest folder above counts."""


class Mutation(NamedTuple):
    """A change of a module's text between two offsets in bytes. `old` is the code there, in the layout of `new`."""

    row: int
    start: int
    end: int
    old: str
    new: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


# ------------------------------------------------------------------------------------------------- changes

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}

_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

_CALLED = {"any": "all", "all": "any", "min": "max", "max": "min"}


def mutations(source: bytes) -> Iterator[Mutation]:
    """All changes of a module, in the order of its text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, new in sorted(_changed(ast.parse(source)), key=lambda one: (one[0].lineno, one[0].col_offset)):
        start = starts[node.lineno - 1] + node.col_offset
        assert node.end_lineno is not None and node.end_col_offset is not None
        end = starts[node.end_lineno - 1] + node.end_col_offset
        yield Mutation(node.lineno, start, end, ast.unparse(node), new)


def _changed(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Nodes, each with a text to write in its place. Annotations, messages of errors and type checks have none."""
    for node in _visited(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield node, _with(node, lambda new: new.ops.__setitem__(0, _COMPARED[type(new.ops[0])]()))
        elif isinstance(node, ast.BoolOp):
            yield (
                node,
                _with(node, lambda new: setattr(new, "op", ast.Or() if isinstance(new.op, ast.And) else ast.And())),
            )
        elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
            yield node, _with(node, lambda new: setattr(new, "op", _COMPUTED[type(new.op)]()))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, f"({ast.unparse(node.operand)})"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, str(not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield node, str(node.value + 1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLED:
            yield node.func, _CALLED[node.func.id]
        elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
            yield node, "return None"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node, "pass"
        elif isinstance(node, (ast.Break, ast.Continue)):
            yield node, "continue" if isinstance(node, ast.Break) else "break"
        if isinstance(node, (ast.If, ast.While, ast.IfExp)) and isinstance(
            node.test, (ast.Call, ast.Name, ast.Attribute)
        ):
            yield node.test, f"(not {ast.unparse(node.test)})"
        elif isinstance(node, ast.comprehension):
            yield from ((test, "True") for test in node.ifs)


def _visited(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that can be changed: not in annotations, f-strings, `raise`, `assert`, `zip(…, strict=True)` or under
    TYPE_CHECKING."""
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr)):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _visited(child)


def _with(node: ast.expr, change: Callable[[Any], object]) -> str:
    """The text of a changed copy. It stays of its kind, so it needs no more parentheses than the source has."""
    new = copy.deepcopy(node)
    change(new)
    return ast.unparse(new)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# --------------------------------------------------------------------------------------------------- tests


def drawn(root: Path, count: int, seed: int, only: Sequence[str] = ()) -> list[tuple[str, Mutation]]:
    """Places by a seed: paths relative to the repository's root, with the change. `only`: beginnings of paths."""
    places: list[tuple[str, Mutation]] = []
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if not only or name.startswith(tuple(only)):
                places += [(name, one) for one in mutations(path.read_bytes())]
    return random.Random(seed).sample(places, min(count, len(places)))


def tests_of(root: Path, path: str) -> list[tuple[str, ...]]:
    """The tests of a module, in the order in which they run, each set by the arguments of pytest. Of a rule, those that
    have its code in their names run first."""
    room = max((one for one in ROOMS if path.startswith(f"{one}/")), key=len)
    rest = Path(path).relative_to(room).parent.as_posix()
    stages: list[tuple[str, ...]] = []
    if room == "rules" and (code := re.search(r'^    code = "(\w+)"', (root / path).read_text(encoding="utf-8"), re.M)):
        stages.append((*PROGRAMS, "-k", code[1]))
    for stage in ROOMS[room]:
        names = [_nearest(root, Path(name.format(rest=rest))) for name in stage]
        if found := tuple(name for name in names if name is not None):
            stages.append(found)
    return stages


def _nearest(root: Path, tests: Path) -> str | None:
    """Tests, or the nearest folder above that exists; None for all tests."""
    while not (root / tests).exists():
        tests = tests.parent
    return None if tests in (Path("tests"), Path()) else tests.as_posix()


class Copy:
    """A copy of the files that git knows, in which modules are changed and tested."""

    def __init__(self, root: Path, folder: Path, marks: str, sets: int) -> None:
        self._root, self._folder, self._marks, self._sets = root, folder, marks, sets
        self._seconds: dict[tuple[str, ...], float | None] = {}
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
        for name in filter(None, listed.decode().split("\0")):
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, folder / name)
        (folder / "gpulint" / "rules").symlink_to(folder / "rules")

    def judge(self, path: str, mutation: Mutation) -> str:
        """`survived`, the tests that noticed the change, or `untested` if no tests of the room pass without it."""
        result = "untested"
        for tests in tests_of(self._folder, path)[: self._sets]:
            seconds = self._unchanged(tests)
            if seconds is None:
                continue
            result = "survived"
            original = self._write(path, mutation.apply((self._root / path).read_bytes()))
            try:
                if self._run(tests, 5 * seconds + 60) != 0:
                    return f"killed by {' '.join(tests)}"
            finally:
                self._write(path, original)
        return result

    def _unchanged(self, tests: tuple[str, ...]) -> float | None:
        """Seconds that tests take without a mutant, None if they do not pass."""
        if tests not in self._seconds:
            started = time.monotonic()
            passed = self._run(tests, None) == 0
            self._seconds[tests] = time.monotonic() - started if passed else None
            if not passed:
                print(f"left out, as they fail without a mutant: {' '.join(tests)}", file=sys.stderr)
        return self._seconds[tests]

    def _run(self, tests: tuple[str, ...], timeout: float | None) -> int:
        """The exit status of pytest; 0 if no test was selected, -1 if it took too long."""
        command = [sys.executable, "-m", "pytest", "-qx", "-n0", "-p", "no:cacheprovider", "-m", self._marks, *tests]
        environment = {**os.environ, "PYTHONPATH": str(self._folder)}
        try:
            status = subprocess.run(
                command, cwd=self._folder, env=environment, capture_output=True, timeout=timeout, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            return -1
        return 0 if status == 5 else status

    def _write(self, path: str, text: bytes) -> bytes:
        """Replace a module, and delete its byte code: Python tells texts apart by their size and second only."""
        file = self._folder / path
        old = file.read_bytes()
        file.write_bytes(text)
        Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
        Path(importlib.util.cache_from_source(str(self._folder / "gpulint" / path))).unlink(missing_ok=True)
        return old


# -------------------------------------------------------------------------------------------------- report


def _shown(mutation: Mutation) -> tuple[str, str]:
    """The texts before and after, in one line each, from shortly before they differ."""
    before, after = (" ".join(text.split()).replace("|", "\\|").replace("`", "'") for text in mutation[3:])
    same = next((place for place, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), 0)
    first = same - AROUND if same > 2 * AROUND else 0
    return _cut(before, first), _cut(after, first)


def _cut(text: str, first: int) -> str:
    return f"`{'…' * (first > 0)}{text[first : first + LONGEST]}{'…' * (len(text) > first + LONGEST)}`"


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--count", type=int, default=100, help="number of places")
    parser.add_argument("--seed", type=int, default=1, help="seed by which places are drawn")
    parser.add_argument("--only", action="append", default=[], help="beginning of the paths to draw from")
    parser.add_argument("--sets", type=int, default=9, help="sets of tests that run at most for a place")
    parser.add_argument("--marks", default="not long", help="the tests that run, as for `pytest -m`")
    parser.add_argument("--list", action="store_true", help="show the changes, and run no tests")
    options = parser.parse_args(arguments)
    places = drawn(root, options.count, options.seed, options.only)
    print("| place | before | after | result |\n|---|---|---|---|")
    killed = 0
    with tempfile.TemporaryDirectory(prefix="gpulint-mutants-") as folder:
        tested = None if options.list else Copy(root, Path(folder), options.marks, options.sets)
        for path, mutation in places:
            result = tested.judge(path, mutation) if tested is not None else ""
            killed += result.startswith("killed")
            before, after = _shown(mutation)
            print(f"| {path}:{mutation.row} | {before} | {after} | {result} |", flush=True)
    if tested is not None:
        print(f"\n{killed} of {len(places)} killed.")


if __name__ == "__main__":
    main()
