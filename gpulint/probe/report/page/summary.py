"""The section Summary: how busy the devices were, what to change first, and where time and memory went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from gpulint.probe.advice.advice import Advice
from gpulint.probe.advice.words import gain
from gpulint.probe.measures.holders import Held
from gpulint.probe.measures.time_spent import TimeSpent
from gpulint.probe.measures.time_words import between_steps, duration, percent
from gpulint.probe.report import RunReport
from gpulint.probe.report.failure import failure
from gpulint.probe.report.first_step import until_first_step
from gpulint.probe.report.header import ending
from gpulint.probe.report.page import steps
from gpulint.probe.report.page.checks import counts_of, violations
from gpulint.probe.report.page.figures import bar, legend
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.memory import treemap
from gpulint.probe.report.page.parts import link, prose
from gpulint.probe.report.page.places import Places

KNOWN = 0.8
"""Share of unknown holders from which a device's memory is left to its section."""


def section(report: RunReport, places: Places) -> Iterator[Child]:
    """The answer on one screen; the other sections have the details."""
    spent, on_gpu = report.time, report.capture.on_gpu
    yield _ended(report)
    if spent is not None:
        yield from step_bar(spent, on_gpu)
    yield from _changes(report.advice, places)
    drawn = steps.figure(spent, on_gpu) if spent is not None else None
    fullest = max(filter(_is_known, report.held), key=_rank, default=None)
    limits = report.capture.limits
    held = treemap(fullest, places.located, limits.get(fullest.device)) if fullest is not None else None
    if drawn is not None or held is not None:
        yield tag("div", drawn, held, class_="figures")
    yield tag("h3", "Checks")
    yield counts_of(Counter(one.status for one in report.expectations), href="#checks")
    yield violations(report, places)


def _rank(held: Held) -> tuple[bool, int]:
    """The fullest GPU comes first, the host last."""
    return held.device.startswith("GPU"), held.peak


def _is_known(held: Held) -> bool:
    """Whether it is known who holds a good part of a device's memory."""
    unknown = sum(one.bytes for one in held.holders if one.group == "other" and one.where is None)
    return held.peak > 0 and unknown < KNOWN * held.peak


def step_bar(spent: TimeSpent, on_gpu: bool) -> Iterator[Child]:
    """The parts of the training time, side by side, with their names and the time of a step."""
    parts = sorted(spent.shown, key=lambda part: -part.seconds)
    each = spent.seconds / spent.steps if spent.steps else 0.0
    texts = [(part.name, f"{percent(part.share)} · {duration(part.share * each)}") for part in parts]
    said = "; ".join(f"{name} {text}" for name, text in texts)
    whose = f"{spent.worker}, " if spent.worker else ""
    aside = f"a step of {whose}{duration(each)}, mean of {spent.steps:,}; median {duration(spent.step_median)}, "
    yield bar([(part.name, part.share) for part in parts], f"Where the time of a step goes: {said}")
    between = f"; {words}" if (words := between_steps(spent.between, spent.seconds, spent.steps)) else ""
    first = f"; {words}" if (words := until_first_step(spent)) else ""
    yield legend(texts, on_gpu, f"{aside}95th percentile {duration(spent.step_p95)}{between}{first}")


def _ended(report: RunReport) -> Element | None:
    """How the program failed."""
    ended = ending(report.capture)
    if not ended and not report.capture.error:
        return None
    lines = list(failure(report.capture))
    return tag(
        "div",
        tag("b", f"{ended[0].upper()}{ended[1:]}." if ended else "The program raised."),
        tag("pre", "\n".join(lines)) if lines else None,
        class_="ended",
    )


def _changes(advice: Sequence[Advice], places: Places) -> Iterator[Child]:
    if not advice:
        return
    yield tag("h3", "What to change first")
    yield tag("ol", (_change(number, one, places) for number, one in enumerate(advice, 1)), class_="changes")


def _change(number: int, one: Advice, places: Places) -> Element:
    gained = gain(one, is_first=number == 1)
    return tag(
        "li",
        tag("span", str(number), class_="rank", aria_hidden="true"),
        tag(
            "div",
            tag("p", link(places, one.where), " " if one.where else None, prose(one.text)),
            tag(
                "p",
                prose(f"{one.evidence} {one.fix}".strip()),
                " ",
                tag("span", one.code or one.cause, class_="rule"),
                class_="aside",
            ),
        ),
        tag("span", gained, class_="gain") if gained else None,
    )
