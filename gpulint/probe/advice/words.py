"""Gains in words."""

from __future__ import annotations

from gpulint.probe.advice.advice import Advice

SMALL = 1.095
"""A speedup below this is shown in percent."""


def gain(one: Advice, is_first: bool) -> str:
    """For example `up to 18 × faster`, or `then up to 4 × faster`, after the advice before it."""
    if not one.seconds:
        return "needed to run" if one.cause == "out-of-memory" else ""
    then = "" if is_first else "then "
    if one.speedup < SMALL:
        return f"{then}up to {max(one.speedup - 1, 0.01):.0%} faster".replace("%", " %")
    factor = f"{one.speedup:.0f}" if one.speedup >= 9.95 else f"{one.speedup:.1f}".removesuffix(".0")
    return f"{then}up to {factor} × faster"
