"""The log parser and the capture reader on inputs of atheris, which is guided by coverage.

    PYTHONPATH=. python benchmarks/guided.py (log | capture) DIR [OPTIONS OF LIBFUZZER…]

It begins with the fixtures and keeps inputs that reach new lines in DIR, until `-max_total_time=600` or `-runs=100000`.
A fault ends it, too, and its input is stored beside DIR. Faults are: a log that is parsed differently if it is split
differently, more than 20 seconds or 2 GB, a crash. A capture may be refused with any exception: the command reports it
as damaged.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gpulint.probe"]):
    from gpulint.probe.capture.reader import read
    from gpulint.probe.checks.verify import verify
    from gpulint.probe.expectations.expectation import Run
    from gpulint.probe.report import FORMATS, RunReport, page, render
    from tests import fuzzing

SEEDS = {"log": "placement_logs", "capture": "captures"}
LONGEST = 30_000


def judge_log(data: bytes) -> None:
    fuzzing.judge_log(random.Random(data), data)


def judge_capture(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(data)
        file.flush()
        try:
            capture = read(file.name)
            report = RunReport(capture, verify(Run(capture)), 0)
            for form in FORMATS:
                render(form, report, False)
            page.render(report)
        except Exception:
            return


def main() -> None:
    kind, directory = sys.argv[1], Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    for file in (fuzzing.FIXTURES / SEEDS[kind]).iterdir():
        (directory / file.name).write_bytes(file.read_bytes()[:LONGEST])
    options = [f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=2000"]
    options.append(f"-artifact_prefix={directory.parent}{os.sep}")
    judge = {"log": judge_log, "capture": judge_capture}[kind]
    atheris.Setup([sys.argv[0], str(directory), *options, *sys.argv[3:]], judge)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
