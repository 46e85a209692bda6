"""What an editor waits for: processor time from opening, typing and hovering to the answer, through the protocol.

    python benchmarks/server.py FOLDER FILE… [--edits N] [--hovers N]

Opens FOLDER as a workspace and each FILE of it in turn, types N comments into the middle of each, saves it, and hovers
while a check runs. It prints

* in seconds of processor time of the server and its analysis process: opening (until the first diagnostics, and until
  the server is idle), edit → diagnostics (median, 95th percentile, slowest), saving;
* in milliseconds of wall time: hovering while a check runs;
* in megabytes: the peak of resident memory of both processes together.

Run it on a copy, since the server writes its cache into the folder. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

TICKS = os.sysconf("SC_CLK_TCK")

SETTLED = 0.3
"""Seconds without processor time, and without a thread that waits for some, after which the server has nothing more to
do."""


class Usage:
    """Processor time and memory of a process and its children."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.peak = 0.0

    def processes(self) -> list[str]:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [str(self.pid), *children]

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        total = 0
        for pid in self.processes():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))  # its own, and that of children that have ended
        self.peak = max(self.peak, self.memory())
        return total / TICKS

    def memory(self) -> float:
        """Megabytes in memory now."""
        pages = (int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.processes())
        return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def is_busy(self) -> bool:
        """Whether a thread runs, or would if there were a processor for it."""
        for pid in self.processes():
            for thread in Path(f"/proc/{pid}/task").iterdir():
                with suppress(FileNotFoundError):  # the thread has ended
                    if (thread / "stat").read_text().rpartition(")")[2].split()[0] in "RD":
                        return True
        return False

    async def settled(self) -> float:
        """Processor time once the server has nothing more to do."""
        before, quiet = self.cpu(), 0.0
        while quiet < SETTLED:
            await asyncio.sleep(0.05)
            now = self.cpu()
            quiet, before = (0.0 if self.is_busy() or now > before + 1 / TICKS else quiet + 0.05), now
        return before


class Editor:
    def __init__(self) -> None:
        self.client = LanguageClient("benchmark", "1")
        self.seen: set[tuple[str, int | None]] = set()
        self.news = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.seen.add((params.uri, params.version))
            self.news.set()

    async def start(self, folder: Path) -> Usage:
        await self.client.start_io(sys.executable, "-m", "gpulint", "server")
        await self.client.initialize_async(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(),
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), "benchmark")],
                initialization_options={"debounce": 0},
            )
        )
        self.client.initialized(types.InitializedParams())
        assert self.client._server is not None
        return Usage(self.client._server.pid)

    async def diagnostics(self, uri: str, version: int) -> None:
        while (uri, version) not in self.seen:
            self.news.clear()
            await self.news.wait()

    def type(self, uri: str, version: int, text: str) -> None:
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=version, uri=uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )


def percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


async def measure(folder: Path, names: list[str], edits: int, hovers: int) -> None:
    editor = Editor()
    usage = await editor.start(folder)
    started = await usage.settled()
    print(f"started: {started:.2f} s")
    all_edits: list[float] = []
    all_hovers: list[float] = []
    for name in names:
        path = folder / name
        text, uri = path.read_text("utf-8"), path.as_uri()
        rows = text.splitlines(keepends=True)
        before = usage.cpu()
        item = types.TextDocumentItem(uri, "python", 0, text)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await editor.diagnostics(uri, 0)
        first = usage.cpu() - before
        whole = await usage.settled() - before
        identifier = types.TextDocumentIdentifier(uri)
        await editor.client.text_document_hover_async(types.HoverParams(identifier, types.Position(len(rows) // 2, 8)))
        times, waits = [], []
        for version in range(1, edits + 1):
            before = await usage.settled()
            middle = len(rows) // 2
            rows.insert(middle - middle % 2, f"# {version}\n")
            editor.type(uri, version, "".join(rows))
            await editor.diagnostics(uri, version)
            times.append(usage.cpu() - before)
        for version in range(edits + 1, edits + hovers + 1):
            editor.type(uri, version, f"# {version}\n{text}")
            await asyncio.sleep(0.02)
            began = time.perf_counter()
            position = types.Position(len(rows) // 2, 8)
            await editor.client.text_document_hover_async(types.HoverParams(identifier, position))
            waits.append((time.perf_counter() - began) * 1000)
        await editor.diagnostics(uri, edits + hovers)
        before = await usage.settled()
        editor.type(uri, edits + hovers + 1, text)
        editor.client.text_document_did_save(types.DidSaveTextDocumentParams(identifier))
        saved = await usage.settled() - before
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))
        await usage.settled()
        print(
            f"{name} ({len(text.splitlines())} rows): opened {first:.2f} s, with importers {whole:.2f} s; "
            f"edit {statistics.median(times):.2f} s, slowest {max(times):.2f} s; saved {saved:.2f} s; "
            f"hover {statistics.median(waits):.0f} ms, slowest {max(waits):.0f} ms; memory {usage.memory():.0f} MB",
            flush=True,
        )
        all_edits += times
        all_hovers += waits
    print(
        f"{len(all_edits)} edits: median {statistics.median(all_edits):.2f} s, 95 % within "
        f"{percentile(all_edits, 0.95):.2f} s, slowest {max(all_edits):.2f} s of processor time"
    )
    print(f"{len(all_hovers)} hovers while a check runs: 95 % within {percentile(all_hovers, 0.95):.0f} ms")
    print(f"peak of memory: {usage.peak:.0f} MB")
    await editor.client.shutdown_async(None)
    editor.client.exit(None)
    await editor.client.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--edits", type=int, default=10)
    parser.add_argument("--hovers", type=int, default=10)
    given = parser.parse_args()
    asyncio.run(measure(given.folder.resolve(), given.files, given.edits, given.hovers))
