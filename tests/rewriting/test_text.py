"""Applying edits to a text: order, collisions, line ends."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from gpulint.rewriting.text import chosen, edited, rows_of


def edit(row: int, column: int, end_row: int, end_column: int, content: str) -> Edit:
    return Edit(Span("p.py", row, column, end_row, end_column), content)


def fix(*edits: Edit, group: str = "") -> Fix:
    return Fix(Applicability.SAFE, "", edits, group)


def edits_of(fixes: Iterable[Fix]) -> list[Edit]:
    return [edit for fix in fixes for edit in fix.edits]


def test_edits_are_made_in_the_order_of_the_text() -> None:
    fixes = [fix(edit(2, 1, 2, 2, "B")), fix(edit(1, 1, 1, 2, "A"), edit(3, 1, 3, 2, "C"))]
    assert edited("a\nb\nc\n", edits_of(fixes)) == "A\nB\nC\n"


def test_of_fixes_that_change_the_same_only_the_first_is_chosen() -> None:
    first, second = fix(edit(1, 1, 1, 5, "x")), fix(edit(1, 3, 1, 8, "y"))
    assert chosen([second, first]) == [first]


def test_two_insertions_at_one_place_wait_for_each_other() -> None:
    first, second = fix(edit(1, 1, 1, 1, "x")), fix(edit(1, 1, 1, 1, "y"))
    assert chosen([second, first]) == [first]


def test_equal_edits_of_two_fixes_count_once() -> None:
    imported = edit(1, 1, 1, 1, "import a\n")
    first, second = fix(imported, edit(2, 1, 2, 2, "x")), fix(imported, edit(3, 1, 3, 2, "y"))
    assert edited("1\n2\n3\n", edits_of(chosen([first, second]))) == "import a\n1\nx\ny\n"


def test_of_a_group_one_is_chosen() -> None:
    first, second = fix(edit(1, 1, 1, 1, "x"), group="g"), fix(edit(5, 1, 5, 1, "y"), group="g")
    assert chosen([first, second]) == [first]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_is_added_gets_the_line_ends_of_the_file(end: str) -> None:
    text = f"a{end}b{end}"
    assert edited(text, [edit(2, 1, 2, 1, "x\n")]) == f"a{end}x{end}b{end}"


def test_in_a_file_of_mixed_line_ends_it_gets_that_of_its_row() -> None:
    assert edited("a\r\nb\nc\r\n", [edit(2, 1, 2, 1, "x\n"), edit(3, 1, 3, 1, "y\n")]) == "a\r\nx\nb\ny\r\nc\r\n"


def test_a_text_without_a_line_end_stays_without() -> None:
    assert edited("a\nb", [edit(2, 1, 2, 2, "c")]) == "a\nc"


@given(st.text(alphabet="ab\r\n \t", max_size=40))
def test_rows_are_the_whole_text(text: str) -> None:
    assert "".join(rows_of(text)) == text


@given(st.data())
def test_what_no_edit_names_stays_byte_for_byte(data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(st.tuples(st.text(alphabet="xyz", min_size=1, max_size=5), st.sampled_from(["\n", "\r\n", "\r"])))
    )
    text = "".join(row + end for row, end in rows) + "end"
    changed = data.draw(st.sets(st.integers(1, len(rows) + 1)))
    fixes = [fix(edit(row, 1, row, 1, "#")) for row in changed]
    expected = [("#" if number in changed else "") + row for number, row in enumerate(rows_of_plain(rows), start=1)]
    assert edited(text, edits_of(fixes)) == "".join(expected)


def rows_of_plain(rows: list[tuple[str, str]]) -> list[str]:
    return [*(row + end for row, end in rows), "end"]
