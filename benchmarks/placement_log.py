"""How fast placement logs are parsed, compared with a simple loop.

    python benchmarks/placement_log.py

The streams are recordings of TensorFlow 2.21, repeated to about 400,000 lines, with as many lines of a user's program,
in chunks of 64 KiB as from a pipe. The baseline decodes each line and tries one regular expression for each form; it
ignores torn lines, records that span chunks, and the text to pass on. The best of five alternating runs counts. The
last column is the parser's rate divided by the baseline's.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpulint.probe.placement_log.counts import Placements  # noqa: E402
from gpulint.probe.placement_log.parser import PlacementLogParser  # noqa: E402

LINES = 400_000
CHUNK = 65_536
RUNS = 5

HEADER = r"(?:\d{4}-\d\d-\d\d \S+ [IWEF] \S+\] |[IWEF]\d{4} \S+ +\d+ \S+\] )?"
DEVICE = r"(/job:\w+/replica:\d+/task:\d+/(?:device:\w+|cpu|gpu):\d+)$"
FORMS = (
    re.compile(HEADER + r"(\S+): \((\S+)\):? ?" + DEVICE),
    re.compile(HEADER + r"Executing op (\S+) in device " + DEVICE),
    re.compile(r"(\S+) -> (.*)$"),
    re.compile(HEADER + r"(\S+): " + DEVICE),
)


def baseline(chunks: list[bytes]) -> int:
    """One regular expression after the other for each line."""
    found: list[tuple[str | None, ...]] = []
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace")
            for form in FORMS:
                if match := form.match(text):
                    found.append(match.groups())
                    break
    return len(found)


def parser(chunks: list[bytes]) -> int:
    reader = PlacementLogParser()
    for chunk in chunks:
        reader.feed(chunk)
    reader.close()
    return reader.counts.placements


def summed(chunks: list[bytes]) -> int:
    """Parse the log, and count its devices."""
    reader, sums = PlacementLogParser(), Placements()
    for chunk in chunks:
        sums.add(reader.feed(chunk).records)
    sums.add(reader.close().records)
    return sums.devices.total()


def repeated(text: bytes) -> list[bytes]:
    """The text, repeated up to LINES lines, in chunks."""
    stream = text * (LINES // text.count(b"\n"))
    return [stream[start : start + CHUNK] for start in range(0, len(stream), CHUNK)]


def rate(work: Callable[[list[bytes]], int], chunks: list[bytes]) -> float:
    """Lines a second."""
    lines = sum(chunk.count(b"\n") for chunk in chunks)
    start = time.perf_counter()
    work(chunks)
    return lines / (time.perf_counter() - start)


def main() -> None:
    recordings = ROOT / "fixtures" / "placement_logs"
    streams = {
        name: (recordings / f"2.21-{name}.log").read_bytes()
        for name in ("mirrored.stdout", "mirrored.stderr", "torn.stdout", "torn.merged")
    }
    streams["user's output"] = b"".join(
        b"step %d: loss 0.%04d (accuracy: %d%%), 12 ms\n" % (step, step, step % 100) for step in range(1000)
    )
    print(f"{'lines a second':20}{'baseline':>12}{'parser':>12}{'with sums':>12}{'parser/baseline':>18}")
    for name, text in streams.items():
        chunks = repeated(text)
        runs = [(rate(baseline, chunks), rate(parser, chunks), rate(summed, chunks)) for _ in range(RUNS)]
        slow, fast, sums = (max(rates) for rates in zip(*runs, strict=True))
        print(f"{name:20}{slow:>12,.0f}{fast:>12,.0f}{sums:>12,.0f}{fast / slow:>17.1f}x")


if __name__ == "__main__":
    main()
