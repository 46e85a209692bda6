"""How the time and memory of a check grow with the number of lines.

    python benchmarks/growth.py PATH [--lines N] [--steps N] [--plot FILE]

Copies the files below PATH that name TensorFlow or Keras, with their folders, until there are N lines (default
1,000,000). Then checks growing shares of the copies in N steps (default 5), without a cache and in one process. Prints
the CPU seconds and the memory of the largest process; `--plot` also draws them as an SVG file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from check import files_below, read

CHECK = ["-m", "gpulint", "check", "--isolated", "--no-cache", "-j1", "--exit-zero", "--output-format", "json"]

PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""
"""Measures a command in a process of its own: the largest memory of children is that of all that ever were."""


class Point(NamedTuple):
    """The cost of a check: CPU seconds, and peak megabytes of its largest process."""

    lines: int
    files: int
    seconds: float
    memory: float


def measured(folders: list[Path], lines: int, files: int) -> Point:
    command = [sys.executable, "-c", PEAK, sys.executable, *CHECK, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory = map(float, done.stdout.split())
    return Point(lines, files, seconds, memory / 1e6)


def copied(files: list[str], root: str, target: Path) -> None:
    """Copy files with their folders below `root`."""
    for file in files:
        copy = target / os.path.relpath(file, root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 360, 56, 24, 56, 44


def drawn(points: list[Point]) -> str:
    """The points as an SVG document: seconds by lines with the line through the origin and the last one, and memory."""
    widest, longest, largest = points[-1].lines, max(p.seconds for p in points), max(p.memory for p in points)
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(lines: float, share: float) -> tuple[float, float]:
        return LEFT + across * lines / widest, TOP + up * (1 - share / 1.15)

    def curve(values: list[tuple[float, float]], colour: str) -> str:
        at = [place(lines, share) for lines, share in values]
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>{dots}'

    def text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "#555") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'

    bottom = TOP + up
    (x0, y0), (x1, y1) = place(0, 0), place(widest, points[-1].seconds / longest)
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<path d="M{LEFT} {TOP}V{bottom}H{LEFT + across}V{TOP}" fill="none" stroke="#999"/>',
        f'<path d="M{x0} {y0}L{x1} {y1:.1f}" stroke="#bbb" stroke-dasharray="4 4"/>',
        curve([(p.lines, p.seconds / longest) for p in points], "#1f6feb"),
        curve([(p.lines, p.memory / largest) for p in points], "#c4580a"),
        text(LEFT, TOP - 8, "CPU seconds", "start", "#1f6feb"),
        text(LEFT + across, TOP - 8, "MB of the largest process", "end", "#c4580a"),
        text(LEFT - 6, place(0, 1)[1] + 4, f"{longest:.0f}", "end", "#1f6feb"),
        text(LEFT + across + 6, place(0, 1)[1] + 4, f"{largest:.0f}", "start", "#c4580a"),
        *(text(place(p.lines, 0)[0], bottom + 16, f"{p.lines // 1000:,}") for p in points[:: max(1, len(points) // 5)]),
        text(LEFT + across / 2, bottom + 34, "thousand lines"),
    ]
    body = "\n".join(parts)
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    style = 'font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n{body}\n</svg>\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("path")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--plot")
    options = parser.parse_args()
    files = files_below(options.path)
    lines = sum(read(file).count(b"\n") for file in files)
    copies = max(options.steps, round(options.lines / lines))
    points = []
    with tempfile.TemporaryDirectory() as directory:
        folders = [Path(directory, f"copy{number:03}") for number in range(copies)]
        for folder in folders:
            copied(files, options.path, folder)
        for step in range(1, options.steps + 1):
            number = round(copies * step / options.steps)
            point = measured(folders[:number], number * lines, number * len(files))
            points.append(point)
            print(
                f"{point.lines:10,} lines {point.files:6,} files {point.seconds:8.1f} s"
                f" {1e6 * point.seconds / point.lines:6.1f} µs a line {point.memory:6.0f} MB",
                flush=True,
            )
    if options.plot:
        Path(options.plot).write_text(drawn(points), encoding="utf-8")


if __name__ == "__main__":
    main()
