"""The analysis process: it does one call after another until its standard input ends."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import traceback
from typing import BinaryIO

from gpulint.linting.deep_stack import collecting_seldom
from gpulint.linting.worker import Limits
from gpulint.server.analyst import Analyst
from gpulint.server.folders import Folders
from gpulint.server.messages import SIZE, At, Call, Raised, Returned, Stop, Superseded, packed, unpacked

if sys.platform != "win32":
    import resource


class _Stopped(BaseException):
    """Another message came during a call. Not an Exception, which is taken for the fault of a rule."""


class _Child:
    def __init__(self, outbox: BinaryIO) -> None:
        self._outbox = outbox
        self._inbox: queue.SimpleQueue[Folders | Call | Stop] = queue.SimpleQueue()
        self._analyst: Analyst | None = None

    def read(self, pipe: BinaryIO) -> None:
        """Receive messages until the pipe ends; then nobody waits for this process."""
        while len(size := pipe.read(SIZE.size)) == SIZE.size:
            self._inbox.put(unpacked(pipe.read(*SIZE.unpack(size))))
        os._exit(0)

    def serve(self) -> None:
        while True:
            message = self._inbox.get()
            if isinstance(message, Folders):
                self._analyst = Analyst(message, self._begun)
            elif isinstance(message, Call):
                self._send(self._result(message))
                if self._analyst is not None and self._inbox.empty():
                    self._analyst.tidy()

    def _result(self, call: Call) -> Returned | Raised:
        try:
            return Returned(call.method(self._analyst, *call.arguments), _resident())
        except _Stopped:
            return Raised(Superseded())
        except Exception as error:
            return Raised(error, traceback.format_exc())

    def _begun(self, path: str, limits: Limits) -> None:
        if not self._inbox.empty():
            raise _Stopped
        limits.impose()
        limits.start_clock()
        self._send(At(path, limits))

    def _send(self, message: Returned | Raised | At) -> None:
        try:
            data = packed(message)
        except Exception as error:  # a rule can raise what cannot be sent
            data = packed(Raised(RuntimeError(f"{type(error).__name__}: {error}")))
        self._outbox.write(data)
        self._outbox.flush()


def _resident() -> int:
    """Memory of this process in bytes, 0 if the system does not tell the present figure."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main() -> None:
    """Serve the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the editor's terminal: the server ends this process
    outbox = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a plug-in rule can print
    child = _Child(outbox)
    threading.Thread(target=child.read, args=(sys.stdin.buffer,), daemon=True).start()
    with collecting_seldom():
        child.serve()
