"""Codes of findings about files and suppression comments."""

from __future__ import annotations

SYNTAX_ERROR = "GPU001"
"""A file that cannot be read or parsed. Cannot be disabled."""

UNUSED = "GPU002"
INVALID = "GPU003"
ABOUT_COMMENTS = frozenset({UNUSED, INVALID})
"""Findings about suppression comments, which no comment can silence."""
ABOUT_FILES = ABOUT_COMMENTS | {SYNTAX_ERROR}
"""Findings that say nothing about what a program does."""
