"""Messages between the server and its analysis process: pickled objects, each after its size."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from gpulint.linting.worker import Limits

SIZE = struct.Struct(">Q")


class Superseded(Exception):
    """The result of a call is no longer wanted."""


class Call(NamedTuple):
    """Call a method of the `Analyst` with some arguments."""

    method: Callable[..., Any]
    arguments: tuple[Any, ...]


class Stop(NamedTuple):
    """End the present call: it raises Superseded."""


class At(NamedTuple):
    """The call is about to analyse a file, within limits."""

    path: str
    limits: Limits


class Returned(NamedTuple):
    """The result of a call. `resident` is the memory of the process in bytes, 0 if it is unknown."""

    value: Any
    resident: int = 0


class Raised(NamedTuple):
    """Exception that a call raised, with its traceback."""

    error: Exception
    trace: str = ""


def packed(message: object) -> bytes:
    """A message as bytes."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return SIZE.pack(len(data)) + data


def unpacked(data: bytes) -> Any:
    """The message in the bytes after a size. Only for those of the process at the other end of a pipe."""
    return pickle.loads(data)
