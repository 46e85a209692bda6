"""gpulint on improbable input, for as long as it takes.

    PYTHONPATH=. python benchmarks/fuzz.py [--count 10000] [--from SEED] [KIND…]

KIND is one of program, notebook, log, capture, doubling (programs whose values grow exponentially), cache (records with
faults), special-files (pipes, devices and links in place of files), git (repositories with traps) and grammar (programs
of hypothesmith with TensorFlow's names in them, if that is installed); by default all but the last. Each input follows
from a number, which is printed with each fault: `--count 1 --from NUMBER` creates it again. An input that takes half an
hour ends the run, which prints where it was. The exit status is 1 if there was any fault.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable

from tests import fuzzing
from tests.analysis import doubling
from tests.security import fuzzing as hostile

LONGEST = 1_800
"""Seconds by the clock that one input may take, on a machine that may be busy."""

Judge = Callable[[random.Random], None]


def _grammar(rng: random.Random) -> None:
    import hypothesmith

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = hypothesmith.from_node().example()
    fuzzing.judge_program("fuzzed.py", fuzzing.with_tensorflow(rng, program))


def _log(rng: random.Random) -> None:
    fuzzing.judge_log(rng, fuzzing.log(rng))


KINDS: dict[str, Judge] = {
    "program": lambda rng: fuzzing.judge_program("fuzzed.py", fuzzing.program(rng)),
    "notebook": lambda rng: fuzzing.judge_program("fuzzed.ipynb", fuzzing.notebook(rng)),
    "log": _log,
    "doubling": lambda rng: fuzzing.judge_program("fuzzed.py", doubling.any_program(rng)),
    "capture": lambda rng: fuzzing.judge_capture(fuzzing.capture(rng)),
    **hostile.JUDGES,
    "grammar": _grammar,
}


def run(kind: str, first: int, count: int) -> int:
    """Judge `count` inputs; the number of those that went wrong. Each place of a fault is shown once."""
    seen: set[tuple[str, int]] = set()
    faults = 0
    start, slowest = time.process_time(), (0.0, first)
    for seed in range(first, first + count):
        begun = time.process_time()
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            KINDS[kind](random.Random(seed))
        except Exception as error:
            faults += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            if (place.filename, place.lineno or 0) not in seen:
                seen.add((place.filename, place.lineno or 0))
                print(f"{kind} {seed}: {type(error).__name__}: {error}", flush=True)
                traceback.print_exc()
        slowest = max(slowest, (time.process_time() - begun, seed))
    faulthandler.cancel_dump_traceback_later()
    seconds = time.process_time() - start
    print(f"{kind}: {count} in {seconds:.0f} s, {faults} faults; slowest {slowest[0]:.1f} s ({slowest[1]})", flush=True)
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", choices=[*KINDS, []], help="what to make")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="SEED")
    options = parser.parse_args()
    kinds = options.kinds or [kind for kind in KINDS if kind != "grammar"]
    sys.exit(1 if sum(run(kind, options.first, options.count) for kind in kinds) else 0)


if __name__ == "__main__":
    main()
