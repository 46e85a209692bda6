"""The step computes with more bits than it needs, and computing is what it waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.matching import finding_of, place_of, sentence
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.reasons import is_heavy
from gpulint.probe.verdicts.evidence import placed

BOUND = 0.5
"""Busy share from which halving the arithmetic is felt."""

WIDE = ("float64", "complex128")

HALF = 0.5
"""Share of the computing time that half the bits save at most."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Matrix products and convolutions in float64 on any device, in float32 where a GPU computes most of the time."""
    capture, time = observed.capture, observed.time
    dtypes, lines = _heavy(capture)
    total = dtypes.total()
    if not total:
        return
    busy = max((one.busy_share or 0.0 for one in time.devices), default=0.0)
    is_known = any(one.busy_share is not None for one in time.devices)
    wide = sum(dtypes[name] for name in WIDE)
    if wide:
        finding = finding_of(observed, ("GPU604",))
        where = place_of(finding) if finding is not None else lines[next(name for name in WIDE if dtypes[name])]
        yield Candidate(
            "precision",
            where,
            "the step computes in float64",
            f"{wide:,} of {total:,} matrix products and convolutions are in float64.",
            sentence(finding.instead) if finding is not None else "Train in float32.",
            {part: HALF * wide / total * time.seconds_of(part) for part in ("gpu", *(() if is_known else ("launch",)))},
            "GPU604" if finding is not None else None,
            in_proportion=True,
        )
    elif busy >= BOUND and dtypes["float32"] == total:
        yield Candidate(
            "precision",
            lines["float32"],
            "a busy GPU computes the step in float32",
            f"All {total:,} matrix products and convolutions are in float32.",
            'Use mixed precision: `tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")`.',
            {"gpu": HALF * time.seconds_of("gpu")},
            in_proportion=True,
        )


def _heavy(capture: Capture) -> tuple[Counter[str], dict[str, Where]]:
    """Heavy operations by dtype, and the line with most of them."""
    by_dtype, by_line = Counter[str](), Counter[tuple[str, Where]]()
    for one in placed(capture):
        if is_heavy(one.op) and one.dtype:
            by_dtype[one.dtype] += one.times
            by_line[one.dtype, one.where] += one.times
    return by_dtype, {dtype: where for (dtype, where), _ in reversed(by_line.most_common())}
