"""GPU5xx: traces, eager operations, and reads by the host."""

from __future__ import annotations

from gpulint.linting.finding import Finding
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Function
from gpulint.probe.measures.reasons import is_bookkeeping
from gpulint.probe.measures.retracing import causes_of, in_words
from gpulint.probe.verdicts.evidence import MANY, STEP, Judge, Verdict, first_of, is_in, is_near

ROUNDS = 3
"""Calls on one line that indicate a loop."""

SHOWN = 2
"""Limit of the causes of retraces that are named."""

EAGER = 100
"""Eager operations of a step in a short run."""


def traced_function(finding: Finding, capture: Capture) -> Function | None:
    """The function that a finding is about, by where it is called or begins; of several the one traced most."""
    functions = list(capture.functions.values())
    defined = {name for name, where, _ in capture.traced if is_near(where, finding.span)}
    found = [one for one in functions if is_in(one.where, finding.span)]
    found = found or [one for one in functions if one.name in defined]
    found = found or [one for one in functions if is_near(one.where, finding.span)]
    found = found or [one for one in functions if any(is_near(one.where, other.span) for other in finding.related)]
    return max(found, key=lambda one: one.traces, default=None)


def _traces(finding: Finding, capture: Capture) -> Verdict | None:
    most = traced_function(finding, capture)
    if most is None:
        return None
    told = "".join(f", {text}" for text in in_words(causes_of(most.name, capture))[:SHOWN])
    return Verdict(most.traces > 2, f"`{most.name}` was traced {most.traces} times{told}")


def _eager_here(finding: Finding, capture: Capture) -> Verdict | None:
    ran = sum(
        count
        for one, count in capture.executions.items()
        if is_in(one.where, finding.span, STEP) and not is_bookkeeping(one.op)
    )
    return Verdict(True, f"{ran} eager ops ran in these lines") if ran > EAGER else None


def _model_here(finding: Finding, capture: Capture) -> Verdict | None:
    ran = sum(
        count
        for one, count in capture.executions.items()
        if is_in(one.where, finding.span) and not is_bookkeeping(one.op)
    )
    return Verdict(True, f"{ran} eager ops ran on this line") if ran > EAGER else None


def _eager_all(finding: Finding, capture: Capture) -> Verdict | None:
    ran = sum(count for one, count in capture.executions.items() if not is_bookkeeping(one.op))
    return Verdict(True, f"{ran} eager ops ran") if ran > EAGER else None


def _reads(finding: Finding, capture: Capture) -> Verdict | None:
    spans = [finding.span, *(related.span for related in finding.related if "read" in related.message)]
    read = sum(count for one, count in capture.reads.items() if any(is_in(one.where, span) for span in spans))
    if read >= MANY:
        steps = sum(one.taken for one in capture.steps.values())
        return Verdict(
            True, f"the host read tensors here {read} times" + (f", in {steps} training steps" if steps else "")
        )
    return None


def _calls(finding: Finding, capture: Capture) -> Verdict | None:
    for call, (count, seconds) in capture.model_calls.items():
        if is_in(call.where, finding.span) and count >= ROUNDS:
            return Verdict(True, f"`{call.method}` was called {count} times, {1e3 * seconds / count:.1f} ms each")
    return None


_ENDS = {
    "profiler.experimental.start": "profiler.experimental.stop",
    "debugging.enable_check_numerics": "debugging.disable_check_numerics",
    "debugging.experimental.enable_dump_debug_info": "debugging.experimental.disable_dump_debug_info",
}


def _left_on(finding: Finding, capture: Capture) -> Verdict | None:
    for index, call in enumerate(capture.calls):
        if not is_in(call.where, finding.span) or call.error:
            continue
        name = call.name.removeprefix("tf.")
        later = capture.calls[index + 1 :]
        ended = [one for one in later if one.name.removeprefix("tf.") == _ENDS.get(name, name)]
        if name in _ENDS or "False" not in call.arguments.values():
            off = any(name in _ENDS or "False" in one.arguments.values() for one in ended)
            return Verdict(
                not off, f"{call.name} was called, and {'switched off again' if off else 'stayed on to the end'}"
            )
    return None


VERDICTS: dict[str, Judge] = {
    "GPU501": _reads,
    "GPU502": _reads,
    "GPU503": _calls,
    "GPU504": _traces,
    "GPU505": _traces,
    "GPU506": first_of(_left_on, _eager_all),
    "GPU508": _eager_here,
    "GPU509": _model_here,
}
