"""The cost of a second run: gpulint, ruff and mypy with their caches, on the same files, in one run.

    python benchmarks/warm.py PATH [--files N] [--rounds N]

Copies up to N files below PATH that name TensorFlow or Keras (default 200), with their folders, to a new directory, and
checks them there with one process: cold (without a cache), warm (nothing has changed), with one file changed, and one
staged file alone, as pre-commit does. Shown are medians of the CPU seconds and of the wall time, the ratio to cold in
CPU time, and the same for the other tools if they are installed. The outputs of cold and warm runs of gpulint must be
equal.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from check import files_below

CACHES = (".gpulint_cache", ".ruff_cache", ".mypy_cache")

COMMANDS = {
    "gpulint": ["-m", "gpulint", "check", "--isolated", "-j1", "--output-format", "json"],
    "ruff": ["-m", "ruff", "check", "--isolated", "--select=E9,F", "--quiet"],
    "mypy": ["-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent", "--explicit-package-bases"],
}


class Taken(NamedTuple):
    """Seconds of one run, and its output."""

    cpu: float
    wall: float
    output: bytes


def run(arguments: list[str], root: Path) -> Taken:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=root, capture_output=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, done.stdout)


def forget(root: Path) -> None:
    for name in CACHES:
        shutil.rmtree(root / name, ignore_errors=True)


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\nCHANGED = 1\n")


def measure(command: list[str], root: Path, rounds: int) -> dict[str, list[Taken]]:
    """The rounds of each kind of run. The order matters: each begins with what the one before it left."""
    one = sorted(root.rglob("*.py"), key=lambda path: path.stat().st_size)[len(list(root.rglob("*.py"))) // 2]
    kinds: dict[str, tuple[Callable[[], None], list[str]]] = {
        "cold": (lambda: forget(root), ["."]),
        "warm": (lambda: None, ["."]),
        "one changed": (lambda: change(one), ["."]),
        "one staged": (lambda: change(one), [str(one.relative_to(root))]),
        "the same staged": (lambda: None, [str(one.relative_to(root))]),
    }
    taken: dict[str, list[Taken]] = {kind: [] for kind in kinds}
    original = one.read_bytes()
    for _ in range(rounds):
        for kind, (prepare, paths) in kinds.items():
            prepare()
            taken[kind].append(run([*command, *paths], root))
        one.write_bytes(original)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    top = os.path.abspath(options.path)
    with tempfile.TemporaryDirectory() as directory:
        root, lines = Path(directory), 0
        files = files_below(top)[: options.files]
        for file in files:
            place = root / os.path.relpath(file, top)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
            lines += place.read_bytes().count(b"\n")
        print(f"{len(files)} files, {lines} lines, medians of {options.rounds}")
        print(f"{'':8}{'':18}{'CPU s':>8}{'s':>8}{'of cold':>9}")
        for name, command in COMMANDS.items():
            if importlib.util.find_spec(name) is None:
                continue
            taken = measure(command, root, options.rounds)
            base = statistics.median(one.cpu for one in taken["cold"])
            for kind, several in taken.items():
                cpu, wall = (statistics.median(each) for each in list(zip(*several, strict=True))[:2])
                print(f"{name:8}{kind:18}{cpu:8.2f}{wall:8.2f}{cpu / base:9.3f}")
            if name == "gpulint":
                assert {one.output for one in taken["warm"]} == {one.output for one in taken["cold"]}, "outputs differ"


if __name__ == "__main__":
    main()
