"""Identifiers as Python reads them: normalised to NFKC, so that one can be written in letters that no search finds."""

from __future__ import annotations

import re
import unicodedata

MAX_MARKS = 100
"""Maximum number of combining marks on one letter: Python sorts those of identifiers, in quadratic time (two minutes
for 200,000 marks)."""

_NOT_ASCII = re.compile(f"[^\\x00-\\x7f]{{{MAX_MARKS},}}")

_VARIANT = re.compile(
    "[\xaa\xba\u0132-\u01f3\u02b0-\u02e3\u1d2c-\u1dbb\u2071-\u209c\u2102-\u217f\u2c7c\u2c7d\ua7f2-\ua7f4\ufb00-\ufb06"
    "\ufe33-\ufe4f\uff10-\uff5a\U000107a5\U0001d400-\U0001d7ff\U0001fbf0-\U0001fbf9]"
)
"""A character that Python reads as ASCII inside an identifier: a ligature, a letter of full width, in bold or as a
superscript."""


def as_read(text: str) -> str:
    """The text with these characters in ASCII; rows stay, columns may not.

    Characters are normalised one by one: the time for a whole text is quadratic in the number of combining marks.
    """
    return text if text.isascii() else _VARIANT.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)


def has_many_marks(text: str) -> bool:
    """Whether a letter has more than `MAX_MARKS` combining marks."""
    if text.isascii():
        return False
    for run in _NOT_ASCII.finditer(text):
        marks = 0
        for character in run[0]:
            marks = marks + 1 if unicodedata.combining(character) else 0
            if marks > MAX_MARKS:
                return True
    return False
