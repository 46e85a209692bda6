"""One output stream of the program: read, parsed for placement log, and passed on, without the log where the agent
turned it on."""

from __future__ import annotations

import os
import re
import select
import threading
import time
from collections.abc import Callable

from gpulint.probe.launch.channel import Channel, write_all
from gpulint.probe.launch.progress import ProgressLine
from gpulint.probe.placement_log.grammar import PROFILER
from gpulint.probe.placement_log.summary import Summary

_CHUNK = 1 << 16

_BLOCK = 4096
"""Bytes that C stdio writes to a pipe at once, regardless of line ends."""

_PATIENCE = 0.1
"""Seconds after which an unfinished line that may still be placement log is passed on: it may be a prompt, or a line
that grows dot by dot."""

_SURE = 5.0
"""Seconds after which an unfinished line at the end of whole blocks is passed on: the program was in the middle of
writing, and the rest comes next."""

_REST = 0.02
"""Seconds to wait after a read of placement log only: a step writes several lines, and each would wake us."""

_LITTLE = 1 << 12
"""Number of bytes of a read of placement log above which there is no wait: the program must not block on us."""

_TAIL = 1 << 12
"""Bytes kept of the end of the output."""

_LOGGED = re.compile(r"[IWEF]\d{4} \d\d:\d\d:|\d{4}-\d\d-\d\d .*: [IWEF] |WARNING: All log messages before absl::")
"""How log lines of libraries begin: absl's, and TensorFlow's before 2.18."""

_LEFT_BEHIND = 1 << 20
"""Upper bound of what a pipe holds when the program ends. Anything beyond comes from a process that it left running."""


class Stream:
    """Drains a channel in its own thread, so that the program never waits for us."""

    def __init__(
        self,
        channel: Channel,
        summary: Summary,
        *,
        ended: int,
        holds_log: Callable[[], bool],
        mutes: Callable[[], bool] = lambda: False,
        line: ProgressLine | None,
    ) -> None:
        """`ended` is a descriptor that becomes readable, or reaches its end, once the program has ended. `holds_log`
        says whether placement log is to be held back from now on, `mutes` whether only what the profiler logs is."""
        self.summary = summary
        self.fault = ""
        """Our failure, "" if none."""
        self.received = 0
        """Bytes received."""
        self.blocked = False
        """Whether the program waits for the reader of our output."""
        self._tail = b""
        self.last_line = ""
        """The last non-blank line passed on, without library logs."""
        self.said_at = 0.0
        """When it was passed on."""
        self._channel = channel
        self._ended = ended
        self._asks_to_hold, self._mutes = holds_log, mutes
        self._holds_log = False
        self._line = line if channel.is_terminal else None
        self._parses = True
        self._gives_up_at = 0.0
        """When held-back text is passed on."""
        self._thread = threading.Thread(target=self._run, name="gpulint stream", daemon=True)

    def start(self) -> None:
        """Starts draining."""
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether everything was passed on within some seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._drain()
        except OSError as error:
            # The reader of our output has closed it, or the disk is full. The program gets the same error as for its
            # own output: its pipe is closed.
            if not isinstance(error, BrokenPipeError):
                self.fault = f"{self._channel.name}: {error.strerror}"
        finally:
            self.blocked = False
            os.close(self._channel.outer)

    def _drain(self) -> None:
        source = self._channel.outer
        poller = select.poll()
        poller.register(source, select.POLLIN)
        poller.register(self._ended, select.POLLIN)
        left: int | None = None
        while left is None or left > 0:
            ready = {descriptor for descriptor, _ in poller.poll(self._patience(ended=left is not None))}
            if self._ended in ready:
                poller.unregister(self._ended)
                left = _LEFT_BEHIND
            if source in ready:
                data = self._read(source)
                if not data:
                    break
                self.received += len(data)
                if left is not None:
                    left -= len(data)
                text = self._passed_on(data)
                self._write(text)
                if len(data) % _BLOCK:
                    self.summary.pause()
                if not text and not self._held and len(data) <= _LITTLE and self._channel.is_roomy:
                    time.sleep(_REST)
            elif left is not None and not ready:
                break
            elif self._held and time.monotonic() >= self._gives_up_at:
                self._write(self.summary.flush())
        self._write(self._rest())

    @property
    def _held(self) -> bytes:
        """Text received and not passed on yet."""
        return self.summary.pending if self._holds_log and self._parses else b""

    def _patience(self, *, ended: bool) -> float | None:
        """Milliseconds to wait for the next output, None for no limit."""
        if ended:
            return _PATIENCE * 1000
        return max(0.0, self._gives_up_at - time.monotonic()) * 1000 if self._held else None

    @staticmethod
    def _read(source: int) -> bytes:
        try:
            return os.read(source, _CHUNK)
        except OSError:
            return b""  # how a terminal reports that its other end is closed

    def _passed_on(self, data: bytes) -> bytes:
        """The part of the data that users get to see now."""
        if not self._parses:
            return data
        held = self._held
        if not held or b"\n" in data:
            self._gives_up_at = time.monotonic() + (_PATIENCE if len(data) % _BLOCK else _SURE)
        try:
            holds_log = self._asks_to_hold()
            if holds_log and not self._holds_log:
                self.summary.flush()  # already shown
            self._holds_log = holds_log
            parsed = self.summary.feed(data)
            if holds_log:
                return parsed.text
            return _without_profiler(held + data) if self._mutes() else held + data
        except Exception as error:  # a parser error must not cost output
            return self._stop_parsing(error, held + data)

    def _rest(self) -> bytes:
        if not self._parses:
            return b""
        held = self._held
        try:
            text = self.summary.close().text
            return text if self._holds_log else b""
        except Exception as error:
            return self._stop_parsing(error, held)

    def _stop_parsing(self, error: Exception, text: bytes) -> bytes:
        self._parses = False
        self.fault = f"{self._channel.name}: {type(error).__name__}: {error}"
        return text

    def _keep_last(self, text: bytes) -> None:
        self._tail = (self._tail + text)[-_TAIL:]
        lines = (line.strip() for line in reversed(self._tail.decode("utf-8", "replace").splitlines()))
        last = next((line for line in lines if line and not _LOGGED.match(line)), "")
        if last and text.strip():
            self.last_line, self.said_at = last, time.monotonic()
            self._tail = self._tail[self._tail.rfind(b"\n") + 1 :]

    def _write(self, text: bytes) -> None:
        """Writes all of a text at once. Raises OSError if the reader has closed it."""
        target = self._channel.target
        self._keep_last(text)
        if not text or target is None:
            return
        self.blocked = True
        try:
            if self._line is None:
                write_all(target, text)
            else:
                with self._line.aside(text):
                    write_all(target, text)
        finally:
            self.blocked = False


def _without_profiler(data: bytes) -> bytes:
    """The data without the whole lines that the profiler logs about itself, each of which is written at once."""
    if b".cc:" not in data:
        return data
    lines = data.splitlines(keepends=True)
    return b"".join(line for line in lines if not (line.endswith(b"\n") and PROFILER.match(line)))
