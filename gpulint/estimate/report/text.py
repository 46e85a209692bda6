"""The estimate for a terminal: a row for each GPU, what holds the memory, and what bounds the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from gpulint.estimate.report.words import fits, headline, peak, place, size, title
from gpulint.estimate.result import Estimate, Memory, OnCard
from gpulint.estimate.time.bounds import lines_of
from gpulint.probe.measures.holders import GROUP_NAMES
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration, percent
from gpulint.probe.report.layout import DEFAULT, beside, block, clean, columns, printed

BAR = 40
"""Columns of a bar."""
SHORTEST = 5e-7
"""Seconds from which a bound has a bar: less is 0 in microseconds."""
MOST_HOLDERS = 8
MOST_LINES = 5

BOUNDS = ("launch", "compute", "memory", "copy")
_COLORS = {"launch": "magenta", "compute": "green", "memory": "cyan", "copy": "blue"}
_FITS = {"yes": "green", "no": "bold red", "unknown": "yellow"}


def render(estimate: Estimate, color: bool = False, width: int = DEFAULT) -> str:
    return printed(_lines(estimate, width), color, width)


def _lines(estimate: Estimate, width: int) -> Iterator[Text]:
    """The sections, with a blank line between two."""
    is_first = True
    for section in (_answer, _table, _memory, _time, _closing):
        lines = list(section(estimate, width))
        if lines and not is_first:
            yield Text()
        yield from lines
        is_first = is_first and not lines


def _answer(estimate: Estimate, width: int) -> Iterator[Text]:
    yield from _plain(title(estimate), width, "dim")
    yield Text()
    yield from _plain(headline(estimate), width, "bold")


def _table(estimate: Estimate, width: int) -> Iterator[Text]:
    """A row for each card."""
    rows = [["GPU", "fits", "peak", "of", "first step", "process", "largest batch", "step at least", "bound by"]]
    for one in estimate.cards:
        memory = one.memory
        rows.append(
            [
                clean(one.card.name),
                fits(memory),
                size(memory.steady_peak if memory else None),
                in_words(memory.limit if memory else one.card.limit),
                size(memory.first_step_peak if memory else None),
                size(memory.process if memory else None),
                f"{memory.largest_batch:,}" if memory and memory.largest_batch is not None else "unknown",
                duration(one.bounds.seconds),
                one.bounds.active,
            ]
        )
    for number, line in enumerate(columns(rows, width, frozenset(range(2, 8)))):
        text = Text(line, style="bold" if number == 0 else "")
        if 0 < number <= len(estimate.cards):
            answer = rows[number][1]
            text.highlight_regex(rf"(?<=  ){answer}(?=  )", _FITS[answer])
        yield text


def _memory(estimate: Estimate, width: int) -> Iterator[Text]:
    """Holders of memory at the peak, which are the same on every card."""
    memory = next((one.memory for one in estimate.cards if one.memory and one.memory.steady_peak), None)
    if memory is None or not memory.steady_peak:
        return
    yield from _plain(f"Memory at the peak of {peak(memory)}", width, "bold")
    for group, amount in sorted(memory.by_group.items(), key=lambda item: -item[1]):
        share = amount / memory.steady_peak
        name = GROUP_NAMES.get(group, group)
        yield Text(f"  {name:<22}{in_words(amount):>10}  {'█' * round(BAR * share)} {percent(share)}")
    held = sorted(memory.holders, key=lambda one: -one.bytes)[:MOST_HOLDERS]
    for one in held:
        where = place(one.filename, one.row, one.cell) or "(unknown line)"
        layer = f" ({one.layer})" if one.layer else ""
        text = f"{where}{layer} {GROUP_NAMES.get(one.group, one.group)}"
        yield from map(Text, beside(text, in_words(one.bytes), width, "  "))
    yield from _changes(estimate.cards, width)


def _changes(cards: Sequence[OnCard], width: int) -> Iterator[Text]:
    """The first changes to make: on the cards where the step does not fit, else on the first card."""
    tight: Memory | None = next((one.memory for one in cards if one.memory and one.memory.fits == "no"), None)
    memory = tight or cards[0].memory
    if memory is None or not memory.changes:
        return
    yield Text("What saves memory", style="bold")
    for number, sentence in enumerate(memory.changes, 1):
        yield from _plain(f"{sentence[0].upper()}{sentence[1:]}.", width, "", f"  {number}  ")


def _time(estimate: Estimate, width: int) -> Iterator[Text]:
    """The active bound on the time of a step on each card, and its lines."""
    yield Text("Time of a step: lower bounds, not predictions (compute and memory add up)", style="bold")
    for one in estimate.cards:
        yield from _card(one, width)
    lines = [
        (place(line.filename, line.row, line.cell), bound, seconds)
        for line, bound, seconds in lines_of(estimate.cards[0].bounds)
        if line.filename
    ][:MOST_LINES]
    if lines:
        yield Text(f"Lines with the greatest bounds, on {clean(estimate.cards[0].card.name)}", style="bold")
    for where, bound, seconds in lines:
        yield from map(Text, beside(where, f"{bound} {duration(seconds)}", width, "  "))


def _card(one: OnCard, width: int) -> Iterator[Text]:
    found = one.bounds
    seconds = {"launch": found.launch, "compute": found.compute, "memory": found.memory, "copy": found.copy}
    yield Text(f"  {clean(one.card.name)}", style="bold")
    longest = max(seconds.values()) or 1.0
    for name in BOUNDS:
        if seconds[name] >= SHORTEST:
            line = Text(f"    {name:<9}{duration(seconds[name]):>9}  ")
            line.append("█" * max(1, round(BAR * seconds[name] / longest)), style=_COLORS[name])
            yield line
    for sentence in (one.active, *one.remarks):
        yield from _plain(f"{sentence[0].upper()}{sentence[1:]}.", width, "", "    ")


def _closing(estimate: Estimate, width: int) -> Iterator[Text]:
    for note in estimate.notes:
        yield from _plain(f"{note[0].upper()}{note[1:]}.", width, "yellow")
    for sentence in estimate.method:
        yield from _plain(sentence, width, "dim")


def _plain(text: str, width: int, style: str = "", first: str = "") -> Iterator[Text]:
    for line in block(text, width, first):
        yield Text(line, style=style)
