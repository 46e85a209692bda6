"""Conditions of rules in words."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest

from gpulint.linting.conditions import Moment, deciding, explained

MANY = 3


class _Owner:
    @property
    def is_busy(self) -> bool:
        """Whether it works. It may pause."""
        return True


def helper(value: object) -> bool:
    """Whether the value is of interest."""
    raise AssertionError("it is not called again")


NAMES = {"a": True, "b": False, "n": 5, "none": None, "owner": _Owner(), "plain": SimpleNamespace(x=1)}


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("test", "holds", "part"),
    [
        ("b or a", True, ("a", True)),
        ("a and b", False, ("b", False)),
        ("not a or n > 9 or none is None", True, ("none is None", True)),
        ("not (a and owner.is_busy)", False, ("a and owner.is_busy", True)),
        ("not isinstance(n, str) or helper(n)", True, ("isinstance(n, str)", False)),
        ("b or helper(n)", True, ("helper(n)", True)),
        ("b or helper(n) or a", True, ("helper(n) or a", True)),
        ("a and missing and b", False, ("missing and b", False)),
        ("b or a", False, ("b or a", False)),
        ("(m := n) > 4 or a", True, ("(m := n) > 4 or a", True)),
    ],
)
def test_the_part_that_decided(test: str, holds: bool, part: tuple[str, bool]) -> None:
    found, value = deciding(expression(test), holds, Moment(1, NAMES, globals()))
    assert (ast.unparse(found), value) == part


@pytest.mark.parametrize(
    ("test", "lines"),
    [
        ("n > MANY", ["`n` is 5", "`MANY` is 3: Maximum number of things"]),
        ("owner.is_busy", ["`owner.is_busy` is True: Whether it works"]),
        ("helper(n) and plain.x == n", ["`helper(n)`: Whether the value is of interest", "`plain.x` is 1", "`n` is 5"]),
        ("isinstance(n, str)", ["`n` is 5"]),
        ("missing", []),
    ],
)
def test_what_names_stand_for(test: str, lines: list[str]) -> None:
    moment = Moment(1, NAMES, globals())
    assert list(explained(expression(test), moment, {"MANY": "Maximum number of things"})) == lines
