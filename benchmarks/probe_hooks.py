"""What the probe's hooks cost in each step, within one run: they are removed and put back every 40 steps.

    python -m benchmarks.probe_hooks [ROUNDS]

Needs TensorFlow. The programs are those of `benchmarks/probe.py`. A block of steps with the hooks is compared with the
blocks before and after it, so the load of the machine and the differences between two runs, which are several times as
large as the cost, matter little. Printed are the median over all blocks of the main thread's CPU time, in the lower
quartile of a block's steps, and of what the hooks add to it, with the standard error. The threads of the probe, and its
parent process, run all the time: `benchmarks/probe.py` compares whole runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
BEFORE, BLOCK, BLOCKS = 100, 40, 61


class Times(list[Any]):
    """Takes the place of a program's list of times: one CPU time of the main thread for each step."""

    def append(self, step: Any) -> None:
        block, rest = divmod(len(self) - BEFORE, BLOCK)
        if block >= 0 and not rest:
            switch(on=block % 2 == 1)
        super().append(time.thread_time())

    def blocks(self) -> list[float]:
        """The lower quartile of each block, without its first steps."""
        found = []
        for first in range(BEFORE, BEFORE + BLOCKS * BLOCK, BLOCK):
            moments = self[first + 2 : first + BLOCK]
            steps = sorted(after - before for before, after in pairwise(moments))
            found.append(steps[len(steps) // 4])
        return found


_switched: dict[tuple[int, str], tuple[Any, str, Any, bool, Any]] = {}
"""(owner, name) → owner, name, original, whether it was the owner's own, outermost hook."""


def switch(*, on: bool) -> None:
    """Puts the hooks of the session that watches this process back, or removes them."""
    from gpulint.probe.agent.active import SESSIONS

    session: Any = SESSIONS[0]
    if not _switched:
        for owner, name, original, is_own, _ in session._hooks._placed:
            _switched.setdefault((id(owner), name), (owner, name, original, is_own, vars(owner).get(name)))
    for owner, name, original, is_own, hook in _switched.values():
        if on:
            setattr(owner, name, hook)
        elif is_own or not isinstance(owner, type):
            setattr(owner, name, original)
        else:
            delattr(owner, name)
    change = session._internals.watch_operations if on else session._internals.forget_operations
    change(session._operations.callback)


def measured(program: Path, out: Path) -> list[tuple[float, float]]:
    """Seconds without the hooks, and what they add, for each block with hooks of one run."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "FIGURES": str(out), "PYTHONPATH": str(HERE)}
    command = [sys.executable, "-m", "gpulint", "probe", "--isolated", str(program)]
    subprocess.run(command, env=environment, capture_output=True, check=False)
    blocks = json.loads(out.read_text())
    out.unlink()
    without = [(before + after) / 2 for before, after in zip(blocks[:-2:2], blocks[2::2], strict=True)]
    return [(off, on - off) for off, on in zip(without, blocks[1::2], strict=True)]


def main() -> None:
    from benchmarks.probe import EAGER, FIT, LOOP, SHORT, STEPS, WARM

    programs = {
        "Keras fit, small ConvNet": FIT,
        "tf.function loop, the same": LOOP,
        "tf.function loop, steps of a millisecond": SHORT,
        "a hundred eager operations": EAGER,
    }
    end = 'import json, os\nprobe_hooks.switch(on=True)\njson.dump(times.blocks(), open(os.environ["FIGURES"], "w"))\n'
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "program.py"
        for title, text in programs.items():
            text = text.replace(str(WARM + STEPS), str(BEFORE + BLOCKS * BLOCK))
            program.write_text(text.replace("times = []", "import probe_hooks\ntimes = probe_hooks.Times()") + end)
            found = []
            for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
                found += measured(program, Path(name) / "figures.json")
            added = sorted(more for _, more in found)
            middle, sixth = median(added), len(added) // 6
            error = 1.25 * (added[-1 - sixth] - added[sixth]) / 2 / len(added) ** 0.5
            off = median(one for one, _ in found)
            text = f"{off * 1e3:.3f} ms, {middle * 1e3:+.3f} ± {error * 1e3:.3f} ms, {middle / off:+.1%}"
            print(f"{title}: {text}", flush=True)


if __name__ == "__main__":
    main()
