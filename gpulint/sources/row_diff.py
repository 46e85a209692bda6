"""Which rows of a text are new, in bounded time for any texts."""

from __future__ import annotations

import io
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from operator import itemgetter
from typing import NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)

Places = tuple[tuple[int, int], ...]
"""Inclusive ranges of places in a text. Row n is place 2n; 2n + 1 is between the rows n and n + 1."""

EVERYWHERE: Places = ((0, sys.maxsize),)

_BUDGET = 500_000
"""Maximum number of rows visited, a few seconds; rows not matched by then count as new."""

_SMALL = 2_500
"""Maximum product of the numbers of rows that are compared pairwise."""


def new_places(before: bytes, after: bytes) -> Places:
    """Places of `after` with rows that `before` lacks, and those at which `before` has more. Ignores line ends."""
    before, after = _with_newlines(before), _with_newlines(after)
    if before.count(b"\n") + after.count(b"\n") > _BUDGET:
        return () if before == after else EVERYWHERE
    numbers: dict[bytes, int] = {}
    old, new = ([numbers.setdefault(row, len(numbers)) for row in io.BytesIO(text)] for text in (before, after))
    return tuple(
        (2 * one.start + 2, 2 * one.end) if one.start < one.end else (2 * one.start + 1,) * 2
        for one in differences(old, new)
    )


def _with_newlines(text: bytes) -> bytes:
    text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text if text.endswith(b"\n") or not text else text + b"\n"


class Difference(NamedTuple):
    """Rows `old[first:last]` that are replaced by `new[start:end]`. One of the two can be empty."""

    first: int
    last: int
    start: int
    end: int


def differences(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Difference]:
    """The differences of two sequences of rows, in order. Not always minimal, which would take longer."""
    return sorted(_differences(old, new))


def _differences(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[Difference]:
    """Patience diff: match rows that are unique on both sides, then do the same within the gaps between them."""
    budget = _BUDGET
    pending = [(0, len(old), 0, len(new))]
    while pending:
        first, last, start, end = pending.pop()
        while first < last and start < end and old[first] == new[start]:
            first, start = first + 1, start + 1
        while first < last and start < end and old[last - 1] == new[end - 1]:
            last, end = last - 1, end - 1
        pairs: list[tuple[int, int]] = []
        if first < last and start < end and (budget := budget - (last - first) - (end - start)) > 0:
            pairs = _unique_pairs(old[first:last], new[start:end])
            if not pairs and (cost := (last - first) * (end - start)) <= min(_SMALL, budget):
                budget -= cost
                pairs = _similar_pairs(old[first:last], new[start:end])
        if pairs:
            below, right = first, start
            for i, j in [*pairs, (last - first, end - start)]:
                if below < first + i or right < start + j:
                    pending.append((below, first + i, right, start + j))
                below, right = first + i + 1, start + j + 1
        elif first < last or start < end:
            yield Difference(first, last, start, end)


def _unique_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """A longest common subsequence of the rows that occur once on each side."""
    olds, news = _single(old), _single(new)
    candidates = [(olds[row], index) for row, index in news.items() if row in olds]
    candidates.sort(key=itemgetter(1))
    ends: list[int] = []  # length of an increasing run → its smallest last index
    last: list[int] = []  # the candidate with that index
    before: list[int] = []
    for number, (index, _) in enumerate(candidates):
        length = bisect_left(ends, index)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(index)
            last.append(number)
        else:
            ends[length], last[length] = index, number
    run = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(candidates[number])
        number = before[number]
    return run[::-1]


def _single(rows: Sequence[T]) -> dict[T, int]:
    """Index of each row that occurs once."""
    count = Counter(rows)
    return {row: index for index, row in enumerate(rows) if count[row] == 1}


def _similar_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [(i + k, j + k) for i, j, size in blocks for k in range(size)]
