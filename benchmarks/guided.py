"""Coverage-guided fuzzing of the log parser and the capture reader, with atheris.

    PYTHONPATH=. python benchmarks/guided.py (log | capture) DIR [OPTIONS OF LIBFUZZER…]

Starts from the fixtures and keeps inputs that reach new lines in DIR, until `-max_total_time=600` or `-runs=100000`.
It also stops at the first fault, and stores the input beside DIR. A fault is a crash, more than 20 seconds or 2 GB,
or a log whose parsed content depends on how it is split into chunks. A capture may be refused with any exception: the
command reports it as damaged.
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
