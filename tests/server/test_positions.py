"""Positions in the client's units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import PositionCodec

from gpulint.places import Span
from gpulint.server.positions import Ruler

ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}

texts = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\n\r\f\x0b\x1c\x85\u2028ab\U0001f600é")),
    max_size=60,
)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(texts, st.data())
def test_a_position_counts_the_units_of_the_encoding_and_leads_back(
    encoding: str, text: str, data: st.DataObject
) -> None:
    ruler = Ruler(text, PositionCodec(types.PositionEncodingKind(encoding)))
    row = data.draw(st.integers(1, len(ruler.lines)))
    column = data.draw(st.integers(1, len(ruler.lines[row - 1]) + 1))
    position = ruler.position(row, column)
    before = ruler.lines[row - 1][: column - 1]
    assert position == types.Position(row - 1, len(before.encode(ENCODINGS[encoding])) // WIDTHS[encoding])
    assert ruler.place(position) == (row, column)


@given(texts)
def test_lines_are_those_of_the_protocol_and_of_python(text: str) -> None:
    lines = Ruler(text, PositionCodec()).lines
    assert "\n".join(lines) == text.replace("\r\n", "\n").replace("\r", "\n")


@given(texts, st.integers(0, 100), st.integers(0, 1000))
def test_any_position_of_the_client_is_a_place_of_the_text(text: str, line: int, character: int) -> None:
    ruler = Ruler(text, PositionCodec())
    row, column = ruler.place(types.Position(line, character))
    assert 1 <= row <= len(ruler.lines)
    assert 1 <= column <= len(ruler.lines[row - 1]) + 1


def test_the_middle_of_a_surrogate_pair_is_before_its_character() -> None:
    ruler = Ruler("a\U0001f600b", PositionCodec())
    assert [ruler.place(types.Position(0, unit)) for unit in range(5)] == [(1, 1), (1, 2), (1, 2), (1, 3), (1, 4)]


def test_a_span_beyond_the_text_ends_at_its_end() -> None:
    ruler = Ruler("ab\ncd", PositionCodec())
    assert ruler.range(Span("x.py", 2, 1, 9, 9)) == types.Range(types.Position(1, 0), types.Position(1, 2))
