"""Estimated memory against what an H200 needed: peaks, process, largest batch under a limit.

    python -m benchmarks.estimate [--graphs DIR] [MODEL…]

Prints the tables of `docs/estimate.md`. With `--graphs` traced steps are kept in a directory, and read from there the
next time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpulint.estimate.answers import Batches
from gpulint.estimate.graph import StepGraph
from gpulint.estimate.memory.figures import Figures, figures
from gpulint.estimate.tracing import NotTraced, trace
from gpulint.probe.launch.command import Target

DATA = Path(__file__).parent / "data"
MIB = 1 << 20


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def steps_of(model: str, batches: Sequence[int], directory: Path | None) -> dict[int, StepGraph]:
    """The step of a model for each batch size. A trace also gives the step for twice its batch size."""
    found: dict[int, StepGraph] = {}
    for batch in sorted(batches):
        kept = directory / f"{model}_{batch}.json" if directory is not None else None
        if kept is not None and kept.exists():
            found[batch] = StepGraph.loads(kept.read_text(encoding="utf-8"))
        if batch in found:
            continue
        traced = trace(Target("benchmarks.estimate_programs", is_module=True, arguments=(model, str(batch))))
        if isinstance(traced, NotTraced):
            raise SystemExit(f"{model}, batch {batch}: {traced}")
        for step in (traced.step, traced.doubled):
            if step is not None and step.batch is not None:
                found[step.batch] = step
                if directory is not None:
                    (directory / f"{model}_{step.batch}.json").write_text(step.dumps(), encoding="utf-8")
    return found


def error(estimate: float, truth: float) -> str:
    return f"{estimate / truth - 1:+.1%}".replace("-", "−")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=Path)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    measured: dict[str, list[dict[str, Any]]] = {}
    for row in rows("gpu_memory.jsonl"):
        if not options.models or row["model"] in options.models:
            measured.setdefault(row["model"], []).append(row)
    graphs: dict[str, dict[int, StepGraph]] = {}
    errors: list[float] = []
    print("| model | batch | steady peak, MiB | least | estimated | first step | process |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for model, of_model in measured.items():
        graphs[model] = steps_of(model, [row["batch"] for row in of_model], options.graphs)
        for row in sorted(of_model, key=lambda one: int(one["batch"])):
            step = graphs[model][row["batch"]]
            found: Figures = figures(step)
            steady, truth = found.steady.peak, row["steady_peak"]
            first, process = error(found.first.peak, row["first_step_peak"]), error(found.process, row["process"])
            if not step.is_compiled:
                errors.append(steady / truth - 1)
            least = error(found.least, truth)
            cells = (model, row["batch"], truth // MIB, least, error(steady, truth), first, process)
            print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)
    if errors:
        median = statistics.median(abs(one) for one in errors)
        print(
            f"\nSteady peak, {len(errors)} runs without XLA: median error {median:.1%}, from {min(errors):+.1%} to "
            f"{max(errors):+.1%}; more than 3 % below the truth in {sum(one < -0.03 for one in errors)}."
        )
    print("\n| model | limit, MiB | fits | does not fit | estimated largest batch |\n|---|---:|---:|---:|---:|")
    for row in rows("gpu_memory_limits.jsonl"):
        if row["model"] in graphs:
            of_model = graphs[row["model"]]
            batch = max(one for one in of_model if 2 * one in of_model)
            largest = Batches(of_model[batch], of_model[2 * batch], figures(of_model[batch]).order).largest(
                row["limit_mib"] * MIB
            )
            print(f"| {row['model']} | {row['limit_mib']} | {row['fits']} | {row['dies']} | {largest} |", flush=True)


if __name__ == "__main__":
    main()
