"""The server's connection: how it ends, and messages that are none."""

from __future__ import annotations

import io
import json
import logging
import socket
from collections.abc import Mapping
from typing import Any

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
from gpulint.server import serving
from gpulint.server.handlers import server
from gpulint.settings import SettingsFinder
from tests.server.programs import PINNED

JSON = Mapping[str, Any]

OPENED = {"textDocument": {"uri": "file:///nowhere/a.py", "languageId": "python", "version": 1, "text": PINNED}}


class _Pipe(io.BytesIO):
    """What the server writes, also after it has closed it."""

    def close(self) -> None:
        pass


def frame(method: str, params: JSON | None = None, number: int | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    body = json.dumps(message if number is None else {**message, "id": number}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


INITIALIZE = frame("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
START = INITIALIZE + frame("initialized", {})
SHUTDOWN = frame("shutdown", None, 2)
EXIT = frame("exit")


def serve(data: bytes) -> tuple[int, bytes]:
    """The exit status of a server with this input, and what it answers."""
    answers = _Pipe()
    status = serving.on_files(server(SettingsFinder(), installed=False), io.BytesIO(data), answers)
    return status, answers.getvalue()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (START + SHUTDOWN + EXIT, 0),
        (START + frame("textDocument/didOpen", OPENED) + SHUTDOWN + EXIT, 0),
        (SHUTDOWN + EXIT, 0),
        (START + EXIT, 1),
        (EXIT, 1),
        (START, 0),
        (b"", 0),
    ],
)
def test_the_end_leaves_no_line_in_the_log(data: bytes, status: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert serve(data)[0] == status
    assert caplog.messages == []


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: " + b"9" * 18 + b"\r\n\r\n",
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: five\r\n\r\n",
        b"x" * 100_000,
    ],
)
def test_input_that_cannot_be_divided_into_messages_ends_the_server_with_one_line(
    header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert serve(START + header + b"{}" + SHUTDOWN + EXIT)[0] == 1
    (line,) = caplog.messages
    assert line.startswith("the server ends: a ") and len(line) < 200


@pytest.mark.parametrize(
    "body", [b"[]", b"5", b"null", b"{", b"[" * 200_000, b'{"jsonrpc": 2}', b"\xff\xfe", b"9" * 9000]
)
def test_a_message_that_is_none_is_skipped(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        status, answers = serve(START + b"Content-Length: %d\r\n\r\n%b" % (len(body), body) + SHUTDOWN + EXIT)
    assert status == 0 and b'"id": 2' in answers
    (own,) = (one for one in caplog.records if one.name == serving.__name__)
    assert own.message.startswith("a message was skipped: ") and len(own.message) < 300 and not own.exc_info


@pytest.mark.parametrize("line", [2**31, -1, "x", None])
def test_a_request_that_is_skipped_is_answered(line: object) -> None:
    """An editor that gets no answer shows the request as pending for ever."""
    place = {"textDocument": {"uri": "file:///train.py"}, "position": {"line": line, "character": 0}}
    hover = frame("textDocument/hover", place, 7)
    status, answers = serve(START + hover + SHUTDOWN + EXIT)
    assert status == 0 and b'"id": 7' in answers and b'"code": -32602' in answers, answers


def test_headers_are_read_in_either_case_and_with_other_fields() -> None:
    other = INITIALIZE.replace(b"Content-Length:", b"Content-Type: x\r\ncontent-length:")
    status, answers = serve(other + SHUTDOWN + EXIT)
    assert status == 0 and b'"id": 1' in answers and b'"id": 2' in answers


@pytest.mark.parametrize("folder", ["http://[::1", "file://[", "untitled:x", "", "file:///nowhere%00"])
def test_a_folder_that_is_none_is_left_out(folder: str, caplog: pytest.LogCaptureFixture) -> None:
    folders = [{"uri": folder, "name": "a"}, {"uri": "file:///nowhere", "name": "b"}]
    start = frame("initialize", {"processId": None, "capabilities": {}, "workspaceFolders": folders}, 1)
    with caplog.at_level(logging.ERROR):
        status, answers = serve(start + frame("initialized", {}) + SHUTDOWN + EXIT)
    assert status == 0 and b'"capabilities"' in answers and caplog.messages == []


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = CliRunner().invoke(main, ["server", "--isolated", "--tcp", str(port)])
    assert done.exit_code == 2 and done.output.startswith(f"gpulint: --tcp {port}: "), done.output
