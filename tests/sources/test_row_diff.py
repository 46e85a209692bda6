"""Which rows of a text are new."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.sources import row_diff
from gpulint.sources.row_diff import EVERYWHERE, new_places

ROWS = st.lists(st.sampled_from([b"", b"a", b"b", b"c", b"d", b"\xff", b" a"]), max_size=40)


def text(rows: list[bytes], end: bytes = b"\n") -> bytes:
    return b"".join(row + end for row in rows)


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ("abc", "abc", ()),
        ("abc", "axc", ((4, 4),)),
        ("abc", "axyc", ((4, 6),)),
        ("abc", "abcd", ((8, 8),)),
        ("abc", "ac", ((3, 3),)),
        ("abc", "bc", ((1, 1),)),
        ("abc", "ab", ((5, 5),)),
        ("abc", "", ((1, 1),)),
        ("", "ab", ((2, 4),)),
        ("abcdef", "xbcyef", ((2, 2), (8, 8))),
        ("abcd", "cdab", ((2, 4), (9, 9))),
        ("aa", "aaa", ((6, 6),)),
        ("aabaa", "aacaa", ((6, 6),)),
        ("xaay", "zaaw", ((2, 2), (8, 8))),
    ],
)
def test_places_are_those_of_new_rows_and_between_rows(
    before: str, after: str, places: tuple[tuple[int, int], ...]
) -> None:
    texts = [text([letter.encode() for letter in letters]) for letters in (before, after)]
    assert new_places(*texts) == places


@given(ROWS, ROWS, st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_what_is_not_new_was_there_in_the_same_order(before: list[bytes], after: list[bytes], end: bytes) -> None:
    places = new_places(text(before), text(after, end))
    kept = [row for number, row in enumerate(after, 1) if not any(a <= 2 * number <= b for a, b in places)]
    rest = iter(before)
    assert all(any(row == old for old in rest) for row in kept)
    assert bool(places) == (before != after)


@given(ROWS)
def test_the_last_line_end_does_not_count(rows: list[bytes]) -> None:
    rows.append(b"end")
    assert new_places(text(rows), text(rows).removesuffix(b"\n")) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (range(60_000), [number ^ 1 for number in range(60_000)]),
        ([number % 2 for number in range(60_000)], [number % 3 for number in range(60_000)]),
        ([0] * 60_000, [1, *[0] * 30_000, 2, *[0] * 29_000]),
        (range(60_000), range(60_000, 0, -1)),
    ],
)
def test_no_texts_take_long(before: list[int], after: list[int]) -> None:
    assert new_places(text([b"%d" % row for row in before]), text([b"%d" % row for row in after]))


def test_texts_of_too_many_rows_are_new_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_diff, "_BUDGET", 10)
    assert new_places(b"a\n" * 6, b"a\n" * 5) == EVERYWHERE
    assert new_places(b"a\n" * 6, b"a\r\n" * 6) == ()
