"""The connection to an editor: messages are read one after another until the editor ends the server.

The loop is gpulint's own: that of pygls takes memory for any length that a header names, and ends with a traceback on
`exit` and on what is no message.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Coroutine
from functools import partial
from typing import Any, BinaryIO, Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.io_ import StdoutWriter

from gpulint.server.application import Server

logger = logging.getLogger(__name__)

MAX_HEADER = 8_192
"""Maximum number of bytes in a line of a message's header."""

MAX_MESSAGE = 200_000_000
"""Maximum number of bytes in a message: an editor sends the whole text of an open document in one."""

_LENGTH = re.compile(rb"Content-Length:[ \t]*([0-9]{1,12})[ \t]*\r?\n", re.IGNORECASE)


class Unreadable(Exception):
    """What follows cannot be divided into messages. The text says why."""


class _Reader(Protocol):
    async def readline(self) -> bytes: ...

    async def readexactly(self, n: int) -> bytes: ...


class _File:
    """A blocking file, such as standard input, that is read in a thread of the server."""

    def __init__(self, file: BinaryIO, server: Server) -> None:
        self._file = file
        self._in_thread = partial(asyncio.get_running_loop().run_in_executor, server.thread_pool)

    async def readline(self) -> bytes:
        return await self._in_thread(self._file.readline, MAX_HEADER)

    async def readexactly(self, n: int) -> bytes:
        data = await self._in_thread(self._file.read, n)
        if len(data) < n:
            raise asyncio.IncompleteReadError(data, n)
        return data


def on_files(server: Server, stdin: BinaryIO, stdout: BinaryIO) -> int:
    """Serve the editor at the other ends of two pipes; the exit status."""

    async def talk() -> int:
        server.protocol.set_writer(StdoutWriter(stdout))
        return await _talk(server, _File(stdin, server))

    return _run(server, talk())


def on_port(server: Server, host: str, port: int) -> int:
    """Serve the first editor that connects to a port; the exit status. Raises OSError if the port is not free."""

    async def talk() -> int:
        connected: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

        async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connected.put_nowait((reader, writer))

        listening = await asyncio.start_server(connect, host, port)
        reader, writer = await connected.get()
        listening.close()
        server.protocol.set_writer(writer)
        try:
            return await _talk(server, reader)
        finally:
            writer.close()

    return _run(server, talk())


def _run(server: Server, talk: Coroutine[Any, Any, int]) -> int:
    try:
        return asyncio.run(talk)
    except ConnectionError:
        logger.error("the editor closed the connection")
        return 1
    finally:
        server.shutdown()  # type: ignore[no-untyped-call]


async def _talk(server: Server, reader: _Reader) -> int:
    """Handle messages until `exit` or the end of the input; the exit status, which the protocol defines."""
    was_shut_down = False
    try:
        while (body := await _body(reader)) is not None:
            try:
                message = json.loads(body, object_hook=server.protocol.structure_message)
                method = getattr(message, "method", None)
                if method == types.EXIT:
                    return 0 if was_shut_down else 1
                was_shut_down = was_shut_down or method == types.SHUTDOWN
                server.protocol.handle_message(message)
            except ConnectionError:
                raise
            except Exception as error:  # the next message is not affected
                logger.error("a message was skipped: %s", " ".join(f"{type(error).__name__}: {error}"[:200].split()))
                logger.debug("the message was %r", body[:1000], exc_info=True)
                server.report_server_error(error, JsonRpcException)
                _refuse(server, body, error)
        return 0
    except Unreadable as error:
        logger.error("the server ends: %s", error)
        return 1
    finally:
        asyncio.get_running_loop().set_exception_handler(_without_cancelled)
        try:
            await server.stop()
        except Exception as error:  # the server ends anyway, and its analysis process with its input
            logger.error("the session did not end: %s: %s", type(error).__name__, error)


def _refuse(server: Server, body: bytes, error: Exception) -> None:
    """Answer a request that was skipped, for which its sender waits."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return
    if isinstance(message, dict) and "method" in message and isinstance(message.get("id"), int | str):
        reason = error if isinstance(error, JsonRpcException) else JsonRpcInternalError()
        server.protocol._send_response(message["id"], error=reason.to_response_error())


def _without_cancelled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an exception in a callback, unless the end of the loop cancelled a request."""
    if not isinstance(context.get("exception"), asyncio.CancelledError):
        loop.default_exception_handler(context)


async def _body(reader: _Reader) -> bytes | None:
    """The body of the next message, None at the end of the input. Raises Unreadable."""
    length = 0
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # longer than the buffer of a socket
            line = b" " * MAX_HEADER
        if not line:
            return None
        if len(line) >= MAX_HEADER:
            raise Unreadable(f"a line of a message's header has more than {MAX_HEADER} bytes")
        if not line.strip() and length:
            break
        if line[:15].lower() == b"content-length:":
            matched = _LENGTH.fullmatch(line)
            length = int(matched[1]) if matched is not None else MAX_MESSAGE + 1
            if length > MAX_MESSAGE:
                raise Unreadable(f"a message has no Content-Length between 0 and {MAX_MESSAGE} bytes")
    try:
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        return None
