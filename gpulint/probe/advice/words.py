"""Gains, and who holds memory, in words."""

from __future__ import annotations

from collections import Counter

from gpulint.probe.advice.advice import Advice
from gpulint.probe.measures.holders import GROUP_NAMES, Held
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration

MOST_GROUPS = 4
"""Kinds of holders of a device's memory that are named."""

LEAST = 0.01
"""Share of a device's memory from which a kind of holder is named."""

SMALL = 1.095
"""A speedup below this is shown in percent."""


def gain(one: Advice, is_first: bool) -> str:
    """For example `up to 18 × faster`, or `then up to 4 × faster`, after the advice before it; `saves up to 12 s` of
    the run, outside training; "" if unknown."""
    if not one.seconds:
        return "needed to run" if one.cause == "out-of-memory" else ""
    if not one.is_timed:
        return ""
    if one.is_outside:
        return f"saves up to {duration(one.seconds)}"
    then = "" if is_first else "then training " if one.is_after_outside else "then "
    if one.speedup < SMALL:
        return f"{then}up to {max(one.speedup - 1, 0.01):.0%} faster".replace("%", " %")
    factor = f"{one.speedup:.0f}" if one.speedup >= 9.95 else f"{one.speedup:.1f}".removesuffix(".0")
    return f"{then}up to {factor} × faster"


def with_gain(one: Advice, is_first: bool) -> str:
    """What is wrong, with the gain if it is known."""
    gained = gain(one, is_first)
    return f"{one.text}: {gained}" if gained else one.text


def holders(held: Held) -> str:
    """For example `activations 95 MiB (train.py:8), gradients 47 MiB`: the largest groups, with the line of most; "" if
    none is known."""
    sizes = Counter[str]()
    for one in held.holders:
        sizes[one.group] += one.bytes
    parts = []
    known = [(group, size) for group, size in sizes.most_common(MOST_GROUPS) if size >= LEAST * sizes.total()]
    if [group for group, _ in known] == ["other"]:
        return ""
    for group, size in known:
        largest = max((one for one in held.holders if one.group == group), key=lambda one: one.bytes)
        at = f" ({largest.where.in_short})" if largest.where is not None else ""
        parts.append(f"{GROUP_NAMES[group]} {in_words(size)}{at}")
    return ", ".join(parts)
