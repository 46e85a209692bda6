"""How sure a finding is."""

from __future__ import annotations

from enum import Enum


class Confidence(str, Enum):
    """How the analysis came to know.

    `HIGH`: all places are in one function, or all at module level, under no undecided condition. `INFERRED`: followed
    from one function or file to another, or into one of several branches.
    """

    HIGH = "high"
    INFERRED = "inferred"
