"""Upper bounds on the gain of more GPUs, and the batch up to which more examples cost nothing."""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.estimate.cards import Card
from gpulint.estimate.time.bounds import LAUNCH, Bounds, Steps, bounds


@dataclass(frozen=True, slots=True)
class Scaling:
    """N GPUs with as many examples each, against one that reaches its bound: a slower one can gain more, since its step
    is longer beside the exchange of gradients."""

    gpus: int
    speedup_at_most: float
    """Examples per second, as a multiple of one GPU's."""
    exchange_seconds: float
    """Seconds for the all-reduce of the gradients; 0 if the link's speed is unknown."""
    exchange_share: float
    """Share of the step that the exchange takes, from 0 to 1."""


def exchange_of(steps: Steps, card: Card, gpus: int) -> float:
    """Seconds of the all-reduce among `gpus` in a ring, each of which sends and receives 2·(N − 1)/N of the gradients'
    bytes (Patarasuk and Yuan, *Bandwidth Optimal All-reduce Algorithms*, 2009); 0 if the link's speed is unknown."""
    return 2 * (gpus - 1) / gpus * steps.gradient_bytes / card.link if card.link else 0.0


def scaling(steps: Steps, one: Bounds, card: Card, gpus: int) -> Scaling:
    """The gain of `gpus`. By default strategies exchange all gradients in one pack (`bytes_per_pack=0`), and thus after
    the last is computed."""
    exchange = exchange_of(steps, card, gpus)
    together = one.alone + exchange
    share = exchange / together if together else 0.0
    return Scaling(gpus, gpus * (1 - share), exchange, share)


def free_batch(small: Steps, large: Steps, batches: tuple[int, int], card: Card, launch: float = LAUNCH) -> int | None:
    """The batch per GPU up to which a step can take no longer, since launching its operations takes longer than all
    that grows with the batch. From the bounds for two batches, as a straight line: a limit, not a promise. None if the
    step is not bound by launching, does not depend on the batch, or has an iteration of a loop for each example."""
    one, two = (bounds(steps, card, launch) for steps in (small, large))
    if one.active != "launch" or batches[0] == batches[1] or large.launches > small.launches:
        return None
    reached = []
    for first, second in ((one.device, two.device), (one.copy, two.copy)):
        slope = (second - first) / (batches[1] - batches[0])
        if slope > 0:
            reached.append(batches[0] + (one.launch - first) / slope)
    return int(min(reached)) if reached else None


def mixed_precision(steps: Steps, one: Bounds, card: Card, launch: float = LAUNCH) -> float | None:
    """Speed-up of a float32 step with `mixed_float16` or `mixed_bfloat16`, by its bound: matrix products run at the
    16-bit rate, and kernels move half the bytes. None where no rate is known."""
    rate, half = card.matrix_rate("float32"), card.half
    if not rate or not half or not one.alone:
        return None
    shorter = one.compute * min(1.0, rate / half) + one.memory / 2
    return one.alone / max(one.launch, one.copy, shorter)
