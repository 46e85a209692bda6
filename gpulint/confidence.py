"""How sure a finding is."""

from __future__ import annotations

from enum import Enum


class Confidence(str, Enum):
    """How the analysis came to know.

    `HIGH`: read off one function. `INFERRED`: followed through a call, a join of paths or another file.
    """

    HIGH = "high"
    INFERRED = "inferred"
