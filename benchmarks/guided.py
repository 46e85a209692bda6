"""The log parser and the capture reader on what atheris makes, guided by the lines that it reaches.

    PYTHONPATH=. python benchmarks/guided.py (log | capture) DIR [OPTIONS OF LIBFUZZER…]

It begins with the fixtures and keeps in DIR what reaches something new; `-max_total_time=600` ends it, `-runs=100000`,
too. A fault ends it with a traceback, and what led to it is left beside DIR.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gpulint.probe"]):
    from gpulint.probe import capture, placement_log  # noqa: F401 - instrumented before anything else imports them
    from tests import fuzzing

SEEDS = {"log": "placement_logs", "capture": "captures"}
LONGEST = 30_000


def judge(kind: str, data: bytes) -> None:
    if kind == "log":
        fuzzing.judge_log(random.Random(data), data)
    else:
        fuzzing.judge_capture(data)


def main() -> None:
    kind, directory = sys.argv[1], Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    for file in (fuzzing.FIXTURES / SEEDS[kind]).iterdir():
        (directory / file.name).write_bytes(file.read_bytes()[:LONGEST])
    prefix = f"-artifact_prefix={directory}{os.sep}..{os.sep}"
    atheris.Setup(
        [sys.argv[0], str(directory), f"-max_len={LONGEST}", prefix, *sys.argv[3:]], lambda data: judge(kind, data)
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
