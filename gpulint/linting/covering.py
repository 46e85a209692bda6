"""Which findings suppression comments cover, in time linear in both (up to logarithms)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush

from gpulint.linting.finding import Finding
from gpulint.sources.suppressions import Suppression

_Key = tuple[str, "int | None"]
"""A rule code ("" for all rules) and a cell (`_FILE` for all cells) that comments and findings share."""

_FILE = -1


class Covering:
    """The comments of one file, matched with its findings."""

    def __init__(self, comments: Sequence[Suppression], found: Iterable[Finding]) -> None:
        self._comments = comments
        self._rows: dict[_Key, list[int]] = defaultdict(list)
        for finding in found:
            for key in _keys_of_finding(finding):
                self._rows[key] += (finding.span.row, finding.span.end_row)
        for rows in self._rows.values():
            rows.sort()
        spans: dict[_Key, list[_Span]] = defaultdict(list)
        for index, comment in enumerate(comments):
            for key in _keys_of_comment(comment):
                if key in self._rows:
                    spans[key].append((comment.first, comment.last, index))
        self._first = {key: _First(each) for key, each in spans.items()}
        self._first_with_reason = {
            key: _First([one for one in each if comments[one[2]].reason]) for key, each in spans.items()
        }

    def is_used(self, comment: Suppression) -> bool:
        """Whether a comment covers any of the findings."""
        for key in _keys_of_comment(comment):
            rows = self._rows.get(key, ())
            at = bisect_left(rows, comment.first)
            if at < len(rows) and rows[at] <= comment.last:
                return True
        return False

    def reason(self, finding: Finding) -> str | None:
        """Reason of the first comment that has one for a finding: "" if none has, None if no comment covers it."""
        rows = (finding.span.row, finding.span.end_row)
        keys = [key for key in _keys_of_finding(finding) if key in self._first]
        if all(self._first[key].at(row) is None for key in keys for row in rows):
            return None
        with_reason = [
            index for key in keys for row in rows if (index := self._first_with_reason[key].at(row)) is not None
        ]
        return self._comments[min(with_reason)].reason if with_reason else ""


def _keys_of_finding(finding: Finding) -> tuple[_Key, ...]:
    cell = finding.span.cell
    return (finding.code, cell), ("", cell), (finding.code, _FILE)


def _keys_of_comment(comment: Suppression) -> Iterator[_Key]:
    cell = _FILE if comment.kind == "file-ignore" else comment.cell
    return ((code, cell) for code in comment.codes or ("",))


_Span = tuple[int, int, int]
"""First row, last row, and number of a comment."""


class _First:
    """The lowest comment number among the spans that cover a row."""

    def __init__(self, spans: Iterable[_Span]) -> None:
        ordered = sorted(spans)
        self._starts = sorted({row for first, last, _ in ordered for row in (first, last + 1)})
        self._numbers: list[int | None] = []
        over: list[tuple[int, int]] = []
        done = 0
        for row in self._starts:
            while done < len(ordered) and ordered[done][0] <= row:
                _, last, number = ordered[done]
                heappush(over, (number, last))
                done += 1
            while over and over[0][1] < row:
                heappop(over)
            self._numbers.append(over[0][0] if over else None)

    def at(self, row: int) -> int | None:
        """None for a row that no span covers."""
        index = bisect_right(self._starts, row) - 1
        return self._numbers[index] if index >= 0 else None
