"""Escaping of text and values for the readers of the output."""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any

import pytest

from gpulint.output.escapes import json_text


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (nan, None),
        ({"a": [1, (inf, {"b": -inf})], "c": 1e308}, {"a": [1, [None, {"b": None}]], "c": 1e308}),
        ({"a": True, 1: "x"}, {"a": True, "1": "x"}),
    ],
)
def test_json_has_null_for_numbers_that_it_does_not_know(value: Any, read: Any) -> None:
    def refused(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(json_text(value), parse_constant=refused) == read
