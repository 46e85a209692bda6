"""Every fixture program with a claim about devices, rehearsed with 2, 4 and 8 simulated GPUs.

    python -m benchmarks.simulated_fixtures [-n 2,4,8] [-j STAGES] [PART-OF-NAME…]

With N simulated GPUs, a program must end and compute as it claims; none of its expected findings may be refuted, and
no other may be confirmed. Claims about another number of GPUs are left out. The exit status is 1 if any of this is
violated.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

from tests import warm
from tests.claims.claim import Claim, parse_claim
from tests.programs import Program, programs
from tests.simulation.claims import is_about, rehearsed
from tests.simulation.rehearsal import Stage

Job = tuple[Program, str, Claim, int]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", default="2,4,8", help="numbers of simulated GPUs")
    parser.add_argument("-j", type=int, default=2, help="programs at once")
    parser.add_argument("names", nargs="*", help="parts of the names of programs")
    options = parser.parse_args()
    numbers = [int(gpus) for gpus in options.n.split(",")]
    jobs: list[Job] = [
        (program, line.module, claim, gpus)
        for program in programs()
        for line in program.claims
        for claim in [parse_claim(line.text)]
        for gpus in sorted({*numbers, claim.gpus})
        if is_about(program, claim, gpus) and any(part in program.name for part in options.names or [""])
    ]
    free: Queue[Stage] = Queue()

    def run(job: Job) -> list[str]:
        own = free.get()
        try:
            return rehearsed(own, *job)
        finally:
            free.put(own)

    failed = 0
    with ThreadPoolExecutor(options.j) as pool:
        for _ in range(options.j):
            free.put(Stage(warm.with_tensorflow()))
        for (program, module, _, gpus), broken in zip(jobs, pool.map(run, jobs), strict=True):
            failed += bool(broken)
            print(f"{'FAIL' if broken else 'ok'}  {gpus}  {program.name}:{module}", flush=True)
            for sentence in broken:
                print(f"      {sentence}", flush=True)
    print(f"{len(jobs)} rehearsals, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
