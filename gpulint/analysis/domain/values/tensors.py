"""Tensors, reductions of losses, and gradients."""

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
    """How and where a loss was reduced to one number.

    `how` is "mean"; "sum"; "scaled" if it was divided explicitly; "default" if a Keras loss object applied its default
    reduction; "none" if there is one number per example, whose gradient is that of their sum; "image" if there is one
    per image, as of `tf.image.psnr`. `is_number`: the loss is certainly one number.
    """

    how: str
    site: Site
    is_number: bool = False


class Summand(NamedTuple):
    """One gradient in a sum of gradients. `taken` is a number that is unique to each evaluation of the gradient."""

    taken: int
    factors: tuple[Symbol, ...] = ()
    """Factors and divisors applied to it since."""


NOTHING_SUMMED: frozenset[Summand] = frozenset()


class Gradient(NamedTuple):
    """Site and loss of a gradient. For a sum of gradients, those of the first."""

    site: Site
    where: Where
    loss: Value
    accumulated: bool
    scaled: bool
    summands: frozenset[Summand] = NOTHING_SUMMED
    """Gradients that it is the sum of; empty if it is not a sum or its summands are unknown."""


class Tensor(Value):
    """A tensor. `device` is where an explicit scope placed it; None elsewhere."""

    __slots__ = (
        "compiled",
        "decoded",
        "device",
        "dtype",
        "from_data",
        "gradient",
        "layer",
        "length",
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
        "squashed",
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
        """Whether it holds several examples, as a batch of data does: the next rows of a collection, or sampled rows.
        False if it certainly does not: a number, a list of numbers spelled out in the program, zeros."""
        self.masks = masks
        """Whether it holds booleans, or zeros and ones: the result of a comparison, possibly cast."""
        self.state = state
        """Variable whose value it is, possibly scaled, clipped, divided, cast or compared with a number."""
        self.of_weights = of_weights
        """Whether it was computed from variables alone, not from a batch."""
        self.compiled = compiled
        """Whether a `tf.function` returned it to eager code."""
        self.scaled = scaled
        """Whether it is a loss that was scaled for float16."""
        self.symbolic = symbolic
        """Whether it is symbolic, derived from an `Input` of a Keras model under construction."""
        self.decoded: tuple[Site, ...] | None = None
        """If it is one image from a file, possibly as a batch of one: the loops in which it was decoded."""
        self.single = single
        """Whether it is a batch of one example."""
        self.layer = layer
        """Layer that outputs it, also by way of a softmax or sigmoid."""
        self.length: int | None = None
        """Number of slices along its first axis, where the program spells it out; None elsewhere."""
        self.squashed = False
        """Whether it is a softmax or sigmoid of what `layer` computes."""
        self.on_host = on_host
        """Whether it is in host memory wherever the op runs: strings, shapes, contents of files."""
        self.device = device
        self.dtype = dtype
        self.reduced = reduced
        self.gradient = gradient
        self.scope = scope
        """The `tf.device` call of the scope in which it was created."""
        self.shape_of = shape_of
        """Whether it was read from the shape of another tensor, so that it is a per-replica size."""
        self.static = static
        """Whether it consists of Python numbers rather than being a tensor: the static shape of another tensor."""
        self.from_data = from_data
        """Whether it is an element of a dataset that is not distributed."""

    @property
    def symbol(self) -> Symbol:
        return symbol(("tensor", self.site))

    @property
    def call_key(self) -> tuple[Any, ...]:
        return ("tensor", self.site, self.device, self.reduced)


_SHARED = ("device", "dtype", "reduced", "gradient", "layer", "scope", "state", "single", "masks", "rows", "decoded")


def one_of_many(tensors: Sequence[Tensor]) -> Tensor:
    """Tensor that represents too many tensors to follow each: the properties that all share, and those flags of any of
    them that can only suppress findings."""
    first = tensors[0]
    made = Tensor(first.site)
    for name in _SHARED:
        if all(getattr(other, name) == getattr(first, name) for other in tensors):
            setattr(made, name, getattr(first, name))
    for name in ("shape_of", "static", "from_data", "on_host", "symbolic", "scaled", "compiled", "of_weights"):
        setattr(made, name, any(getattr(other, name) for other in tensors))
    return made


class PerReplica(Value):
    """Result of `strategy.run` or an element of a distributed dataset: one value per replica."""

    __slots__ = ("from_data", "site", "strategy", "value")

    def __init__(self, site: Site, strategy: Strategy, value: Value, *, from_data: bool = False) -> None:
        self.site = site
        self.strategy = strategy
        self.value = value
        self.from_data = from_data
        """Whether it is a part of an element of a distributed dataset."""
