"""The fixture programs under the probe: which findings it confirms or refutes, and what else it reports.

    python -m benchmarks.probe_fixtures [PART OF A NAME…]

Run it from the root of the repository; it needs TensorFlow. A program is run once for each of its `# run:` lines or,
without one, on two logical CPUs in place of GPUs: some 300 runs of about 5 seconds, two at a time.

With TensorFlow 2.21 and 2.16, on a CPU: of 275 expected findings 144 were confirmed on their lines, none was refuted,
and the probe had no fault in any run. Those left open need a GPU (105, 603), a package that was not installed (704),
several processes (703) or many repetitions, came after another error (901), or cannot show in a single run (308, 401 to
405, 601, 602). Programs with recurrent layers end early: Keras takes the logical CPUs for GPUs, and chooses a kernel
that a CPU does not have.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.claims.claim import Claim
from tests.claims.probed import Probed, probe, runs_of
from tests.programs import Program, programs


def runs(parts: list[str]) -> list[tuple[Program, str, Claim]]:
    """Program, module and claim of each run."""
    chosen = [one for one in programs() if not parts or any(part in one.name for part in parts)]
    return [(program, *run) for program in chosen for run in runs_of(program)]


def told(program: Program, module: str, claim: Claim, probed: Probed, counts: Counter[tuple[str, str]]) -> str:
    """Lines about one run: each expected finding with what became of it, and everything else that was broken."""
    run = probed.report.get("run", {})
    lines = [f"{program.name} {module} gpus={claim.gpus} devices={claim.devices} {claim.args}".rstrip()]
    lines.append(
        f"    status {probed.status}, program {run.get('status')} {run.get('reason')}, {run.get('error')!r:.150}"
    )
    lines += [f"    FAULT {fault}" for fault in probed.report.get("faults", [])]
    confirmed, refuted = probed.confirmed(program.root), probed.refuted(program.root)
    for place in sorted(program.expectations):
        said = "confirmed" if place in confirmed else "REFUTED" if place in refuted else "undecided"
        counts[place.code, said] += 1
        lines.append(f"    {said} {place.code} {place.module}:{place.row}")
    for one in probed.broken():
        if one["id"] != "prediction":
            origin = one["origin"]
            row = f"{os.path.basename(origin['filename'])}:{origin['row']}" if origin else ""
            lines.append(
                f"    {one['status'].upper()} {one['id']} {one['code']} {row} {one['subject']}: {one['observed']}"[:230]
            )
    return "\n".join(lines)


def main() -> None:
    counts: Counter[tuple[str, str]] = Counter()
    with ThreadPoolExecutor(2) as pool:
        chosen = runs(sys.argv[1:])
        for (program, module, claim), probed in zip(chosen, pool.map(lambda run: probe(*run), chosen), strict=True):
            print(told(program, module, claim, probed, counts), flush=True)
    print()
    for code in sorted({code for code, _ in counts}):
        each = ", ".join(f"{said} {counts[code, said]}" for said in ("confirmed", "REFUTED", "undecided"))
        print(f"{code}: {each}")


if __name__ == "__main__":
    main()
