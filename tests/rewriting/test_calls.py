"""Edits of calls and chains."""

from __future__ import annotations

import pytest

from gpulint.rewriting import calls
from gpulint.rewriting.fix import Refused
from tests.rewriting.texts import after, call, draft_of, site


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("f(k=1)", "f()"),
        ("f(k=1,)", "f()"),
        ("f( k=1 )", "f()"),
        ("f(a, k=1)", "f(a)"),
        ("f(a, k=1, b=2)", "f(a, b=2)"),
        ("f(k=1, b=2)", "f(b=2)"),
        ("f(a, k=(1))", "f(a)"),
        ("f(\n    a,\n    k=1,\n)", "f(\n    a,\n)"),
        ("f(\n    k=1,\n    a=2,\n)", "f(\n    a=2,\n)"),
        ("(f)(k=1)", "(f)()"),
        ('f(")", k=1)', 'f(")")'),
    ],
)
def test_an_argument_goes_with_its_comma(before: str, expected: str) -> None:
    assert after(before, lambda draft: calls.without_argument(draft, call(draft, before), "k")) == expected


def test_an_argument_with_a_comment_stays() -> None:
    draft = draft_of("f(\n    a,  # the first\n    k=1,\n)\n")
    with pytest.raises(Refused, match="comment"):
        calls.without_argument(draft, call(draft, draft.text.strip()), "k")


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("f()", "f(k=1)"),
        ("f(a)", "f(a, k=1)"),
        ("f(a,)", "f(a, k=1,)"),
        ("f(a, k=2)", "f(a, k=1)"),
        ("f(a, k=(2))", "f(a, k=(1))"),
        ("f(\n    a,\n    b,\n)", "f(\n    a,\n    b,\n    k=1,\n)"),
        ("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    k=1\n)"),
        ("f((x for x in y))", "f((x for x in y), k=1)"),
        ("f(a  # why\n)", "f(a, k=1  # why\n)"),
    ],
)
def test_an_argument_is_added_or_replaced(before: str, expected: str) -> None:
    assert after(before, lambda draft: calls.with_argument(draft, call(draft, before), "k", "1")) == expected


@pytest.mark.parametrize("before", ["f(x for x in y)", "f(*a)", "f(a, **b)"])
def test_where_an_argument_cannot_be_added_nothing_is(before: str) -> None:
    draft = draft_of(before)
    with pytest.raises(Refused):
        calls.with_argument(draft, call(draft, before), "k", "1")


@pytest.mark.parametrize(
    ("before", "link", "expected"),
    [
        ("d = a.map(f).batch(2)", "a.map(f).batch(2)", "d = a.map(f).batch(2).g(1)"),
        ("d = (\n    a\n    .batch(2)\n)", "a\n    .batch(2)", "d = (\n    a\n    .batch(2)\n    .g(1)\n)"),
        ("d = a \\\n    .batch(2)", "a \\\n    .batch(2)", "d = a \\\n    .batch(2).g(1)"),
        ("d = a.batch(\n    2,\n)", "a.batch(\n    2,\n)", "d = a.batch(\n    2,\n).g(1)"),
    ],
)
def test_a_link_is_added_to_a_chain(before: str, link: str, expected: str) -> None:
    assert after(before, lambda draft: calls.appended(draft, call(draft, link), ".g(1)")) == expected


@pytest.mark.parametrize(
    ("before", "moving", "target", "first", "expected"),
    [
        ("a.s(1).c().b()", "a.s(1).c()", "a.s(1)", True, "a.c().s(1).b()"),
        ("a.p(1).b(2)", "a.p(1)", "a.p(1).b(2)", False, "a.b(2).p(1)"),
        ("(a).s(1).c()", "(a).s(1).c()", "(a).s(1)", True, "(a).c().s(1)"),
        ("(\n  a\n  .s(1)\n  .c()\n)", "a\n  .s(1)\n  .c()", "a\n  .s(1)", True, "(\n  a\n  .c()\n  .s(1)\n)"),
    ],
)
def test_a_link_moves_in_its_chain(before: str, moving: str, target: str, first: bool, expected: str) -> None:
    def write(draft):  # type: ignore[no-untyped-def]
        return calls.moved_in_chain(draft, call(draft, moving), call(draft, target), first)

    assert after(before, write) == expected


def test_a_link_with_a_comment_stays() -> None:
    draft = draft_of("d = (\n    a\n    .s(1)  # mix\n    .c()\n)\n")
    with pytest.raises(Refused):
        calls.moved_in_chain(draft, call(draft, "a\n    .s(1)  # mix\n    .c()"), call(draft, "a\n    .s(1)"), True)


@pytest.mark.parametrize(("before", "expected"), [("f('gpu0')", "f('/GPU:0')"), ('f("gpu0")', 'f("/GPU:0")')])
def test_a_literal_keeps_its_quotes(before: str, expected: str) -> None:
    assert after(before, lambda draft: calls.literal(draft, site(draft, before[2:-1]), "/GPU:0")) == expected


@pytest.mark.parametrize("literal", ["'gp' 'u0'", "r'gpu0'", "'''gpu0'''", "'gpu\\x30'"])
def test_a_literal_that_is_written_in_another_way_stays(literal: str) -> None:
    draft = draft_of(f"f({literal})")
    with pytest.raises(Refused):
        calls.literal(draft, site(draft, literal), "/GPU:0")
