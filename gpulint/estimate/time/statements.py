"""Statements about the bounds for users."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.estimate.cards import Card
from gpulint.estimate.time.bounds import CALL, Bounds, Steps
from gpulint.estimate.time.scaling import Scaling
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration, percent

MATTERS = 1.05
"""Factor from which a gain is reported."""


CLEARLY = 2
"""Times the bound of the kernels from which another one is certain to bound the step: kernels may take twice theirs."""


def active(steps: Steps, found: Bounds, card: Card) -> str:
    """The active bound on the step on this card."""
    if found.active == "launch":
        if not steps.launches:
            return f"bound by the call of the compiled step, {duration(found.launch)}; kernels {duration(found.device)}"
        text = f"launch-bound: the host needs {duration(found.launch)} for {number(steps.launches, 'operation')}"
        if steps.kernels:
            text += f" and {number(steps.kernels, 'kernel')} of recurrent layers"
        if not card.float32 or not card.bandwidth:
            return f"{text}; the card's speed is unknown (tflops=…, bandwidth=…)"
        if not steps.is_sized:
            return f"{text}; what their kernels need is known in part only"
        return f"{text}, their kernels {duration(found.device)}"
    if found.active == "collective":
        gradients = f"{in_words(steps.gradient_bytes)} of gradients over {card.link_kind}"
        return f"bound by the all-reduce of {gradients}: {duration(found.collective)}"
    if found.active == "copy":
        return f"bound by the input: {in_words(steps.input_bytes)} per step take {duration(found.copy)} to copy"
    near = f"; launching them takes at least {duration(found.launch)}" if found.launch > found.device else ""
    if found.active == "compute":
        return f"compute-bound: {duration(found.compute)} of matrix products at the card's peak{near}"
    moved = in_words(steps.bytes)
    return f"memory-bound: kernels move {moved} per step, which takes at least {duration(found.memory)}{near}"


def unused(steps: Steps, free: int | None, batch: int | None, mixed: float | None, found: Bounds) -> Iterator[str]:
    """Changes that would cost or gain nothing. For a step that XLA compiles, the bounds are too loose to tell; where
    shapes are unknown, too."""
    is_telling = steps.is_sized and (not steps.is_compiled or found.active in ("compute", "memory"))
    if free is not None and batch is not None and free > batch and is_telling:
        yield f"a larger batch is free up to about {free:,} (now {batch:,})"
    if mixed is None or not is_telling:
        return
    if found.active == "launch" and found.launch >= CLEARLY * found.device:
        yield "mixed precision gains nothing: launching operations bounds the step"
    elif found.active == "copy" and found.copy >= CLEARLY * found.device:
        yield "mixed precision gains nothing: copying the input bounds the step"
    elif mixed >= MATTERS:
        yield f"mixed precision: at most {mixed:.1f}× as fast"


def more_gpus(one: Scaling, steps: Steps, card: Card) -> str:
    """The gain of N GPUs. For a step that XLA compiles, or of unknown shapes, only the exchange: its bounds are too
    loose for a share."""
    if not card.link:
        return f"{one.gpus} GPUs: unknown, as the speed of the link is not given (link=… in GB/s)"
    exchange = f"all-reduce of {in_words(steps.gradient_bytes)} over {card.link_kind}"
    if steps.is_compiled or not steps.is_sized:
        return f"{one.gpus} GPUs: {exchange} adds {duration(one.exchange_seconds)} to each step"
    share = percent(one.exchange_share)
    return f"{one.gpus} GPUs: at most {one.speedup_at_most:.1f}× as fast; {exchange} is {share} of the step"


def method(launch: float) -> str:
    """How the bounds were computed."""
    return (
        f"Time: lower bounds from the peaks of data sheets; the host needs {CALL * 1e6:.0f} µs for a step and "
        f"{launch * 1e6:.1f} µs for each operation that it launches (8.6 to 13 µs measured beside an H200)."
    )


def number(count: int, word: str) -> str:
    """`1 loop`, `2,000 loops`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _count(number: int) -> str:
    return "counts" if number == 1 else "count"


def missing(steps: Steps) -> Iterator[str]:
    """Limitations of the bounds."""
    if count := sum(steps.unknown.values()):
        names = ", ".join(name for name, _ in steps.unknown.most_common(3))
        yield f"{number(count, 'operation')} without a cost model {_count(count)} nothing: {names}"
    if count := sum(steps.unsized.values()):
        names = ", ".join(name for name, _ in steps.unsized.most_common(3))
        yield f"{number(count, 'operation')} of unknown shape {_count(count)} in part: {names}"
    if count := steps.uncounted_loops:
        yield f"{number(count, 'loop')} of unknown length {_count(count)} as one iteration"
    if steps.is_compiled:
        yield (
            "XLA compiles the step: operations that it may fuse take no time in these bounds, which are far below the "
            "truth"
        )
