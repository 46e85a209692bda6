"""XLA compiles functions again and again, or longer than all steps take."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed, Outside
from gpulint.probe.advice.causes.retracing import lost_to
from gpulint.probe.advice.matching import finding_at
from gpulint.probe.measures.time_spent import Tracing
from gpulint.probe.measures.time_words import duration

CHANGING = "GPU408"
"""The rule about batches of changing shapes."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each compiled function. A single compilation is needed, unless the steps are over before it pays."""
    time = observed.time
    for one in time.tracings:
        if one.kind != "xla":
            continue
        is_fit = any(each.where == one.where for each in observed.capture.data)
        name = "its step" if is_fit else f"`{one.function}`"
        evidence = f"Compiling took {duration(one.seconds)}, all of training {duration(time.seconds)}."
        without = "`jit_compile=False` in `compile`" if is_fit else "`jit_compile=False`"
        if one.again:
            lost = lost_to(time, one)
            evidence = f"Recompiling took {duration(lost)}, all of training {duration(time.seconds)}."
            text = f"XLA compiles {name} {one.again + 1:,} times{_changed(one)}"
            fix = f"Pad the batches to a few shapes, or pass {without}."
            if one.causes and all("(None" in shapes and ", None" not in shapes for shapes in one.causes):
                fix = f"Make all batches the same size (`batch(…, drop_remainder=True)`), or pass {without}."
            finding = finding_at(observed, (CHANGING,), one.where)
            code = finding.code if finding is not None else None
            yield Candidate("recompiling", one.where, text, evidence, fix, {"trace": lost}, code)
        elif one.seconds > time.seconds / 2:
            text = f"XLA takes longer to compile {name} than all its steps take to run"
            fix = f"Pass {without} for runs this short."
            within = sum(each.seconds for each in time.by_line if (each.name, each.detail) == ("trace", one.function))
            before = max(one.seconds - within, 0.0)
            outside = Outside(f"compiling {name} with XLA", one.seconds, before)
            yield Candidate("recompiling", one.where, text, evidence, fix, {"trace": within}, outside=outside)


def _changed(one: Tracing) -> str:
    """The shapes for which it was compiled; where the function takes its elements from an iterator, only what they have
    in common is known."""
    if not one.causes:
        return ""
    shapes = ", ".join(one.causes)
    return f", once for each shape of {shapes}" if "None" in shapes else f": {shapes}"
