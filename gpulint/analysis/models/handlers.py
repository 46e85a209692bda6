"""The type of functions that model a call of one library function."""

from __future__ import annotations

from collections.abc import Callable

from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site

Handler = Callable[[Machine, Arguments, Site], Value]
