"""gpulint reports exactly what each fixture program expects, under every spelling of its imports: as written and under
two others in every run of the tests, under the rest with `-m long`.

All programs are laid out in one directory, each spelling of each in a place of its own, and checked by the
command itself, once for every set of rules that a program asks for.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from filelock import FileLock

from gpulint.settings import NEWEST_TENSORFLOW
from tests.programs import Expectation, Program, programs
from tests.spelling import SPELLINGS, Spelled, spellings

CASES = [(program, spelled) for program in programs() for spelled in spellings(program)]
NAMES = [f"{program.name}-{spelled.spelling}" for program, spelled in CASES]

OTHERS = 2
"""Spellings beside the written one that each program has in every run; they differ from program to program."""


def is_long(program: Program, spelled: Spelled) -> bool:
    """Whether the program in this spelling is left to `-m long`."""
    written, *others = spellings(program)
    start = zlib.crc32(program.name.encode())
    often = [others[(start + number) % len(others)] for number in range(OTHERS if others else 0)]
    return spelled not in (written, *often)


PARAMETERS = [
    pytest.param(*case, id=name, marks=[pytest.mark.long] if is_long(*case) else [])
    for case, name in zip(CASES, NAMES, strict=True)
]


class Reported(NamedTuple):
    """A finding, reduced to what the fixtures state."""

    place: Expectation
    message: str


def difference(expected: Iterable[Expectation], reported: Iterable[Reported], modules: Mapping[str, str]) -> list[str]:
    """A line for each missing or extra finding, with its row of the program."""
    wanted = set(expected)
    messages = {finding.place: finding.message for finding in reported}
    lines = []
    for place in sorted(wanted ^ set(messages)):
        row = modules[place.module].split("\n")[place.row - 1].strip()
        told = f"unexpected: {messages[place]}" if place in messages else "expected, not reported"
        lines.append(f"{place.module}:{place.row}: {place.code} {told}\n    {row}")
    return lines


def write(spelled: Spelled, directory: Path) -> None:
    for path, text in spelled.modules:
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def check(directory: Path, select: str | None) -> dict[str, list[Reported]]:
    """The findings of `gpulint check` below a directory, by the first part of the files' paths."""
    command = [
        sys.executable,
        "-m",
        "gpulint",
        "check",
        "--isolated",
        "--target-tensorflow",
        NEWEST_TENSORFLOW,
        "--output-format",
        "json",
        "--exit-zero",
    ]
    command += ["--select", select] if select else []
    done = subprocess.run([*command, "."], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"gpulint ended with status {done.returncode}:\n{done.stderr}"
    reported = defaultdict(list)
    for finding in json.loads(done.stdout):
        path = (directory / finding["filename"]).resolve().relative_to(directory)
        module = Path(*path.parts[1:]).as_posix()
        place = Expectation(module, finding["location"]["row"], finding["code"])
        reported[path.parts[0]].append(Reported(place, finding["message"]))
    return reported


@pytest.fixture(scope="session")
def findings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Reported]]:
    """The findings of each selected case, by its name. Computed once for all processes of a test run."""
    selected = {item.callspec.id for item in request.session.items if hasattr(item, "callspec")}
    if not hasattr(request.config, "workerinput"):
        return found_in(selected, tmp_path_factory)
    shared = tmp_path_factory.getbasetemp().parent / "findings.pickle"
    with FileLock(f"{shared}.lock"):
        if not shared.exists():
            shared.write_bytes(pickle.dumps(found_in(selected, tmp_path_factory)))
    found: dict[str, list[Reported]] = pickle.loads(shared.read_bytes())
    return found


def found_in(selected: set[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Reported]]:
    groups: dict[str | None, list[int]] = defaultdict(list)
    for number, (program, _) in enumerate(CASES):
        if NAMES[number] in selected:
            groups[program.select].append(number)
    found: dict[str, list[Reported]] = {}
    for select, numbers in groups.items():
        directory = tmp_path_factory.mktemp("programs").resolve()
        for number in numbers:
            write(CASES[number][1], directory / f"case{number}")
        reported = check(directory, select)
        found.update({NAMES[number]: reported.get(f"case{number}", []) for number in numbers})
    return found


@pytest.mark.parametrize(("program", "spelled"), PARAMETERS)
def test_gpulint_reports_exactly_what_the_program_expects(
    program: Program, spelled: Spelled, findings: dict[str, list[Reported]], request: pytest.FixtureRequest
) -> None:
    reported = findings[request.node.callspec.id]
    wrong = difference(program.expectations, reported, dict(spelled.modules))
    assert not wrong, f"{program.name}, {spelled.spelling}\n" + "\n".join(wrong)


def test_every_run_has_each_program_and_each_spelling() -> None:
    often = [spelled.spelling for program, spelled in CASES if not is_long(program, spelled)]
    assert set(often) == {"as written", *(spelling.__name__ for spelling in SPELLINGS)}
    assert often.count("as written") == len(programs()) and len(often) >= 2.9 * len(programs())


PROGRAM_TEXT = {"train.py": "import tensorflow as tf\nwith tf.device('/gpu:0'):\n    pass\n"}
PINNED = Expectation("train.py", 2, "GPU101")


def test_a_missing_finding_is_shown_with_its_row() -> None:
    assert difference({PINNED}, [], PROGRAM_TEXT) == [
        "train.py:2: GPU101 expected, not reported\n    with tf.device('/gpu:0'):"
    ]


def test_an_extra_finding_is_shown_with_its_message() -> None:
    assert difference(set(), [Reported(PINNED, "pinned to GPU 0")], PROGRAM_TEXT) == [
        "train.py:2: GPU101 unexpected: pinned to GPU 0\n    with tf.device('/gpu:0'):"
    ]


def test_a_finding_on_another_row_is_both_missing_and_extra() -> None:
    elsewhere = Reported(PINNED._replace(row=3), "pinned to GPU 0")
    assert len(difference({PINNED}, [elsewhere], PROGRAM_TEXT)) == 2


def test_what_was_expected_is_no_difference() -> None:
    assert difference({PINNED}, [Reported(PINNED, "pinned to GPU 0")], PROGRAM_TEXT) == []
