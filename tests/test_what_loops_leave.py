"""What a variable holds behind a loop that sets it in some rounds, and behind a test of it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

SET = 'os.environ["CUDA_VISIBLE_DEVICES"] = card\n'

OPTION = """
import os
import sys

card = None
for word in sys.argv:
    if word.startswith("--card="):
        card = word[7:]
    elif word == "--none":
        card = None
"""

CHAIN = """
import os
import sys

card = None
if sys.argv[1] == "train":
    card = sys.argv[2]
elif sys.argv[1] == "test":
    card = sys.argv[3]
"""

FOUND = """
import os
import sys


def chosen():
    for word in sys.argv:
        if word.startswith("--card="):
            return word[7:]
        if word == "--none":
            return None
    return None


card = chosen()
"""

READ = """
import os
import sys


def read():
    try:
        for line in open("cards"):
            if "free" in line:
                return line.split()[0]
    except OSError:
        return None
    return None


card = read()
"""

LEFT = """
import os
import sys

card = None
for word in sys.argv:
    if word.startswith("--card="):
        card = word[7:]
        break
"""

GUARDS = [
    "if card is not None:\n    {}",
    "if card:\n    {}",
    "if isinstance(card, str):\n    {}",
    "if card is None:\n    sys.exit('no card')\n{}",
    "if card is None:\n    card = '0'\n{}",
    "is_given = card is not None\nif is_given:\n    {}",
]


@pytest.mark.parametrize("before", [OPTION, CHAIN, FOUND, READ, LEFT], ids=["option", "chain", "found", "read", "left"])
@pytest.mark.parametrize("guard", GUARDS)
def test_a_value_is_what_its_guard_lets_through(before: str, guard: str, tmp_path: Path) -> None:
    assert codes_in(before + guard.format(SET), tmp_path) == set()


@pytest.mark.parametrize("before", [OPTION, CHAIN, FOUND, READ, LEFT], ids=["option", "chain", "found", "read", "left"])
@pytest.mark.parametrize("guard", ["{}", "if card is None:\n    {}", "if not card or len(sys.argv) > 3:\n    {}"])
def test_a_value_that_no_guard_keeps_away(before: str, guard: str, tmp_path: Path) -> None:
    assert codes_in(before + guard.format(SET), tmp_path) == {"GPU304"}


ASKED = """
import os

card = None
tries = 0
while {test}:
    tries += 1
    line = input()
    if line == "quit":
        break
    if line.isdigit():
        card = line
else:
    os.environ["CUDA_VISIBLE_DEVICES"] = card
"""


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("card is None", set()),
        ("not card", set()),
        ("card is None or tries < 2", set()),
        ("card is None and tries < 3", {"GPU304"}),
        ("tries < 3", {"GPU304"}),
    ],
)
def test_a_loop_ends_when_its_test_fails(test: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(textwrap.dedent(ASKED.format(test=test)), tmp_path) == expected
