"""The number of syntax nodes of a module."""

from __future__ import annotations

import pytest

from gpulint.syntax.parse import parse
from gpulint.syntax.walk import below, size_of
from tests.syntax.texts import source


@pytest.mark.parametrize("text", ["", "x = 1\n", "f(1, *a)\nfor i in a:\n    b[i, 1:2] = [c for c in d if c]\n"])
def test_nodes_are_counted_from_the_last_one(text: str) -> None:
    module = parse(source(text))
    assert size_of(module) == 1 + max((node.number for node in below(module.body)), default=-1)


def test_a_statement_more_is_a_larger_program() -> None:
    sizes = [size_of(parse(source("f(x)\n" * number))) for number in range(4)]
    assert sizes == sorted(set(sizes))
