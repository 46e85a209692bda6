"""Placement logs for tests: the recordings, and how to parse bytes in one go or in pieces."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gpulint.probe.placement_log.parser import Counts, PlacementLogParser
from gpulint.probe.placement_log.records import Record

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "placement_logs"
RECORDINGS = {path.name.removesuffix(".log"): path.read_bytes() for path in sorted(FOLDER.glob("*.log"))}


class Outcome(NamedTuple):
    """Everything that the parser returned for a stream."""

    records: list[Record]
    text: bytes
    counts: Counts


def parse(*chunks: bytes) -> Outcome:
    """Parse a stream to its end; the text passed on must be the text outside the spans, in order."""
    parser = PlacementLogParser()
    parsed = [parser.feed(chunk) for chunk in chunks] + [parser.close()]
    text = b"".join(part.text for part in parsed)
    stream, outside, position = b"".join(chunks), list[bytes](), 0
    for first, behind in (span for part in parsed for span in part.spans):
        assert position <= first <= behind <= len(stream)
        outside.append(stream[position:first])
        position = behind
    assert text == b"".join([*outside, stream[position:]])
    assert parser.pending == b""
    return Outcome([record for part in parsed for record in part.records], text, parser.counts)


@cache
def at_once(name: str) -> Outcome:
    """What a recording says, read in one piece."""
    return parse(RECORDINGS[name])


def pieces(stream: bytes, cuts: Iterable[int]) -> list[bytes]:
    """A stream, cut at these offsets."""
    places = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    return [stream[first:behind] for first, behind in itertools.pairwise(places)]
