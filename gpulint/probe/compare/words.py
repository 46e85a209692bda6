"""A comparison in words."""

from __future__ import annotations

from gpulint.probe.compare.comparison import Change, Comparison, Unit, Verdict
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration, percent

LARGE = 1.5
"""Ratio from which on a change is given as a factor, not in percent."""


def value(unit: Unit, number: float | None) -> str:
    """A value with its unit, "–" if unknown."""
    if number is None:
        return "–"
    if unit == "seconds":
        return duration(number)
    if unit == "bytes":
        return in_words(number)
    return percent(number) if unit == "share" else f"{number:,.0f}"


def change(one: Change) -> str:
    """A change in words: `7× less`, `12 % more`, `within noise`."""
    if one.verdict == "unknown":
        return ""
    if one.verdict == "same":
        return "same" if one.before == one.after else "within noise"
    assert one.before is not None and one.after is not None
    direction = "more" if one.after > one.before else "less"
    if one.unit == "share":
        return f"{abs(one.after - one.before) * 100:.0f} points {direction}"
    low, high = sorted((one.before, one.after))
    if not low:
        return direction
    ratio = high / low
    if ratio >= LARGE:
        return f"{f'{ratio:.1f}'.removesuffix('.0') if ratio < 9.95 else f'{ratio:.0f}'}× {direction}"
    return f"{abs(one.after / one.before - 1):.0%} {direction}".replace("%", " %")


def headline(comparison: Comparison) -> str:
    """The change of the step's time, in one sentence."""
    step = next((one for one in comparison.changes if one.name == "step"), None)
    if step is None or step.before is None or step.after is None:
        return "No steps to compare."
    before, after = duration(step.before), duration(step.after)
    if step.verdict == "same":
        return f"A step takes {after}, as before ({before}): the difference is within noise."
    ratio = max(step.before, step.after) / max(min(step.before, step.after), 1e-12)
    factor = f"{ratio:.1f}".removesuffix(".0") if ratio < 9.95 else f"{ratio:.0f}"
    word = "faster" if step.verdict == "better" else "slower"
    by = f"{factor}× {word}" if ratio >= LARGE else f"{ratio - 1:.0%} {word}".replace("%", " %")
    return f"A step takes {after} instead of {before}: {by}."


def verdict(one: Verdict) -> str:
    """The change of a check's result."""
    if one.is_new:
        return "new"
    return "gone" if one.after is None else "fixed" if one.after.value == "pass" else one.after.value
