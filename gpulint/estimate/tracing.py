"""Runs a program until its training step has been traced, and reads the step."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from signal import Signals
from typing import TYPE_CHECKING, Literal

from gpulint.estimate.graph import StepGraph
from gpulint.probe.agent.forks import OTHERS
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import CaptureError, read
from gpulint.probe.capture.records import Where
from gpulint.probe.launch.command import Simulated, Target, command_line

if TYPE_CHECKING:
    from gpulint.probe.launch.program import Ended

EXTENSION = "gpulint.estimate.agent"

Reason = Literal["no step", "died", "dynamic", "eager", "session", "untraceable", "refused", "stopped"]
"""Why there is no step: the program ended without one; it died before; its batch size is unknown; it computes
gradients eagerly, in code that cannot be traced, or in a TensorFlow 1 session; tracing failed; GPUs cannot be
simulated; a time limit or a signal stopped it."""


@dataclass(frozen=True, slots=True)
class Traced:
    """The step for the program's batch size."""

    step: StepGraph
    doubled: StepGraph | None
    """The step for twice the batch; None if it works for one batch size only."""
    is_eager: bool = False
    """Whether the program would run it eagerly. The estimate is of the traced step."""
    others: tuple[tuple[str, Where], ...] = ()
    """Functions that take gradients, too, and are not in the step: name and first line. Of `fit`, the lines of further
    calls."""
    loop: Where | None = None
    """A loop that may call `fit` of another model in each iteration."""


@dataclass(frozen=True, slots=True)
class NotTraced:
    """Why there is no step."""

    reason: Reason
    message: str = ""
    """What raised or ended the program; of one without a step, OTHERS if processes that it started may have one."""
    where: Where | None = None
    status: int | None = None
    """Exit status of the program, None if a signal ended it."""


def trace(
    target: Target,
    *,
    gpus: int = 1,
    batch: int | None = None,
    shapes: Mapping[str, tuple[int | None, ...]] | None = None,
    timeout: float | None = None,
    terminal: int | None = None,
) -> Traced | NotTraced:
    """Runs the program on simulated GPUs until its training step has been traced. What it prints is passed through.

    `batch` is a batch size per replica in place of the program's. `shapes` are dimensions that the program leaves open,
    by the name of an argument or the position in a dataset's element; None in a shape leaves its dimension. What is
    done now is shown on the descriptor `terminal`, if it is one. Raises OSError if the program cannot be started.
    """
    from gpulint.probe.launch.program import run  # POSIX only: needs pseudo-terminals
    from gpulint.probe.launch.progress import ProgressLine, clock

    with tempfile.TemporaryDirectory(prefix="gpulint-estimate-") as directory:
        output, capture, stages = (os.path.join(directory, name) for name in ("step", "capture", "stages"))
        simulated = Simulated(gpus)
        settings = {"output": output, "stages": stages, "gpus": gpus, "batch": batch, "shapes": dict(shapes or {})}
        command = command_line(
            target, capture, 0, 0, False, simulated, extension=EXTENSION, extension_settings=settings
        )
        environment = simulated.environment(os.environ)
        ended = run(
            command,
            capture_path=capture,
            program=target.words,
            environment=environment,
            timeout=timeout,
            warn_after=None,
            progress=ProgressLine.on(terminal, lambda _, seconds: f"{clock(seconds)}, {stage(stages)}"),
        )
        if os.path.exists(output):
            with open(output, encoding="utf-8") as file:
                return _read(file.read())
        try:
            return _why(ended, read(capture))
        except (CaptureError, OSError):
            return NotTraced("died", status=ended.status)


def stage(path: str) -> str:
    """The current stage of tracing: the last line that the agent wrote to a file, in ASCII."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()[-1]
    except (OSError, ValueError, IndexError):
        return "running the program until its training step"


def _read(text: str) -> Traced | NotTraced:
    first, *rest = text.splitlines()
    head = json.loads(first)
    if "graphs" not in head:
        where = head["where"]
        return NotTraced(head["outcome"], head["reason"], Where(*where) if where else None, 0)
    graphs = [StepGraph.loads(line) for line in rest[: head["graphs"]]]
    others = tuple((name, Where(*place)) for name, place in head["others"])
    loop = Where(*head["loop"]) if head["loop"] else None
    return Traced(graphs[0], graphs[1] if len(graphs) > 1 else None, head["outcome"] == "eager step", others, loop)


def _why(ended: Ended, capture: Capture) -> NotTraced:
    if capture.refused:
        return NotTraced("refused", capture.refused, status=ended.status)
    if ended.reason != "exit":
        return NotTraced("stopped", ended.reason, status=ended.status)
    if capture.error or ended.status != 0:
        killed = f"{Signals(ended.signal).name} ended it" if ended.signal in set(Signals) else ""
        return NotTraced("died", capture.error or killed, capture.error_at, ended.status)
    has_others = any(evidence == OTHERS for evidence, _ in capture.lost)
    return NotTraced("no step", OTHERS if has_others else "", status=ended.status)
