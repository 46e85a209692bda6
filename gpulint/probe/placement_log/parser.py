"""Parses TensorFlow's placement log from a stream that also carries the program's own output.

The lines come from `tf.debugging.set_log_device_placement(True)` or `log_device_placement=True`; `grammar` has their
forms. Nothing keeps lines apart in the stream: C stdio writes standard output in blocks of 4,096 bytes that end
anywhere, Python's output lands between them, and both streams may be one. A line may be cut in two by other text, and
one line may hold two (seen with 2.4 to 2.21). Whole lines are read, torn ones counted, nothing is guessed: a device
ends where its line ends, an op between its parentheses.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpulint.probe.placement_log import grammar
from gpulint.probe.placement_log.hints import MARKS, hints
from gpulint.probe.placement_log.records import Execution, Mapping, NoMapping, Placement, Record

MAX_LINE = 16_384
"""Length limit of a parsed line, without its end. The longest recorded line of TensorFlow's has 229 bytes."""

MAX_NAME = 1_000
"""Maximum length of a node name that is searched for at the end of other text."""

MAX_NODES = 20_000
"""Limit of remembered node names."""

_MARKS = (b"/job:", b"): /", b": (", b"Executing op ", b".cc:", b".h:", b"Device mapping:", *MARKS)
_MARKED = re.compile(b"|".join(map(re.escape, _MARKS)))
_HINTED = re.compile(b"|".join(map(re.escape, MARKS)))
_behind_number = re.compile(rb"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?(?=[A-Za-z])").match
"""Node names usually begin with a letter: a number before it was printed earlier."""

_NAME_CHARACTER = re.compile(rb"[\w.\\/>-]")


class Parsed(NamedTuple):
    """The result of parsing some bytes of a stream."""

    records: list[Record]
    text: bytes
    """Everything but the placement log, to be passed on."""
    spans: list[tuple[int, int]]
    """Placement log in the stream: offset of the first byte, and of the byte after the last."""


class Counts(NamedTuple):
    """Totals of a parser so far."""

    lines: int
    placements: int
    """Records of placements, executions and session devices."""
    recovered: int
    """Of these, lines interrupted by other text."""
    doubtful: int
    """Of these, nodes whose name may be cut off at the beginning."""
    torn: int
    """Lines that were cut and could not be read."""


class PlacementLogParser:
    """Parses one stream of one process from its start, in chunks of any size.

    `feed` returns the records of all finished lines and the text to pass on. An unfinished line is held back only while
    it may still become placement log; after some silence the caller passes on what `flush` returns. `pause` marks the
    end of one write, if the caller knows it. `close` ends the stream.
    """

    def __init__(self) -> None:
        self._line = b""
        """The unfinished line."""
        self._offset = 0
        """Its offset in the stream."""
        self._released = 0
        """Number of its bytes that were passed on."""
        self._ruled_out = 0
        """Number of its bytes that cannot begin anything of TensorFlow's."""
        self._seam = 0
        """Its length at the last pause."""
        self._overlong = False
        """Whether the current line exceeds the length limit."""
        self._trusted = True
        """Whether a line of form B that begins here begins with its node's name. False after other text, which may
        have been printed within the name."""
        self._open = False
        """Whether the end of a torn line is still to come."""
        self._names: dict[bytes, str] = {}
        """Interned ops and devices."""
        self._nodes: set[bytes] = set()
        """Node names that were read whole."""
        self._lines = self._placements = self._recovered = self._doubtful = self._torn = 0

    @property
    def counts(self) -> Counts:
        return Counts(self._lines, self._placements, self._recovered, self._doubtful, self._torn)

    @property
    def pending(self) -> bytes:
        """The held-back part of the unfinished line, which may still become placement log."""
        return self._line[self._released :]

    def flush(self) -> bytes:
        """Returns the held-back text, for output that waits. The line is still parsed when it ends, but the returned
        part is not in its span."""
        held = self.pending
        if held and not self._line.strip(grammar.NAME_CHARACTERS):
            self._trusted = False  # probably the program's own output, with a node's name to follow
        self._released = len(self._line)
        return held

    def pause(self) -> None:
        """Marks the end of a write: a node's name after it is complete, whatever precedes it in the line."""
        self._seam = len(self._line)

    def feed(self, data: bytes) -> Parsed:
        """Parses more bytes. The records are those of lines that end in `data`."""
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
        """Ends the stream: a line without an end is incomplete."""
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
            self._pass_on(line, spans, pieces)
            self._released = 0
        return Parsed(records, b"".join(pieces), spans)

    def _hold(self, pieces: list[bytes]) -> None:
        """Passes on the part of the unfinished line that cannot become placement log."""
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

    def _pass_on(self, lines: bytes, spans: list[tuple[int, int]], pieces: list[bytes]) -> None:
        """Collects the text outside the spans, without what was already passed on."""
        position = self._released
        for number, span in enumerate(spans):
            first, behind = span[0] - self._offset, span[1] - self._offset
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
        """Parses finished lines."""
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
        self._pass_on(lines, spans, pieces)

    def _named(self, name: bytes) -> str:
        """The interned string of an op or a device."""
        return self._names.setdefault(name, name.decode("utf-8", "replace"))

    def _read_other(self, line: bytes, offset: int, records: list[Record], spans: list[tuple[int, int]]) -> None:
        """Parses a line that is not exactly one placement in a modern form."""
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
        if grammar.PROFILER.match(line):
            spans.append((offset, offset + len(line)))
            return
        if _HINTED.search(line):
            records.extend(hints(line))
        torn = self._torn
        if self._read_torn(line, offset, records, spans):
            self._trusted, self._open = True, False
        elif torn < self._torn or not grammar.HEADER.match(line):
            self._trusted = False

    def _read_torn(self, line: bytes, offset: int, records: list[Record], spans: list[tuple[int, int]]) -> bool:
        """Parses a line interrupted by other text. Returns whether it ends like form B."""
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
                    continue  # just as likely the program's own output
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
        """Position of the last pause in the line at an offset, 0 if it is not in that part."""
        return self._seam if offset == self._offset and first <= self._seam < behind else 0

    def _node_in(self, text: bytes) -> bytes:
        """The node name that a text ends with, after other text: a name that was read before, or one after a number,
        as after an epoch's progress. b"" if unclear."""
        for start in range(max(0, len(text) - MAX_NAME), len(text)):
            if text[start:] in self._nodes and text[max(0, start - 1) : start] != b"/":
                return text[start:]
        number = _behind_number(text)
        return text[number.end() :] if number else b""

    def _count_torn(self, text: bytes, at_start: bool) -> None:
        """Counts torn lines that left their beginning or end in a text."""
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
