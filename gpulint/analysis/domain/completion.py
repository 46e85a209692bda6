"""Ways in which abstract execution ends early."""

from __future__ import annotations

NORMAL = 0
"""A block that falls through."""
ABRUPT = 1
"""A block that does not: it returned, raised, or left its loop."""


class PathEnds(Exception):
    """The present path ends inside an expression: the program exits, or a callee never returns."""


class Exhausted(Exception):
    """A bound of the whole program or of one entry point was reached."""
