"""Bytes that are not text are refused, whatever encoding they declare."""

from __future__ import annotations

import pytest

from gpulint.sources.decoding import Undecodable, decode


@pytest.mark.parametrize("encoding", ["base64", "rot13", "undefined", "punycode", "none-such"])
def test_a_file_in_no_encoding_of_text_is_refused(encoding: str) -> None:
    with pytest.raises(Undecodable):
        decode("a.py", b"# coding: " + encoding.encode() + b"\nx = '\xc3'\n")


def test_the_position_of_such_an_encoding_is_reported() -> None:
    with pytest.raises(Undecodable) as caught:
        decode("a.py", b"#!/usr/bin/env python\n# coding: rot13\nx = 1\n")
    error = caught.value
    assert (error.message, error.row, error.column) == (
        "rot13 is not a text encoding; declare another one here",
        2,
        11,
    )


def test_a_declared_encoding_is_read() -> None:
    assert decode("a.py", b"# coding: latin-1\nx = '\xe9'\n").text == "# coding: latin-1\nx = 'é'\n"
