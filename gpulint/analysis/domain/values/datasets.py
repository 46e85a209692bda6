"""tf.data pipelines and the stateful operations in them."""

from __future__ import annotations

from typing import NamedTuple

from gpulint.analysis.domain.context import Strategy, Where
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.analysis.domain.values.effects import Effect
from gpulint.places import Site


class Step(NamedTuple):
    """One transformation of a tf.data pipeline. `effects` are the stateful operations of the function that it maps."""

    name: str
    site: Site
    arguments: Arguments
    effects: tuple[Effect, ...] = ()
    operations: int = 0
    """How many tensor operations that function calls, as far as is known."""


class Dataset(Value):
    """A tf.data pipeline: where it starts and what was done to it, in order."""

    __slots__ = (
        "arguments",
        "batch",
        "distributed",
        "element",
        "for_samples",
        "gives_names",
        "inputs",
        "options",
        "site",
        "source",
        "steps",
    )

    def __init__(
        self,
        site: Site,
        source: str,
        steps: tuple[Step, ...] = (),
        batch: Batch | None = None,
        distributed: Strategy | None = None,
        element: Value | None = None,
        arguments: Arguments | None = None,
        inputs: tuple[Dataset, ...] = (),
        options: tuple[tuple[str, Value], ...] = (),
    ) -> None:
        self.site = site
        self.source = source
        self.steps = steps
        self.batch = batch
        self.distributed = distributed
        self.element = element
        self.arguments = arguments if arguments is not None else Arguments()
        """What its source was given."""
        self.inputs = inputs
        """The datasets that its source goes over (`zip`)."""
        self.options = options
        """Settings of `tf.data.Options`, by dotted name, the later ones last."""
        self.for_samples: Site | None = None
        """Where the Python generator that it starts from works for each sample of an element."""
        self.gives_names = False
        """That generator gives names of what others read."""

    def is_like(self, other: Value) -> bool:
        return isinstance(other, Dataset) and self.distributed is other.distributed

    def renamed(self, name: str) -> Dataset:
        """It, after it went through a variable, an attribute or a key of that name, which may say that it is for
        evaluation."""
        if self.batch is not None and EVALUATES & words(name) and "train" not in words(name):
            return self.but(batch=self.batch._replace(evaluates=True))
        return self

    def but(
        self,
        *,
        steps: tuple[Step, ...] | None = None,
        batch: Batch | None = None,
        distributed: Strategy | None = None,
        options: tuple[tuple[str, Value], ...] | None = None,
    ) -> Dataset:
        """It, with some of this changed."""
        changed = Dataset(
            self.site,
            self.source,
            self.steps if steps is None else steps,
            self.batch if batch is None else batch,
            distributed or self.distributed,
            self.element,
            self.arguments,
            self.inputs,
            self.options if options is None else options,
        )
        changed.for_samples, changed.gives_names = self.for_samples, self.gives_names
        return changed


class Batch(NamedTuple):
    """A batch size: its value and the place that sets it."""

    size: Value
    site: Site
    where: Where
    blame: Site | None
    evaluates: bool = False
    """Whether the pipeline went by a name that says it is for evaluation."""


class Transformation(Value):
    """What a function of `tf.data.experimental` gives for `Dataset.apply`: a method of datasets and its arguments."""

    __slots__ = ("arguments", "method")

    def __init__(self, method: str, arguments: Arguments) -> None:
        self.method = method
        self.arguments = arguments


EVALUATES = frozenset({"test", "eval", "evaluate", "evaluation", "val", "valid", "validate", "validation", "dev"})
"""Words in names of what is for evaluation."""
