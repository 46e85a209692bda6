"""Gains and holders of memory, in words."""

from __future__ import annotations

from collections import Counter

from gpulint.probe.advice.advice import Advice
from gpulint.probe.measures.holders import GROUP_NAMES, Held
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration

MOST_GROUPS = 4
"""Maximum number of groups of holders that are named."""

LEAST = 0.01
"""Share of the held memory from which on a group is named."""

SMALL = 1.095
"""A speedup below this is shown in percent."""


def gain(one: Advice, is_first: bool) -> str:
    """The gain in words: `up to 18× faster`, `then up to 4× faster` after the advice before it, `saves up to 12 s`
    outside training; "" if unknown."""
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
    return f"{then}up to {factor}× faster"


def with_gain(one: Advice, is_first: bool) -> str:
    """The problem, with the gain from solving it if that is known."""
    gained = gain(one, is_first)
    return f"{one.text}: {gained}" if gained else one.text


def holders(held: Held) -> str:
    """The largest groups of holders, each with its largest line: `activations 95 MiB (train.py:8), gradients 47 MiB`;
    "" if none is known."""
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
