"""Tensors, how losses are reduced, and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpulint.analysis.domain.context import Strategy, Where
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.domain.values.objects import Layer, Variable
from gpulint.knowledge.devices import DeviceName
from gpulint.places import Site


class Reduced(NamedTuple):
    """How a loss came to be one number: "mean" or "sum", and where. "scaled" when it was divided on purpose,
    "default" when a Keras loss object did it with its default reduction, "none" when it is one number for each example:
    a gradient of these is that of their sum."""

    how: str
    site: Site


class Summand(NamedTuple):
    """One gradient in a sum of them: `taken` is a number of its own, for each time that one is taken."""

    taken: int
    factors: tuple[Symbol, ...] = ()
    """What it was multiplied with and divided by since."""


NOTHING_SUMMED: frozenset[Summand] = frozenset()


class Gradient(NamedTuple):
    """Where a gradient was taken and of which loss; of a sum of gradients, the first one's."""

    site: Site
    where: Where
    loss: Value
    accumulated: bool
    scaled: bool
    summands: frozenset[Summand] = NOTHING_SUMMED
    """All that it is the sum of; empty where it is none, or not known to be."""


class Tensor(Value):
    """A tensor. `device` is where an explicit scope put it; None elsewhere."""

    __slots__ = (
        "compiled",
        "device",
        "dtype",
        "from_data",
        "gradient",
        "layer",
        "masks",
        "of_weights",
        "on_host",
        "reduced",
        "rows",
        "scaled",
        "scope",
        "shape_of",
        "single",
        "site",
        "state",
        "static",
        "symbolic",
    )

    is_plain = True

    def __init__(
        self,
        site: Site,
        device: DeviceName | None = None,
        dtype: str | None = None,
        reduced: Reduced | None = None,
        gradient: Gradient | None = None,
        scope: Site | None = None,
        shape_of: bool = False,
        from_data: bool = False,
        layer: Layer | None = None,
        on_host: bool = False,
        single: bool = False,
        symbolic: bool = False,
        scaled: bool = False,
        compiled: bool = False,
        of_weights: bool = False,
        state: Variable | None = None,
        static: bool = False,
        masks: bool = False,
        rows: bool | None = None,
    ) -> None:
        self.site = site
        self.rows = rows
        """Several examples, as a batch of data is: the next rows of a collection, rows that were drawn. False where it
        is known to be none: a number, a list of numbers that the program spells out, zeros."""
        self.masks = masks
        """Truths, or zeros and ones: what compares, perhaps cast."""
        self.state = state
        """The variable whose content this is, perhaps scaled, clipped or cast."""
        self.of_weights = of_weights
        """Computed of variables alone, not of a batch."""
        self.compiled = compiled
        """What a `tf.function` gave to eager code."""
        self.scaled = scaled
        """A loss that was scaled for float16."""
        self.symbolic = symbolic
        """Of a Keras model that is being built: comes of an `Input`."""
        self.single = single
        """A batch of one example."""
        self.layer = layer
        """The layer that gives it."""
        self.on_host = on_host
        """In host memory wherever the op runs: strings, shapes, what is read from files."""
        self.device = device
        self.dtype = dtype
        self.reduced = reduced
        self.gradient = gradient
        self.scope = scope
        """The `tf.device` call of the scope that it was made in."""
        self.shape_of = shape_of
        """Read off the shape of another tensor, so a per-replica size."""
        self.static = static
        """No tensor, but numbers that Python has: the shape that another tensor is known to have."""
        self.from_data = from_data
        """An element of a plain dataset."""

    @property
    def symbol(self) -> Symbol:
        return symbol(("tensor", self.site))

    @property
    def call_key(self) -> tuple[Any, ...]:
        return ("tensor", self.site, self.device, self.reduced)


def one_of_many(tensors: Sequence[Tensor]) -> Tensor:
    """What stands for tensors that are too many to tell apart: what all agree on, and what any of them may be that is
    not known to be a fault."""
    first = tensors[0]
    made = Tensor(first.site)
    for name in ("device", "dtype", "reduced", "gradient", "layer", "scope", "state", "single", "masks", "rows"):
        if all(getattr(other, name) == getattr(first, name) for other in tensors):
            setattr(made, name, getattr(first, name))
    for name in ("shape_of", "static", "from_data", "on_host", "symbolic", "scaled", "compiled", "of_weights"):
        setattr(made, name, any(getattr(other, name) for other in tensors))
    return made


class PerReplica(Value):
    """What `strategy.run` or a distributed dataset gives: one value per replica."""

    __slots__ = ("site", "strategy", "value")

    def __init__(self, site: Site, strategy: Strategy, value: Value) -> None:
        self.site = site
        self.strategy = strategy
        self.value = value
