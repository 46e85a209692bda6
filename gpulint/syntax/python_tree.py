"""Python's own parser and compiler. Nothing is executed."""

from __future__ import annotations

import ast
import warnings

from gpulint.sources.spelling import has_many_marks


def python_tree(text: str) -> ast.Module | None:
    """The tree of a text, without warnings; None if the running Python cannot parse it (LibCST supports newer
    syntax)."""
    if has_many_marks(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def is_python(text: str) -> bool:
    """Whether the running Python can compile a text. Faster than building its tree."""
    if has_many_marks(text):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<unknown>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
