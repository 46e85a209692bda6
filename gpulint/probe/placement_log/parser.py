"""Reading TensorFlow's placement log out of a stream that the program's own output is mixed with.

The lines come with `tf.debugging.set_log_device_placement(True)` or `log_device_placement=True`; `placement_grammar`
has their forms. The stream is a pipe or a file where nobody keeps lines apart: C stdio writes standard output in
blocks of 4,096 bytes that end anywhere, what Python prints lands between them, and both streams may be one. So a line
can be cut in two by other text, or two lines stand in one (seen with 2.4 to 2.21). What is whole is read, what is
torn is counted, and nothing is guessed: a device ends where its line ends, an op between its parentheses.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpulint.probe.placement_log import grammar
from gpulint.probe.placement_log.hints import MARKS, hints
from gpulint.probe.placement_log.records import Execution, Mapping, NoMapping, Placement, Record

MAX_LINE = 16_384
"""The longest line, without its end, that is read. The longest one of TensorFlow's in the recordings has 229 bytes."""

MAX_NODES = 20_000
"""Names of nodes that are remembered."""

_MARKS = (b"/job:", b"): /", b": (", b"Executing op ", b".cc:", b".h:", b"Device mapping:", *MARKS)
_MARKED = re.compile(b"|".join(map(re.escape, _MARKS)))
_HINTED = re.compile(b"|".join(map(re.escape, MARKS)))
_behind_number = re.compile(rb"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?(?=[A-Za-z])").match
"""Names of nodes begin with a letter, as a rule; where a number stands before it, that was printed before."""

_NAME_CHARACTER = re.compile(rb"[\w.\\/>-]")


class Parsed(NamedTuple):
    """What came of some bytes of a stream."""

    records: list[Record]
    text: bytes
    """What is not TensorFlow's placement log, to be passed on."""
    spans: list[tuple[int, int]]
    """Where in the stream placement log was: first byte and the one behind the last."""


class Counts(NamedTuple):
    """What a parser has seen so far."""

    lines: int
    placements: int
    """Records of placements, executions and sessions' devices."""
    recovered: int
    """Those among them whose line other text had run into."""
    doubtful: int
    """Those among them where the node's name may lack its beginning."""
    torn: int
    """Lines that could not be read because they were cut."""


class PlacementLogParser:
    """Reads one stream of one process, from its start, in chunks of any size.

    `feed` gives the records of all lines that have ended and the text to pass on. An unfinished line is held back only
    as far as it can still become placement log; after some time of silence a caller passes on what `flush` gives.
    `pause` says where one writing has ended, where a caller knows. `close` ends the stream.
    """

    def __init__(self) -> None:
        self._line = b""
        """The line that has not ended yet."""
        self._offset = 0
        """Where in the stream it begins."""
        self._released = 0
        """How much of it was passed on."""
        self._ruled_out = 0
        """How much of it cannot be the beginning of anything of TensorFlow's."""
        self._seam = 0
        """How much of it was there at the last pause."""
        self._overlong = False
        """Whether a line is under way that is too long to be read."""
        self._trusted = True
        """Whether a line of the form B that begins now begins with its node's name: not so behind other text, which
        may have been printed in the midst of that name."""
        self._open = False
        """Whether the end of a torn line is still to come."""
        self._names: dict[bytes, str] = {}
        """Ops and devices, each made a string once."""
        self._nodes: set[bytes] = set()
        """Names of nodes that were read whole."""
        self._lines = self._placements = self._recovered = self._doubtful = self._torn = 0

    @property
    def counts(self) -> Counts:
        return Counts(self._lines, self._placements, self._recovered, self._doubtful, self._torn)

    @property
    def pending(self) -> bytes:
        """What is held back: the unfinished line as far as it can still become placement log."""
        return self._line[self._released :]

    def flush(self) -> bytes:
        """Gives up holding back, for output that waits. A line that ends later is read all the same; the part of it
        that was given up is then no part of its span."""
        held = self.pending
        if held and not self._line.strip(grammar.NAME_CHARACTERS):
            self._trusted = False  # more likely what a user prints, with the name of a node to come behind it
        self._released = len(self._line)
        return held

    def pause(self) -> None:
        """What comes next is written by itself: the name of a node that begins there begins with its first letter,
        whatever is before it in the line."""
        self._seam = len(self._line)

    def feed(self, data: bytes) -> Parsed:
        """Reads on. The records are those of the lines that end in `data`."""
        pieces: list[bytes] = []
        records: list[Record] = []
        spans: list[tuple[int, int]] = []
        if self._overlong:
            ended = re.search(rb"\r?\n|\r(?=[^\n])", data)
            stop = ended.end() if ended else len(data) - data.endswith(b"\r")
            pieces.append(data[:stop])
            self._lines += data.count(b"\n", 0, stop)
            self._offset += stop
            self._overlong = ended is None
            data = data[stop:]
        buffer = self._line + data
        if not buffer or self._overlong:
            self._line = buffer
            return Parsed(records, b"".join(pieces), spans)
        newline = buffer.rfind(b"\n")
        stop = max(newline, buffer.rfind(b"\r", newline + 1, len(buffer) - 1)) + 1
        if stop:
            self._read_lines(buffer[:stop], records, pieces, spans)
            self._offset += stop
            self._released = self._ruled_out = self._seam = 0
        self._line = buffer[stop:]
        if self._line:
            self._hold(pieces)
        return Parsed(records, b"".join(pieces), spans)

    def close(self) -> Parsed:
        """Ends the stream: a line without an end is not whole."""
        pieces: list[bytes] = []
        records: list[Record] = []
        spans: list[tuple[int, int]] = []
        if self._line:
            line, self._line = self._line, b""
            self._lines += 1
            begun = grammar.STARTING.match(line) is not None and (b": (" in line or b".cc:" in line)
            torn = self._torn
            self._read_torn(line, self._offset, records, spans)
            if begun and not records and torn == self._torn:
                self._torn += 1
            self._pass_on(line, 0, spans, pieces)
            self._released = 0
        return Parsed(records, b"".join(pieces), spans)

    def _hold(self, pieces: list[bytes]) -> None:
        """Passes on what of the unfinished line cannot become placement log."""
        line = self._line
        if len(line.rstrip(b"\r")) > MAX_LINE:
            pieces.append(line[self._released :])
            self._offset += len(line)
            self._overlong, self._trusted, self._line = True, False, b""
            self._released = self._ruled_out = self._seam = 0
        elif self._ruled_out or not grammar.STARTING.match(line):
            held = grammar.UNFINISHED.search(line, self._ruled_out)
            self._ruled_out = held.start() if held else len(line)
            if self._ruled_out > self._released:
                pieces.append(line[self._released : self._ruled_out])
                self._released = self._ruled_out

    def _pass_on(self, lines: bytes, start: int, spans: list[tuple[int, int]], pieces: list[bytes]) -> None:
        """Collects what lies outside of the spans, from which it takes what was passed on already."""
        position = self._released
        for number in range(start, len(spans)):
            first, behind = spans[number][0] - self._offset, spans[number][1] - self._offset
            if first > position:
                pieces.append(lines[position:first])
            if first < position:
                spans[number] = (self._offset + min(position, behind), self._offset + behind)
            position = max(position, behind)
        if position < len(lines):
            pieces.append(lines[position:])

    def _read_lines(
        self, lines: bytes, records: list[Record], pieces: list[bytes], spans: list[tuple[int, int]]
    ) -> None:
        """Reads lines that have ended, all of them."""
        self._lines += lines.count(b"\n")
        if not any(mark in lines for mark in _MARKS):
            self._trusted = self._trusted and not _NAME_CHARACTER.search(lines)
            pieces.append(lines[self._released :])
            return
        whole, names = grammar.WHOLE.match, self._names
        behind = self._offset
        first = last = -1
        for line in lines.splitlines(keepends=True):
            position, behind = behind, behind + len(line)
            found = whole(line)
            if found is None or len(line) > MAX_LINE:
                if _MARKED.search(line) and len(line.rstrip(b"\r\n")) <= MAX_LINE:
                    if first >= 0:
                        spans.append((first, last))
                        first = -1
                    self._read_other(line, position, records, spans)
                elif self._trusted and _NAME_CHARACTER.search(line):  # a line with a header has a mark
                    self._trusted = False
                continue
            header, node, op, ran, where = found.groups()
            if header is None and node is not None:
                if node not in self._nodes and (
                    _behind_number(node) or self._seam_in(found.start(2), found.end(2), position)
                ):
                    if first >= 0:
                        spans.append((first, last))
                        first = -1
                    self._read_other(line, position, records, spans)
                    continue
                if self._trusted and len(self._nodes) < MAX_NODES:
                    self._nodes.add(node)
            device = names.get(where) or self._named(where)
            if node is None:
                records.append(Execution(names.get(ran) or self._named(ran), device))
            elif header is not None or self._trusted:
                records.append(Placement(str(node, "ascii"), names.get(op) or self._named(op), device))
            else:
                records.append(Placement(str(node, "ascii"), self._named(op), device, False))
                self._doubtful += 1
                self._trusted = True
            if header is None:
                self._open = False
            if position != last or first < 0:
                if first >= 0:
                    spans.append((first, last))
                first = position
            last = behind
            self._placements += 1
        if first >= 0:
            spans.append((first, last))
        self._pass_on(lines, 0, spans, pieces)

    def _named(self, name: bytes) -> str:
        """The string of an op or a device, the same object for the same name."""
        return self._names.setdefault(name, name.decode("utf-8", "replace"))

    def _read_other(self, line: bytes, offset: int, records: list[Record], spans: list[tuple[int, int]]) -> None:
        """Reads a line that is not, as a whole, a placement of today's forms."""
        record: Record | None = None
        found = grammar.OLD.match(line)
        if found:
            header, node, device = found.groups()
            record = Placement(str(node, "ascii"), "", self._named(device), header is not None or self._trusted)
            self._doubtful += not record.whole
        elif found := grammar.MAPPING.match(line):
            record = Mapping(self._named(found[1]), found[2].decode("utf-8", "replace"))
        elif found := grammar.MAPPING_HEAD.match(line):
            record = NoMapping() if found[1] else None
        if found:
            spans.append((offset, offset + len(line)))
            if record is not None:
                records.append(record)
                self._placements += 1
            self._trusted = True
            return
        if _HINTED.search(line):
            records.extend(hints(line))
        torn = self._torn
        if self._read_torn(line, offset, records, spans):
            self._trusted, self._open = True, False
        elif torn < self._torn or not grammar.HEADER.match(line):
            self._trusted = False

    def _read_torn(self, line: bytes, offset: int, records: list[Record], spans: list[tuple[int, int]]) -> bool:
        """Reads what other text has run into. Returns whether the line ends as one of the form B does."""
        behind, ended = 0, False
        for found in grammar.INNER.finditer(line):
            _, ran, op, _, device = found.groups()
            gap, start = line[behind : found.start()], found.start()
            record: Record
            if ran is not None:
                record, ended = Execution(self._named(ran), self._named(device)), False
            else:
                run = gap if op is None else gap.removesuffix(b": ") if gap.endswith(b": ") else b""
                before = run.rstrip(grammar.NAME_CHARACTERS)
                node = run[len(before) :]
                header = grammar.BEFORE_NODE.search(before) if node else None
                named = behind + len(before)
                if header is not None:
                    start, whole = behind + (header.start() if header[1] else len(before)), True
                elif op is None:
                    continue  # what people print, as likely
                elif node not in self._nodes and (seam := self._seam_in(named, named + len(node), offset)):
                    node, start, whole = node[seam - named :], seam, True
                elif node and behind == 0 and not before and not _behind_number(node):
                    start, whole = 0, self._trusted
                else:
                    node, whole = self._node_in(node), False
                    start -= len(node) + len(b": ") if node else 0
                record = Placement(str(node, "ascii"), self._named(op or b""), self._named(device), whole)
                self._doubtful += not whole
                ended = header is None
            self._count_torn(line[behind:start], behind == 0)
            rest = grammar.REST_OF_LINE.match(line, found.end())
            ended = ended and rest is not None
            first, behind = offset + start, rest.end() if rest else found.end()
            records.append(record)
            spans.append((first, offset + behind))
            self._placements += 1
            self._recovered += 1
        self._count_torn(line[behind:], behind == 0)
        return ended

    def _seam_in(self, first: int, behind: int, offset: int) -> int:
        """Where in the line at an offset the last pause was, 0 where it was not in that part of it."""
        return self._seam if offset == self._offset and first <= self._seam < behind else 0

    def _node_in(self, text: bytes) -> bytes:
        """The name of a node that a text ends with, where something else stands before it: one that was read before, or
        what comes behind a number, as it does behind the progress of an epoch. b"" where it cannot be told."""
        for start in range(len(text)):
            if text[start:] in self._nodes and text[max(0, start - 1) : start] != b"/":
                return text[start:]
        number = _behind_number(text)
        return text[number.end() :] if number else b""

    def _count_torn(self, text: bytes, at_start: bool) -> None:
        """Counts the torn lines that left their beginning or their end in a text."""
        heads = 0
        if at_start and self._placements and grammar.WEAK_HEAD.match(text):
            heads = 1
        else:
            heads = sum(
                self._placements > 0 or head[0].startswith((b"I", b"/")) for head in grammar.HEAD.finditer(text)
            )
        if heads:
            self._torn += heads
            self._open = True
        elif grammar.TAIL.search(text):
            self._torn += not self._open
            self._open = False
