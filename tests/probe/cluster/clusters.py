"""Captures of workers, for tests of joining them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from gpulint.probe.capture.contents import Capture, Member
from gpulint.probe.capture.records import Node, Pace, Strategy, Task, Variable, Where, Worker

LINE = Where("/p/train.py", 7)


def worker(index: int, *, count: int = 2, steps: int = 40, inside: float = 0.02, between: float = 0.001) -> Capture:
    """A worker of MultiWorkerMirroredStrategy with one GPU that ended normally."""
    tasks = tuple(Task("worker", number) for number in range(count))
    return Capture(
        start={"command": ["python", "train.py"]},
        end={"status": 0, "signal": None, "reason": "exit", "seconds": 10.0, "t": 100.0, "last": "trained"},
        process={"python": "3.11.7", "main": "train.py"},
        tensorflow={"tensorflow": "2.21.0"},
        keras="3.15.1",
        logical=("CPU:0", "GPU:0"),
        physical=("CPU:0", "GPU:0"),
        worker=Worker("worker", index, "TF_CONFIG", tasks),
        strategies=[Strategy(1, "MultiWorkerMirroredStrategy", ("GPU:0",), count, LINE)],
        variables=[Variable("kernel", (4, 8), "float32", 128, "GPU:0", LINE)],
        nodes=Counter({Node(LINE, "MatMul", "", "GPU:0", "", "float", "step"): 10}),
        paces=[Pace(steps, inside, between)],
        taken=Counter({"steps": steps}),
    )


def members(*captures: Capture | None) -> list[Member]:
    return [Member(Task("worker", index), capture) for index, capture in enumerate(captures)]


def written(directory: Path, name: str, *records: dict[str, Any]) -> None:
    """A capture with these records after its start."""
    lines = [{"kind": "start", "t": 0, "version": 1, "command": ["python", "train.py"]}, *records]
    directory.mkdir(exist_ok=True)
    (directory / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
