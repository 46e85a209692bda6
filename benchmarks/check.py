"""gpulint beside flake8 on the same files, in one run.

    python benchmarks/check.py PATH [--rounds N] [--profile]

Both check exactly the files below PATH that name TensorFlow or Keras, cold, in one process each: gpulint with its
default rules, flake8 with `--select=E9,F -j1`. CPU time is user plus system time of the child; the table shows
medians and their ratio. `--profile` shows instead where gpulint's time goes.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

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
    """User plus system seconds of a child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def compare(files: list[str], rounds: int) -> None:
    """Print the table."""
    lines = sum(read(file).count(b"\n") for file in files)
    commands = {
        "gpulint check": [
            sys.executable,
            "-m",
            "gpulint",
            "check",
            "--isolated",
            "-j1",
            "--output-format",
            "concise",
            *files,
        ],
        "flake8 E9,F": [sys.executable, "-m", "flake8", "--isolated", "--select=E9,F", "-j1", *files],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            seconds[name].append(cpu_seconds(command))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    base = medians["flake8 E9,F"]
    print(f"{len(files)} files, {lines} lines, medians of {rounds}")
    print(f"{'':16}{'CPU s':>8}{'lines/s':>12}{'ratio':>8}")
    for name, value in medians.items():
        print(f"{name:16}{value:8.2f}{lines / value:12,.0f}{value / base:8.2f}")


class Clock:
    """Process time spent in named functions, without what is inside another named one."""

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
    import libcst

    import gpulint.analysis.modules as modules
    import gpulint.analysis.program as program
    import gpulint.linting.engine as engine
    import gpulint.syntax.lower as lower
    import gpulint.syntax.spans as spans
    from gpulint.linting.pack import load
    from gpulint.linting.selection import Catalogue
    from gpulint.settings import SettingsFinder

    catalogue = Catalogue(load())
    clock = Clock()
    clock.spent["imports"] = time.process_time() - start
    clock.watch(libcst, "parse_module", "parse (LibCST)")
    clock.watch(lower, "lower", "lower")
    for module in (program, modules):
        clock.watch(module, "parse", "screen")
    clock.watch(program, "relevant_words", "first look")
    clock.watch(engine, "analyse", "interpret")
    clock.watch(engine, "reports_of", "rules")
    clock.watch(spans, "spans", "positions")
    engine.Checker(SettingsFinder(isolated=True), catalogue).check(files)
    total = time.process_time() - start
    clock.spent["everything else"] = total - sum(clock.spent.values())
    for label, seconds in sorted(clock.spent.items(), key=lambda pair: -pair[1]):
        print(f"{label:16}{seconds:8.2f} s{100 * seconds / total:7.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("path")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    files = files_below(options.path)
    if options.profile:
        profile(files)
    else:
        compare(files, options.rounds)


if __name__ == "__main__":
    main()
