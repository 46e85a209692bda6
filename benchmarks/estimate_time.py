"""Lower bounds of `gpulint estimate` on the time of a step, against steps that were measured on an H200.

    python -m benchmarks.estimate_time [--graphs DIR] [MODEL…]

Prints the table of `docs/estimate.md`. A bound must not be above the fastest measured step. With `--graphs` traced
steps are kept in a directory, and read from there the next time.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.estimate import rows, steps_of
from gpulint.estimate import cards
from gpulint.estimate.time import bounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=Path)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    print("| model | batch | measured | lower bound | share | bound by | operations | launch | compute | memory |")
    print("|---|---:|---:|---:|---:|---|---:|---:|---:|---:|")
    for row in rows("gpu_time.jsonl"):
        model, batch = row["model"], row["batch"]
        if options.models and model not in options.models:
            continue
        steps = bounds.steps_of(steps_of(model, [batch], options.graphs)[batch])
        found = bounds.bounds(steps, cards.by_name("H200"))
        right = "" if found.active in row["bounds"] else f" (measured: {' or '.join(row['bounds'])})"
        seconds = [f"{one * 1e3:.1f} ms" for one in (found.launch, found.compute, found.memory)]
        share = f"{found.seconds * 1e3 / row['best_ms']:.0%}"
        cells = [model, batch, f"{row['step_ms']:.1f} ms", f"{found.seconds * 1e3:.1f} ms", share]
        cells += [f"{found.active}{right}", f"{steps.operations:,}", *seconds]
        print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)


if __name__ == "__main__":
    main()
