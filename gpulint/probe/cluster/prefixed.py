"""Prints the output of several programs on one screen, with a prefix on each line."""

from __future__ import annotations

import os
import re
import selectors
import threading
import time
from collections.abc import Mapping

from gpulint.probe.launch.channel import write_all

_CHUNK = 1 << 16

_PATIENCE = 0.25
"""Seconds after which an unfinished line is shown: a prompt, or a bar that grows dot by dot."""

_QUIET = 0.1
"""Seconds of silence after the end that mean everything has arrived."""

_END = re.compile(rb"\r\n|\r(?!\Z)|\n")
"""The end of a line. Each redraw of a progress bar counts as a line; after a trailing carriage return the next byte
decides."""


class Prefixed:
    """Passes on what arrives from pipes, in its own thread.

    All bytes are kept; each line gets a prefix. If another worker writes while a line is unfinished, the line is ended,
    and its rest gets the prefix again.
    """

    def __init__(self, pipes: Mapping[int, tuple[bytes, int | None]]) -> None:
        """`pipes`: read end → prefix, and the descriptor to write to, None to discard."""
        self._sources = {pipe: _Source(prefix, target) for pipe, (prefix, target) in pipes.items()}
        self._open: dict[int, _Source] = {}
        """Descriptor → the source whose line is unfinished there."""
        self._over, self._end = os.pipe()
        self._thread = threading.Thread(target=self._run, name="gpulint lines", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Waits until everything received so far is passed on. The write ends may still be open."""
        os.close(self._end)
        self._thread.join()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for pipe in (*self._sources, self._over):
                selector.register(pipe, selectors.EVENT_READ)
            is_over, ready = False, set[int]()
            while ready or not is_over:
                ready = {key.fd for key, _ in selector.select(_QUIET if is_over else self._rest())}
                if self._over in ready:
                    is_over = True
                    selector.unregister(self._over)
                for pipe in ready - {self._over}:
                    if not self._take(pipe):
                        selector.unregister(pipe)
                        os.close(pipe)
                now = time.monotonic()
                for source in self._sources.values():
                    if source.held and source.since + _PATIENCE <= now:
                        self._write(source, source.flush())
            for source in self._sources.values():
                self._write(source, source.flush())
            for key in list(selector.get_map().values()):
                os.close(key.fd)
        os.close(self._over)

    def _rest(self) -> float | None:
        """How long to wait for more before held-back text is shown."""
        due = [source.since + _PATIENCE for source in self._sources.values() if source.held]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _take(self, pipe: int) -> bool:
        """Reads a ready pipe. Returns whether it stays open; closing it tells the writer that its reader has gone,
        as the descriptor itself would."""
        source = self._sources[pipe]
        data = os.read(pipe, _CHUNK)
        return self._write(source, source.lines(data) if data else source.flush()) and bool(data)

    def _write(self, source: _Source, pieces: list[bytes]) -> bool:
        """Whether the write succeeded."""
        if source.target is None or not pieces:
            return True
        other = self._open.pop(source.target, None)
        shown = []
        if other is not None and other is not source:
            other.is_begun = False
            shown.append(b"\n")
        for piece in pieces:
            shown += [piece] if source.is_begun else [source.prefix, piece]
            source.is_begun = not piece.endswith((b"\n", b"\r"))
        if not pieces[-1].endswith(b"\n"):
            self._open[source.target] = source
        try:
            write_all(source.target, b"".join(shown))
        except OSError:
            return False
        return True


class _Source:
    """One worker's stream."""

    def __init__(self, prefix: bytes, target: int | None) -> None:
        self.prefix = prefix
        self.target = target
        self.held = b""
        """The unfinished line so far."""
        self.since = 0.0
        """When it began."""
        self.is_begun = False
        """Whether a part of the line was shown."""

    def lines(self, data: bytes) -> list[bytes]:
        """The lines finished by this data."""
        text, found, end = self.held + data, [], 0
        for match in _END.finditer(text):
            found.append(text[end : match.end()])
            end = match.end()
        if found or not self.held:
            self.since = time.monotonic()
        self.held = text[end:]
        return [*found, *self.flush()] if len(self.held) > _CHUNK else found

    def flush(self) -> list[bytes]:
        """The unfinished line."""
        held, self.held = self.held, b""
        return [held] if held else []
