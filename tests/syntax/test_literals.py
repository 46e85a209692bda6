"""Literals have the same values as in Python."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.syntax import literals

_BODY = st.lists(
    st.sampled_from(
        [
            "a",
            "é",
            "{",
            "\\n",
            "\\\\",
            "\\'",
            '\\"',
            "\\\n",
            "\\0",
            "\\377",
            "\\x41",
            "\\u00e9",
            "\\U0001F600",
            "\\N{BULLET}",
            "\\d",
            "\\8",
            "n",
            "7",
            " ",
        ]
    ),
    max_size=8,
).map("".join)


def _evaluated(text: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.literal_eval(text)


@given(st.sampled_from(["", "r", "R", "u"]), st.sampled_from(['"', "'", '"""', "'''"]), _BODY)
def test_strings_have_their_value(prefix: str, quote: str, body: str) -> None:
    text = f"{prefix}{quote}{body}{quote}"
    try:
        expected = _evaluated(text)
    except SyntaxError:
        return
    assert literals.string(text) == expected


@given(st.sampled_from(["b", "B", "rb", "bR"]), st.sampled_from(['"', "'''"]), _BODY)
def test_bytes_have_their_value(prefix: str, quote: str, body: str) -> None:
    text = f"{prefix}{quote}{body}{quote}"
    try:
        expected = _evaluated(text)
    except SyntaxError:
        return
    assert literals.string(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "00",
        "7",
        "1_000",
        "0xFf_F",
        "0B1",
        "0o17",
        "1.",
        ".5",
        "1e3",
        "1E-3",
        "1_0.0_1",
        "2j",
        "1.5J",
        "0_0",
        "1e400",
    ],
)
def test_numbers_have_their_value(text: str) -> None:
    value = literals.number(text)
    assert value == ast.literal_eval(text)
    assert type(value) is type(ast.literal_eval(text))


@pytest.mark.parametrize("text", [r"'\N{no such}'", r"'\U99999999'", r"'\x4'", "b'é'"])
def test_what_python_refuses_is_kept_somehow(text: str) -> None:
    assert literals.string(text)
