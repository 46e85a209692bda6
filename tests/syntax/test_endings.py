"""How exception handlers end."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.syntax import ir
from gpulint.syntax.endings import goes_on, swallows, turns_error
from tests.syntax.texts import lowered


def handled(body: str) -> ir.Handler:
    """The handler of `except E as error` with this body."""
    (statement,) = lowered(f"try:\n    f()\nexcept E as error:\n{textwrap.indent(body, '    ')}\n").body
    assert isinstance(statement, ir.Try)
    return statement.handlers[0]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", True),
        ("return", True),
        ("raise", False),
        ("raise ValueError from error", False),
        ("sys.exit(1)", False),
        ("os._exit(1)", False),
        ("quit()", False),
        ("self.exit()", True),
        ("raise unittest.SkipTest('no GPU')", True),
        ("raise StopIteration", True),
        ("if a:\n    raise\nelse:\n    exit()", False),
        ("if a:\n    raise", True),
        ("with a:\n    raise", True),
        ("try:\n    raise\nexcept F:\n    exit()", False),
        ("try:\n    f()\nexcept F:\n    raise", True),
        ("try:\n    raise\nexcept F:\n    pass", True),
        ("try:\n    f()\nfinally:\n    raise", False),
        ("for a in b:\n    continue\nraise", True),
    ],
)
def test_the_program_goes_on_after_a_handler_unless_every_path_raises_or_exits(body: str, expected: bool) -> None:
    assert goes_on(handled(body)) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise", False),
        ("raise error", False),
        ("pass", False),
        ("raise ValueError from error", True),
        ("if a:\n    sys.exit(1)", True),
    ],
)
def test_a_handler_can_end_with_another_error(body: str, expected: bool) -> None:
    assert turns_error(handled(body)) is expected


@pytest.mark.parametrize(("body", "expected"), [("pass", False), ("return", True), ("break", True), ("raise", False)])
def test_a_finally_that_leaves_swallows_errors(body: str, expected: bool) -> None:
    (loop,) = lowered(f"while a:\n    try:\n        f()\n    finally:\n        {body}\n").body
    assert isinstance(loop, ir.While) and isinstance(loop.body[0], ir.Try)
    assert swallows(loop.body[0]) is expected
