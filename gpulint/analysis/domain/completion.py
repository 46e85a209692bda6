"""How a block completes, and the exceptions that end abstract execution early."""

from __future__ import annotations

NORMAL = 0
"""The block falls through to the next statement."""
ABRUPT = 1
"""The block does not fall through: it returned, raised an exception or left its loop."""


class PathEnds(Exception):
    """The present path ends inside an expression: the program exits, or a callee never returns."""


class Exhausted(Exception):
    """A limit for the whole program or for one entry point was reached."""
