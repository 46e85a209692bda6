"""The record of claims that have held. The gate runs a claim only if the record does not have it with the installed
TensorFlow and Keras, the text of the program and the code that runs it as they are now; `-m long` runs every claim.

    python -m tests.claims.record

runs every claim and writes the record.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any, NamedTuple

from tests.claims.claim import Claim, parse_claim
from tests.claims.runner import STAGE, Stage, broken_promises
from tests.programs import ClaimLine, Program, programs

FILE = Path(__file__).with_name("record.json")
CODE = (STAGE, Path(__file__).with_name("claim.py"), Path(__file__).with_name("runner.py"))
"""The files that run and judge a claim."""


class Case(NamedTuple):
    """A claim and its program."""

    program: Program
    line: ClaimLine

    @property
    def name(self) -> str:
        return f"{self.program.name}:{self.line.module}:{self.line.row}"


def cases() -> list[Case]:
    """Every claim of the fixture programs."""
    return [Case(program, line) for program in programs() for line in program.claims]


@cache
def installed() -> Mapping[str, str]:
    """Releases of the installed TensorFlow and Keras, {} without TensorFlow."""
    if importlib.util.find_spec("tensorflow") is None:
        return {}
    distributions = packages_distributions()
    return {name: version(distributions[name][0]) for name in ("tensorflow", "keras")}


def read() -> Any:
    """The record: releases of TensorFlow and Keras, and the digest of each claim that held on them."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def digest(case: Case, code: Iterable[Path] = CODE) -> str:
    """A digest of a claim, the modules of its program and the code that runs it."""
    text = json.dumps([case.line, case.program.modules, *(path.read_text(encoding="utf-8") for path in code)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def has_held(case: Case, record: Any, releases: Mapping[str, str]) -> bool:
    """Whether the record has a claim as it is now, on these releases."""
    return bool(record["releases"] == releases and record["claims"].get(case.name) == digest(case))


def words(claim: Claim) -> set[str]:
    """The words of the vocabulary that a claim uses."""
    return {each.name for each in dataclasses.fields(claim) if getattr(claim, each.name) != each.default}


def sample(all_cases: Iterable[Case]) -> list[Case]:
    """Claims of short programs that together use the whole vocabulary. The gate always runs them, so that it exercises
    the code that runs claims."""
    chosen: list[Case] = []
    used: set[str] = set()
    for case in sorted(all_cases, key=lambda case: sum(len(text) for _, text in case.program.modules)):
        if not words(claim := parse_claim(case.line.text)) <= used:
            chosen.append(case)
            used |= words(claim)
    return chosen


def main() -> int:
    """Run every claim and record those that hold; 1 if one does not."""
    stage = Stage()
    held = {}
    broken = {}
    for case in cases():
        claim = parse_claim(case.line.text)
        performance = stage.perform(case.program.root / case.line.module, claim)
        if promises := broken_promises(case.program, case.line.module, claim, performance):
            broken[case.name] = promises
        else:
            held[case.name] = digest(case)
    FILE.write_text(json.dumps({"releases": installed(), "claims": held}, indent=1) + "\n", encoding="utf-8")
    for name, promises in broken.items():
        print(f"{name}: {'; '.join(promises)}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
