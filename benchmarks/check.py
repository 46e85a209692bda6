"""gpulint beside other linters on the same files, in one run.

    python benchmarks/check.py PATH… [--rounds N] [--peers NAME,…] [--compiled PYTHON] [--markdown] [--profile]

Each linter checks the files below each PATH that name TensorFlow or Keras, cold and in one process: gpulint with its
default rules and without a cache, flake8 with `--select=E9,F -j1`, and, where they are installed, `pylint -E -j1`,
Fixit with its default rules and `ruff --select=ALL`. `--compiled` names a Python that has a compiled wheel of
gpulint, such as `.cache/compiled/bin/python` after `make compiled`. CPU time is user plus system time of the child
process; the table shows medians, and their ratio to flake8. The last row is a lower bound for linters that parse
every file with LibCST: its native parser alone, with the garbage collector off. `--profile` shows where gpulint's
time goes instead.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

TENSORFLOW = re.compile(rb"tensorflow|keras", re.IGNORECASE)


def files_below(path: str) -> list[str]:
    """Python files that speak of TensorFlow."""
    if os.path.isfile(path):
        return [path]
    found = []
    for directory, directories, names in os.walk(path):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        for name in sorted(names):
            file = os.path.join(directory, name)
            if name.endswith(".py") and TENSORFLOW.search(read(file)):
                found.append(file)
    return found


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def cpu_seconds(command: list[str]) -> float:
    """User plus system seconds of a child process.

    It runs where no folder is called as a linter: `-m gpulint` would import that of a clone. Raises RuntimeError if
    gpulint fails, which would look fast.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as elsewhere:
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, cwd=elsewhere)
    if "gpulint" in command and run.returncode > 1:
        raise RuntimeError(run.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


LIBCST = """
import gc, sys, libcst
gc.disable()
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        try:
            libcst.parse_module(file.read())
        except Exception:
            pass
"""

BASE = "flake8 E9,F"
COMPILED = "gpulint compiled"


def commands(files: list[str], compiled: str | None) -> dict[str, list[str]]:
    """What is compared. `compiled` is the Python that has a compiled wheel."""
    gpulint = ["gpulint", "check", "--isolated", "--no-cache", "-j1", "--output-format", "concise", *files]
    found = {
        "gpulint": ["-m", *gpulint],
        BASE: ["-m", "flake8", "--isolated", "--select=E9,F", "-j1", *files],
        "pylint -E": ["-m", "pylint", "-E", "-j1", "--rcfile=", *files],
        "Fixit": ["-m", "fixit", "--quiet", "lint", *files],
        "ruff ALL": ["-m", "ruff", "check", "--isolated", "--no-cache", "--select=ALL", "--quiet", *files],
        "LibCST's parser": ["-c", LIBCST, *files],
    }
    installed = {
        name: [sys.executable, *command]
        for name, command in found.items()
        if command[0] != "-m" or importlib.util.find_spec(command[1]) is not None
    }
    return installed if compiled is None else {COMPILED: [os.path.abspath(compiled), "-m", *gpulint], **installed}


class Row(NamedTuple):
    """What one PATH took: CPU seconds of each command, medians."""

    name: str
    files: int
    lines: int
    seconds: dict[str, float]


def measured(path: str, rounds: int, peers: Sequence[str] | None, compiled: str | None) -> Row:
    files = [os.path.abspath(file) for file in files_below(path)]
    chosen = {
        name: command
        for name, command in commands(files, compiled).items()
        if peers is None or name in ("gpulint", COMPILED, BASE) or name in peers
    }
    seconds: dict[str, list[float]] = {name: [] for name in chosen}
    for _ in range(rounds):
        for name, command in chosen.items():
            seconds[name].append(cpu_seconds(command))
    lines = sum(read(file).count(b"\n") for file in files)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return Row(os.path.basename(os.path.normpath(path)), len(files), lines, medians)


def table(row: Row, rounds: int) -> None:
    print(f"{row.name}: {row.files} files, {row.lines} lines, medians of {rounds}")
    print(f"{'':18}{'CPU s':>8}{'lines/s':>12}{'ratio':>8}")
    for name, value in row.seconds.items():
        print(f"{name:18}{value:8.2f}{row.lines / value:12,.0f}{value / row.seconds[BASE]:8.2f}", flush=True)


def markdown(rows: Sequence[Row]) -> None:
    """The rows as a table for documents, with their sum."""
    names = list(rows[0].seconds)
    if len(rows) > 1:
        total = {name: sum(row.seconds[name] for row in rows) for name in names}
        rows = [*rows, Row("all of them", sum(row.files for row in rows), sum(row.lines for row in rows), total)]
    print("| | lines |", " | ".join(names), "| gpulint / flake8 |")
    print("|---|---:|" + "---:|" * (len(names) + 1))
    for row in rows:
        values = " | ".join(f"{row.seconds[name]:.1f}" for name in names)
        print(f"| {row.name} | {row.lines:,} | {values} | {row.seconds['gpulint'] / row.seconds[BASE]:.2f} |")


class Clock:
    """Process time spent in each of the named functions, without that in another named one that it calls."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._stack: list[list[float]] = []

    def watch(self, module: Any, name: str, label: str) -> None:
        original: Callable[..., Any] = getattr(module, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            self._stack.append([0.0])
            try:
                return original(*args, **kwargs)
            finally:
                total = time.process_time() - start
                (inside,) = self._stack.pop()
                self.spent[label] = self.spent.get(label, 0.0) + total - inside
                if self._stack:
                    self._stack[-1][0] += total

        setattr(module, name, timed)


def profile(files: list[str]) -> None:
    """Print where gpulint's CPU time goes."""
    start = time.process_time()
    import gpulint.analysis.driver.program as program
    import gpulint.analysis.project.modules as modules
    import gpulint.linting.examiner as examiner
    import gpulint.syntax.parse as parse
    import gpulint.syntax.spans as spans
    from gpulint.linting.engine import Checker
    from gpulint.linting.pack import load
    from gpulint.linting.selection import Catalogue
    from gpulint.settings import SettingsFinder

    catalogue = Catalogue(load())
    clock = Clock()
    clock.spent["imports"] = time.process_time() - start
    clock.watch(parse, "by_python", "parse")
    for module in (program, modules):
        clock.watch(module, "parse", "screen")
    clock.watch(program, "Relevance", "first look")
    clock.watch(examiner, "analyse", "interpret")
    clock.watch(examiner, "reports_of", "rules")
    clock.watch(spans, "spans", "positions")
    Checker(SettingsFinder(isolated=True), catalogue).check(files)
    total = time.process_time() - start
    clock.spent["everything else"] = total - sum(clock.spent.values())
    for label, seconds in sorted(clock.spent.items(), key=lambda pair: -pair[1]):
        print(f"{label:16}{seconds:8.2f} s{100 * seconds / total:7.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", help="of those compared besides gpulint and flake8, separated by commas")
    parser.add_argument("--compiled", metavar="PYTHON", help="a Python that has a compiled wheel of gpulint")
    parser.add_argument("--markdown", action="store_true", help="one table for all paths")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    if options.profile:
        profile([file for path in options.paths for file in files_below(path)])
        return
    peers = options.peers.split(",") if options.peers is not None else None
    rows = []
    for path in options.paths:
        rows.append(measured(path, options.rounds, peers, options.compiled))
        table(rows[-1], options.rounds)
    if options.markdown:
        print(f"python benchmarks/{' '.join([os.path.basename(sys.argv[0]), *sys.argv[1:]])}\n")
        markdown(rows)


if __name__ == "__main__":
    main()
