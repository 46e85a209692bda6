"""Output of several workers on one terminal."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpulint.probe.cluster.prefixed import Prefixed
from tests.probe.launch.launched import until


class Screen:
    """Two workers that print to one pipe, and the combined output."""

    def __init__(self) -> None:
        self.out, target = os.pipe()
        self.target = target
        pairs = [os.pipe() for _ in range(2)]
        self.workers = [write for _, write in pairs]
        self.lines = Prefixed({read: (b"[%d] " % index, target) for index, (read, _) in enumerate(pairs)})
        self._seen = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while data := os.read(self.out, 1 << 16):
            self._seen += data

    def finish(self) -> bytes:
        self.lines.finish()
        os.close(self.target)
        self._reader.join()
        return bytes(self._seen)

    def await_(self, text: bytes) -> None:
        limit = time.monotonic() + 300
        while text not in self._seen:
            assert time.monotonic() < limit, bytes(self._seen)
            time.sleep(0.01)


@contextmanager
def screen() -> Iterator[Screen]:
    made = Screen()
    try:
        yield made
    finally:
        for descriptor in made.workers:
            os.close(descriptor)


def unprefixed(text: bytes, index: int) -> bytes:
    """What worker `index` printed."""
    pieces = re.findall(rb"\[(\d)\] ([^\r\n]*(?:\r\n|\r|\n|$))", text)
    return b"".join(line for number, line in pieces if int(number) == index)


@pytest.mark.parametrize(
    "given",
    [
        b"one\ntwo\n",
        b"no end",
        b"\xff\xfe\x00 bytes\n\x80\n",
        b"\n\n\n",
        b"\r 10%\r 50%\r100%\n",
        b"one\r\ntwo\r\n",
        b"x" * 300_000 + b"\n",
        "Zeichen \u2014 \u65e5\u672c\n".encode() * 5000,
    ],
)
def test_every_byte_of_a_worker_comes_out_behind_its_prefix(given: bytes) -> None:
    with screen() as made:
        rest = memoryview(given)
        while rest:
            rest = rest[os.write(made.workers[1], rest[:50_000]) :]
        assert unprefixed(made.finish(), 1) == given


def test_lines_of_two_workers_stay_whole() -> None:
    with screen() as made:
        for number in range(200):
            os.write(made.workers[0], b"first %d, " % number)
            os.write(made.workers[1], b"second %d\n" % number)
            os.write(made.workers[0], b"and its end\n")
        lines = made.finish().splitlines()
    assert [line for line in lines if line.startswith(b"[1]")] == [b"[1] second %d" % number for number in range(200)]
    assert [line for line in lines if line.startswith(b"[0]")] == [
        b"[0] first %d, and its end" % number for number in range(200)
    ]


def test_a_prompt_is_shown_and_another_workers_line_does_not_run_into_it() -> None:
    with screen() as made:
        os.write(made.workers[0], b"Name: ")
        made.await_(b"[0] Name: ")
        os.write(made.workers[1], b"a line\n")
        made.await_(b"a line\n")
        os.write(made.workers[0], b"and more\n")
        assert made.finish() == b"[0] Name: \n[1] a line\n[0] and more\n"


def test_bars_that_are_drawn_over_and_over_do_not_run_into_each_other() -> None:
    with screen() as made:
        for part in (10, 20):
            for index in (0, 1):
                os.write(made.workers[index], b"\r%d%%" % part)
                made.await_(b"[%d] %d%%" % (index, part))
        shown = made.finish()
    assert all(not (b"[0]" in line and b"[1]" in line) for line in shown.split(b"\n"))


def test_a_worker_learns_that_nobody_reads_its_output() -> None:
    read, write = os.pipe()
    out, target = os.pipe()
    os.close(out)
    lines = Prefixed({read: (b"[0] ", target)})
    os.write(write, b"line\n")
    until(lambda: _is_broken(write))
    lines.finish()
    os.close(write)
    os.close(target)


def _is_broken(write: int) -> bool:
    try:
        os.write(write, b"line\n")
    except BrokenPipeError:
        return True
    return False
