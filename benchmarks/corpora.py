"""gpulint on whole libraries: no crash, no hang, no traceback, the same bytes for any number of processes and any run.

    python benchmarks/corpora.py [--splice] [--jobs 1,2,4] [--keep DIR] PATH…

Each PATH is one corpus. It is checked once for each number of processes, each time with another PYTHONHASHSEED and its
folders named in another order; the JSON of all runs must be equal. `--splice` checks a copy in which each file ends
with a small TensorFlow program, so that files are parsed and run that do not speak of TensorFlow. The table shows the
files and lines that were checked, findings, files that could not be read (GPU001) and the seconds of each run. A file
that is not read although this Python compiles it is a fault, too. `--keep` leaves the findings of each corpus in a
directory. The exit status is 1 where anything went wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

PROGRAM = b"""

import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with tf.device("/gpu:0"):
    spliced = tf.zeros(4)
model = tf.keras.Sequential()
model.fit(spliced, batch_size=3)
"""

TIMEOUT = 3600


class Run(NamedTuple):
    """One check of a corpus."""

    jobs: int
    seconds: float
    output: str
    troubles: tuple[str, ...]


def spliced(corpus: Path, to: Path) -> Path:
    """A copy of a corpus's Python files, each with a TensorFlow program at its end. A folder's name stays."""
    copy = to / corpus.name
    for path in sorted(corpus.rglob("*.py")):
        target = copy / path.relative_to(corpus)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes() + PROGRAM)
    return copy


def checked(corpus: Path, jobs: int, seed: int) -> Run:
    """Check a corpus whose folders are named in an order that the seed decides."""
    names = sorted(entry.name for entry in corpus.iterdir() if entry.is_dir() or entry.suffix in (".py", ".ipynb"))
    random.Random(seed).shuffle(names)
    command = [
        sys.executable,
        "-m",
        "gpulint",
        "check",
        "--isolated",
        "--no-respect-gitignore",
        "--no-cache",
        "--exclude",
        ".git",
    ]
    command += ["--output-format", "json", "-j", str(jobs), "--", *names]
    start = time.monotonic()
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(seed),
        "PYTHONPATH": os.pathsep.join(map(os.path.abspath, _path())),
    }
    try:
        done = subprocess.run(
            command, cwd=corpus, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return Run(jobs, TIMEOUT, "", (f"not done after {TIMEOUT} seconds",))
    troubles = [line for line in done.stderr.splitlines() if line]
    if done.returncode not in (0, 1):
        troubles.append(f"exit status {done.returncode}")
    return Run(jobs, time.monotonic() - start, done.stdout, tuple(troubles))


def _path() -> list[str]:
    return [".", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


def measured(corpus: Path) -> tuple[int, int]:
    """The files of a corpus and their lines."""
    files = [path for path in corpus.rglob("*") if path.suffix in (".py", ".ipynb") and path.is_file()]
    return len(files), sum(path.read_bytes().count(b"\n") for path in files)


def compiles(file: Path) -> bool:
    """Whether this Python takes a file for a program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
            return False
    return True


def report(corpus: Path, runs: list[Run], keep: Path | None) -> bool:
    """Print a row of the table and what went wrong; whether nothing did."""
    files, lines = measured(corpus)
    troubles = [trouble for run in runs for trouble in (*run.troubles,)]
    if len({run.output for run in runs}) != 1:
        troubles.append("the runs differ")
    findings = json.loads(runs[0].output or "[]")
    unreadable = [one for one in findings if one["code"] == "GPU001"]
    troubles += [
        f"{one['filename']}: {one['message']}, but it compiles"
        for one in unreadable
        if one["filename"].endswith(".py") and compiles(corpus / one["filename"])
    ]
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{corpus.name}.json").write_text(runs[0].output)
    seconds = "  ".join(f"{run.seconds:7.1f}" for run in runs)
    print(f"{corpus.name:28}{files:7,}{lines:11,}{len(findings):9,}{len(unreadable):8,}  {seconds}", flush=True)
    for trouble in troubles[:9]:
        print(f"  TROUBLE: {trouble[:300]}", flush=True)
    for one in unreadable:
        if any(word in one["message"] for word in ("not checked", "memory", "too deeply")):
            print(f"  {one['filename']}: {one['message'][:150]}", flush=True)
    return not troubles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--splice", action="store_true", help="add a TensorFlow program to each file of a copy")
    parser.add_argument("--jobs", default="1,2,4", help="numbers of processes, one run each")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the findings of each corpus are left")
    options = parser.parse_args()
    jobs = [int(number) for number in options.jobs.split(",")]
    print(
        f"{'corpus':28}{'files':>7}{'lines':>11}{'findings':>9}{'GPU001':>8}  "
        + "  ".join(f"{'-j':>5}{n}s" for n in jobs)
    )
    good = True
    for corpus in options.corpora:
        temporary = Path(tempfile.mkdtemp(prefix="corpus-"))
        try:
            place = spliced(corpus, temporary) if options.splice else corpus
            good &= report(place, [checked(place, number, seed) for seed, number in enumerate(jobs)], options.keep)
        finally:
            shutil.rmtree(temporary)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
