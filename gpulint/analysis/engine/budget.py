"""The number of steps that the analysis of a program takes, and what is done when they are used up."""

from __future__ import annotations

import sys
from enum import Enum
from typing import NamedTuple

from gpulint.analysis.domain.completion import Exhausted

MAX_STEPS = 30_000
"""Maximum number of steps of a program before calls are cut short. A step is the evaluation of one expression or
statement."""

MAX_ENTRY_STEPS = 20_000
"""Maximum number of steps of an entry point (a function without a caller in the program) before calls are cut short."""

MIN_STEPS_OF_ENTRIES = 16_000
"""Number of steps that all entry points of an empty program may take before calls are cut short. A longer program may
take `STEPS_PER_NODE` more for each of its syntax nodes. If short programs were given as many as long ones, a package of
many short files that import a large one would take minutes."""

STEPS_PER_NODE = 10

MAX_STEPS_OF_ENTRIES = 100_000
"""Maximum number of steps of all entry points of a program before calls are cut short, however long it is."""

RESERVE = 10_000
"""Maximum number of further steps of a program, in which calls are cut short."""

ENTRY_RESERVE = 5_000
"""Maximum number of further steps of an entry point, and no more than it may take before."""

LATE_RESERVE = 1_000
"""Maximum number of further steps of an entry point that begins after the steps of all entry points are used up."""

MAX_SHORT_STEPS = 2_000
"""Maximum number of steps of a call that is cut short."""

ELEMENTS_PER_STEP = 5
"""Number of elements of a container that count as a step where all of them are copied or looked at."""

LITERALS_PER_STEP = 50
"""The same for literals in a table: a table may have more of them than the program has steps."""

CHARACTERS_PER_STEP = 1_000
"""Number of characters of a string that count as a step where it is searched."""

MAX_IRRELEVANT_STEPS = 300
"""Maximum number of steps of a call that leads to nothing a rule asks about."""

CLOSING_STEPS = 3_000
"""Maximum number of steps after the reserve, and no more than that had, in which no call is followed. After them, a
long call is abandoned."""

BODY_STEPS = 40_000
"""Maximum number of steps after the reserve in the program's own body, outside all calls, where no call is followed."""

MAX_CALL_STEPS = 2_000
"""Number of steps from which a call counts as long."""

EXTENSION = 5_000
"""Maximum number of further steps after a long call for which the reserve was not enough. Calls are cut short again."""

MAX_EXTENSIONS = 2
"""Maximum number of extensions for a program or entry point."""

NEVER = sys.maxsize


class Thrift(Enum):
    """How calls are followed, depending on the steps that are left."""

    NONE = 0
    SHORT_CALLS = 1
    NO_CALLS = 2


class Limits(NamedTuple):
    """The limits of a budget at one moment."""

    taken: int
    last: int
    last_of_call: int
    thrift: Thrift
    is_speculating: bool


class Budget:
    """The steps of one program.

    Programs that take many steps mostly take them in calls that build networks or prepare data, and the loop that
    trains follows. Once the steps are used up, further calls are therefore cut short, and later not followed, so that
    the functions around them are run to their end. After a function that is too long even so, the program continues.
    """

    __slots__ = (
        "_calls",
        "_extensions",
        "_is_speculating",
        "_last",
        "_last_of_call",
        "_last_of_entries",
        "_reserve",
        "limit",
        "taken",
        "thrift",
    )

    def __init__(self) -> None:
        self.taken = 0
        self._last_of_entries = 0
        self._calls = 0
        """Number of active calls."""
        self.grant(MAX_STEPS, RESERVE)
        self._is_speculating = False

    def grant(self, steps: int, reserve: int) -> None:
        """Set the number of steps for what follows, and the number of those after them."""
        self.thrift = Thrift.NONE
        self._reserve = reserve
        self._extensions = MAX_EXTENSIONS
        self._limit(self.taken + steps, NEVER)

    def begin_entries(self, nodes: int) -> None:
        """Set the number of steps for all entry points of a program with this many syntax nodes."""
        self._last_of_entries = self.taken + min(MIN_STEPS_OF_ENTRIES + STEPS_PER_NODE * nodes, MAX_STEPS_OF_ENTRIES)

    def grant_entry(self, *, is_last: bool = False) -> None:
        """Set these numbers for an entry point: at most half of what is left, so that there are some for the next."""
        left = self._last_of_entries - self.taken
        if left > 0:
            steps = min(MAX_ENTRY_STEPS, left if is_last else (left + 1) // 2)
            self.grant(steps, max(min(ENTRY_RESERVE, steps), LATE_RESERVE))
        else:
            self.grant(0, LATE_RESERVE)
            self._extensions = 0

    def _limit(self, last: int, last_of_call: int) -> None:
        self._last, self._last_of_call = last, last_of_call
        self.limit = min(last, last_of_call)
        """Number of steps after which the present call, or the program, is out of steps."""

    def extend(self) -> None:
        """Continue with more thrift. Raises `Exhausted` where a call or the program is abandoned."""
        if self._is_speculating or self._last_of_call < NEVER or self.thrift is Thrift.NO_CALLS:
            raise Exhausted
        if self.thrift is Thrift.NONE:
            self.thrift, more = Thrift.SHORT_CALLS, self._reserve
        else:
            self.thrift, more = Thrift.NO_CALLS, min(CLOSING_STEPS, self._reserve) if self._calls else BODY_STEPS
        self._limit(self.taken + more, NEVER)

    def begin_call(self, is_relevant: bool) -> Limits:
        """Limit the steps of a call where calls are cut short. Returns the limits outside it."""
        before = self._limits()
        self._calls += 1
        if self.thrift is Thrift.SHORT_CALLS:
            most = MAX_SHORT_STEPS if is_relevant else MAX_IRRELEVANT_STEPS
            self._limit(self._last, min(self._last_of_call, self.taken + most))
        return before

    def end_call(self, outside: Limits) -> None:
        """Restore the limits outside a call."""
        self._calls -= 1
        if self.thrift is Thrift.NO_CALLS and self._may_continue_after(outside):
            self._extensions -= 1
            self.thrift = Thrift.SHORT_CALLS
            self._limit(self.taken + EXTENSION, NEVER)
        else:
            self._limit(self._last, outside.last_of_call if outside.thrift is self.thrift else NEVER)

    def may_abandon(self, outside: Limits) -> bool:
        """Whether a call is abandoned when the steps are used up, and the program continues: one that was cut short
        itself, not one inside it, or a long one."""
        if self._is_speculating:
            return False
        if self.thrift is Thrift.NO_CALLS:
            return self._may_continue_after(outside)
        return outside.thrift is Thrift.SHORT_CALLS and self.taken <= outside.last_of_call

    def _may_continue_after(self, outside: Limits) -> bool:
        return self.taken - outside.taken >= MAX_CALL_STEPS and self._extensions > 0

    def lend(self, steps: int) -> Limits:
        """Begin a block of at most this many steps, which do not count. Returns the limits outside it."""
        before = self._limits()
        self._limit(min(self._last, self.taken + steps), self._last_of_call)
        self._is_speculating = True
        return before

    def take_back(self, outside: Limits) -> None:
        """End such a block."""
        taken = self.taken - outside.taken
        self._limit(outside.last + taken, min(outside.last_of_call + taken, NEVER))
        self._is_speculating = outside.is_speculating

    def _limits(self) -> Limits:
        return Limits(self.taken, self._last, self._last_of_call, self.thrift, self._is_speculating)
