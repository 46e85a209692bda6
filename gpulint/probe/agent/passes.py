"""Training steps: passes of the training loop, however many functions one of them calls."""

from __future__ import annotations

import dis
import sys
from bisect import bisect
from collections import Counter
from functools import lru_cache
from types import CodeType, FrameType
from typing import TypeAlias

from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.states import States

DEEPEST = 200
"""Frames looked at, innermost first."""

FIT = "fit"
"""The method of libraries that loops over batches."""

CONTINUED = 2
"""Elements after which a loop over a dataset is known to continue: one over a single element is no training loop."""

_ENDS = ("RETURN", "RAISE", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE")
"""How the names of instructions begin after which the next one does not run."""

_Chain: TypeAlias = tuple[tuple[CodeType, int], ...]
"""The calls that led somewhere, in the user's code: code and offset of the instruction, outermost first."""


class Passes:
    """Tells which gradients belong to the same training step.

    A step is one pass of the innermost loop around them, or of the loop over a dataset around that. So the
    discriminator and the generator of a GAN share a step if one is trained after the other, as do several updates of a
    critic for one batch, and the shares of a program that divides its batches among devices itself."""

    def __init__(self, states: States, places: Places) -> None:
        self._states, self._places = states, places
        self._shares: dict[object, tuple[set[str], set[str]]] = {}
        """Function → the devices requested for it in the step before, and in the current one so far."""
        self._chain: _Chain = ()
        self._functions: set[str] = set()
        """Functions of the current step."""
        self._element = self._elements = 0
        self._site: tuple[CodeType, int] | None = None
        """Where a loop in Python took the last element of a dataset."""
        self._taken: Counter[tuple[int, int]] = Counter()
        """Such a place, by the id of its code → elements."""
        self._merged: Counter[tuple[str, Place | None]] = Counter()

    def begins_step(self, function: str, place: Place | None, share: object, device: str) -> bool:
        """Whether gradients that a function just took, or this line, are the first of a step. `device`: as requested;
        what the same `share` takes on other devices is part of the step."""
        if self._is_share(share, device):
            return False
        chain, is_fit = self._called(sys._getframe(1))
        if self._is_same_element(chain) or self._continues(function, chain, is_fit):
            self._chain = chain
            self._functions.add(function)
            self._merged[function, place] += 1
            return False
        self._chain, self._element = chain, self._elements
        self._functions = {function}
        return True

    def takes_element(self, frame: FrameType | None) -> None:
        """Python has taken an element of a dataset, called from `frame`."""
        if not self._states.is_here:
            return
        known, is_foreign = self._places.known, self._places.is_foreign
        while frame is not None:
            code = frame.f_code
            foreign = known.get(code.co_filename)
            if not (is_foreign(code.co_filename) if foreign is None else foreign):
                self._site = code, frame.f_lasti
                self._taken[id(code), frame.f_lasti] += 1
                self._elements += 1
                return
            frame = frame.f_back

    def take(self) -> Counter[tuple[str, Place | None]]:
        """Function and line → calls since the last time that began no step."""
        merged, self._merged = self._merged, Counter()
        return merged

    def _is_share(self, share: object, device: str) -> bool:
        """Whether others have had their share of the step on other devices, but not this one, and not all."""
        before, now = self._shares.get(share, (set(), set()))
        if device in now or now == before:
            self._shares[share] = now, {device}
            return False
        now.add(device)
        return True

    def _called(self, frame: FrameType | None) -> tuple[_Chain, bool]:
        """The calls that led to a frame, and whether they began in the loop of a library's `fit`."""
        known, is_foreign = self._places.known, self._places.is_foreign
        chain, depth = [], 0
        while frame is not None and depth < DEEPEST:
            code = frame.f_code
            foreign = known.get(code.co_filename)
            if not (is_foreign(code.co_filename) if foreign is None else foreign):
                chain.append((code, frame.f_lasti))
            elif code.co_name == FIT:
                return tuple(reversed(chain)), True
            frame = frame.f_back
            depth += 1
        return tuple(reversed(chain)), False

    def _is_same_element(self, chain: _Chain) -> bool:
        """Whether a loop over a dataset is still at the element with which the step began."""
        if self._site is None or self._elements != self._element:
            return False
        code, site = self._site
        return self._taken[id(code), site] >= CONTINUED and any(
            one is code and _has_same_loop(code, site, at) for one, at in chain
        )

    def _continues(self, function: str, chain: _Chain, is_fit: bool) -> bool:
        """Whether the program came here from the gradients before without beginning another pass of a loop."""
        for level, ((code, before), (now_code, now)) in enumerate(zip(self._chain, chain)):  # noqa: B905 (the shorter)
            if code is not now_code:
                return False
            if before != now:
                if not _leads_to(code, before, now):
                    return function not in self._functions and _comes_after_loop(code, before, now)
                around = ((code, before, now), *((outer, at, at) for outer, at in chain[:level]))
                return function not in self._functions or is_fit or any(_is_in_loop(*one) for one in around)
        return False


class _Jumps:
    """Where the instructions of a function may lead."""

    def __init__(self, code: CodeType) -> None:
        following: dict[int, list[int]] = {}
        self.loops: dict[int, int] = {}
        """First instruction of a loop → the last that jumps back there."""
        previous: int | None = None
        for one in dis.get_instructions(code):
            if previous is not None:
                following[previous].append(one.offset)
            following[one.offset] = []
            if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
                if one.argval > one.offset:
                    following[one.offset].append(one.argval)
                else:
                    self.loops[one.argval] = one.offset
            previous = None if one.opname.startswith(_ENDS) else one.offset
        self.following = following
        self._offsets = sorted(following)

    def at(self, offset: int) -> int:
        """The instruction at an offset, which may be that of its cache."""
        return self._offsets[max(0, bisect(self._offsets, offset) - 1)]


@lru_cache(maxsize=256)
def _jumps(code: CodeType) -> _Jumps:
    return _Jumps(code)


@lru_cache(maxsize=1024)
def _leads_to(code: CodeType, before: int, now: int) -> bool:
    """Whether one instruction can follow another without a jump back."""
    if now <= before:
        return False
    jumps = _jumps(code)
    before, now, following = jumps.at(before), jumps.at(now), jumps.following
    seen, todo = {before}, [before]
    while todo:
        at = todo.pop()
        if at == now:
            return True
        for one in following.get(at, ()):
            if one <= now and one not in seen:
                seen.add(one)
                todo.append(one)
    return False


@lru_cache(maxsize=1024)
def _comes_after_loop(code: CodeType, before: int, now: int) -> bool:
    """Whether an instruction follows the loop around another one, in the same pass of the loop around both."""
    loops = _jumps(code).loops.items()
    of_now = [(begin, end) for begin, end in loops if begin <= now <= end]
    left = [begin for begin, end in loops if begin <= before <= end < now]
    is_around = bool(of_now) and all(begin <= before <= end for begin, end in of_now)
    return is_around and any(_leads_to(code, begin, now) for begin in left)


@lru_cache(maxsize=1024)
def _has_same_loop(code: CodeType, first: int, last: int) -> bool:
    """Whether the innermost loop around the first instruction contains the other one."""
    around = [(end - begin, begin <= last <= end) for begin, end in _jumps(code).loops.items() if begin <= first <= end]
    return bool(around) and min(around)[1]


@lru_cache(maxsize=1024)
def _is_in_loop(code: CodeType, first: int, last: int) -> bool:
    """Whether a loop contains both instructions."""
    return any(begin <= first and last <= end for begin, end in _jumps(code).loops.items())
