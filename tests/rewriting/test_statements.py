"""Edits of whole statements: strings, comments and statements that share a row."""

from __future__ import annotations

import pytest

from gpulint.rewriting import scopes, statements
from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Edit, Refused
from tests.rewriting.texts import after, call, draft_of


def unpinned(draft: Draft) -> list[Edit]:
    return statements.without_manager(draft, call(draft, "d()"))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("with d():\n    x = 1\n", "x = 1\n"),
        ("with d():\n    x = 1\n\n    y = 2\nz = 3\n", "x = 1\n\ny = 2\nz = 3\n"),
        ("with d():\n\tx = 1\n\tif x:\n\t\ty = 2\n", "x = 1\nif x:\n\ty = 2\n"),
        ("with d(): x = 1\n", "x = 1\n"),
        ("with d(), e() as t:\n    x = 1\n", "with e() as t:\n    x = 1\n"),
        ("with e() as t, d():\n    x = 1\n", "with e() as t:\n    x = 1\n"),
        ("with (\n    e() as t,\n    d(),\n):\n    x = 1\n", "with (\n    e() as t,\n):\n    x = 1\n"),
        ("if a:\n    with d():\n        x = 1\n    y = 2\n", "if a:\n    x = 1\n    y = 2\n"),
        ("with d():\n    # one\n    x = 1  # two\n    # three\ny = 2\n", "# one\nx = 1  # two\n# three\ny = 2\n"),
        ('with d():\n    x = """\n    kept\n"""\n', 'x = """\n    kept\n"""\n'),
        (
            'with d():\n    x = f"""\n    {a}\n    """ + (\n        b\n    )\n',
            'x = f"""\n    {a}\n    """ + (\n    b\n)\n',
        ),
        ('with d():\n    x = f"""\n    # {a}\n    """\n', 'x = f"""\n    # {a}\n    """\n'),
        ("with d():\n    x = f(1,\n          2)\n", "x = f(1,\n      2)\n"),
        ("with d():\n    x = 1 + \\\n2\n", "x = 1 + \\\n2\n"),
    ],
)
def test_a_block_moves_out_and_its_strings_stay(before: str, expected: str) -> None:
    assert after(before, unpinned) == expected


@pytest.mark.parametrize(
    "text",
    ["with d():  # pinned\n    x = 1\n", "with d() as x:\n    x = 1\n", "c = d()\nwith c:\n    x = 1\n"],
)
def test_a_block_that_cannot_move_out_stays(text: str) -> None:
    with pytest.raises(Refused):
        unpinned(draft_of(text))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("a = 1\nf()\nb = 2\n", "a = 1\nb = 2\n"),
        ("def g():\n    f()\n", "def g():\n    pass\n"),
        ("if a:\n    f()\nelse:\n    b = 2\n", "if a:\n    pass\nelse:\n    b = 2\n"),
        ("f()\n", ""),
        ("a = 1\nf()", "a = 1\n"),
    ],
)
def test_a_call_is_taken_out(before: str, expected: str) -> None:
    assert after(before, lambda draft: statements.without_statement(draft, call(draft, "f()"))) == expected


@pytest.mark.parametrize("text", ["f(); g()\n", "x = f()\n", "f()  # why\n", "if a: f()\n", "a if f() else b\n"])
def test_a_call_that_is_not_alone_stays(text: str) -> None:
    draft = draft_of(text)
    with pytest.raises(Refused):
        statements.without_statement(draft, call(draft, "f()"))


def up(draft: Draft) -> list[Edit]:
    return statements.moved_up(draft, (call(draft, "late()"),), (call(draft, "early()"),))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("early()\nlate()\n", "late()\nearly()\n"),
        ("early()\n\n# why\nlate()  # now\n\nb()\n", "# why\nlate()  # now\nearly()\n\nb()\n"),
        (
            "x = early()\ng = listed()\nfor e in g:\n    late()\ny = x\n",
            "g = listed()\nfor e in g:\n    late()\nx = early()\ny = x\n",
        ),
        ("import b\nearly()\nimport a\na.late(late())\n", "import b\nimport a\na.late(late())\nearly()\n"),
        ("with t():\n    early()\nif g:\n    late()\n", "if g:\n    late()\nwith t():\n    early()\n"),
        ("def m():\n    early()\n    late()\n", "def m():\n    late()\n    early()\n"),
        ('early()\nlate() or """\n  a"""\n', 'late() or """\n  a"""\nearly()\n'),
    ],
)
def test_a_statement_moves_up_with_what_it_needs(before: str, expected: str) -> None:
    assert after(before, up) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x = early()\ny = late() + x\n",
        "early()\nx = 1\nuse(x)\nx = 2\nlate(); z = x\n",
        "early()\ng = 1\nuse(g)\ng = late()\n",
        "def m():\n    early()\nlate()\n",
        "def m():\n    early()\n    return late()\n",
        "for x in y:\n    early()\n    if late():\n        break\n",
        "early(); late()\n",
        "if a:\n    early()\nelif late():\n    b()\n",
    ],
)
def test_a_statement_that_others_depend_on_stays(text: str) -> None:
    with pytest.raises(Refused):
        up(draft_of(text))


def scoped(draft: Draft) -> list[Edit]:
    return scopes.in_scope(draft, call(draft, "M()"), call(draft, "S()"), {call(draft, "M()")})


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("s = S()\nm = M()\n", "s = S()\nwith s.scope():\n    m = M()\n"),
        ("s = S()\n# big\nm = M()  # one\n", "s = S()\nwith s.scope():\n    # big\n    m = M()  # one\n"),
        ('s = S()\nm = M() or """\n a"""\n', 's = S()\nwith s.scope():\n    m = M() or """\n a"""\n'),
        (
            "s = S()\nm = M()\nm.add(1)\nm.compile()\nm.fit()\n",
            "s = S()\nwith s.scope():\n    m = M()\n    m.add(1)\n    m.compile()\nm.fit()\n",
        ),
        ("s = S()\nm = M()\nwith s.scope():\n    n = 1\n", "s = S()\nwith s.scope():\n    m = M()\n    n = 1\n"),
        ("s = S()\nwith s.scope():\n    n = 1\n\nm = M()\n", "s = S()\nwith s.scope():\n    n = 1\n\n    m = M()\n"),
        (
            "s = S()\nm = M()\nm(x)\nwith s.scope():\n    n = 1\n",
            "s = S()\nwith s.scope():\n    m = M()\n    m(x)\n    n = 1\n",
        ),
        ("def g():\n\ts = S()\n\tm = M()\n", "def g():\n\ts = S()\n\twith s.scope():\n\t\tm = M()\n"),
        (
            "s = S()\nm = M()\nwith s.scope():  # all\n    n = 1\n",
            "s = S()\nwith s.scope():\n    m = M()\nwith s.scope():  # all\n    n = 1\n",
        ),
    ],
)
def test_a_statement_comes_into_the_scope(before: str, expected: str) -> None:
    assert after(before, scoped) == expected


@pytest.mark.parametrize(
    "text",
    [
        "m = M()\ns = S()\n",
        "s = S()\nfor x in M():\n    pass\n",
        "s = S()\nif M():\n    pass\n",
        "s = S()\nm = M(); n = 1\n",
        "s = S()\nif a: m = M()\n",
        "s = S()\nm = M()\nm.fit()\nm(x)\n",
    ],
)
def test_where_the_scope_does_not_fit_nothing_changes(text: str) -> None:
    with pytest.raises(Refused):
        scoped(draft_of(text))


def test_the_layers_of_a_functional_model_come_with_it() -> None:
    text = "s = S()\ni = L()\nn = 3\nh = D(i)\nm = M(i, h)\n"

    def write(draft: Draft) -> list[Edit]:
        makers = {call(draft, name) for name in ("L()", "D(i)", "M(i, h)")}
        return scopes.in_scope(draft, call(draft, "M(i, h)"), call(draft, "S()"), makers)

    assert after(text, write) == "s = S()\nwith s.scope():\n    i = L()\n    n = 3\n    h = D(i)\n    m = M(i, h)\n"
