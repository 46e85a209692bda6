"""`tf.data` pipelines and the stateful ops in them."""

from __future__ import annotations

from typing import NamedTuple

from gpulint.analysis.domain.context import Strategy, Where
from gpulint.analysis.domain.generator_work import GeneratorWork
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.analysis.domain.values.effects import Effect
from gpulint.places import Site

OPS_OF_IMAGE = 100
"""Number of light ops that one counts as which reads a file, or decodes or scales an image."""


class Step(NamedTuple):
    """One transformation of a `tf.data` pipeline. `effects` are the stateful ops of the function that it maps."""

    name: str
    site: Site
    arguments: Arguments
    effects: tuple[Effect, ...] = ()
    operations: int = 0
    """Number of tensor ops that this function calls, as far as known. One that reads a file, or decodes or scales an
    image, counts as `OPS_OF_IMAGE` more."""
    inner: tuple[Dataset, ...] = ()
    """Datasets that this function returns (`interleave`, `flat_map`)."""


class Dataset(Value):
    """A `tf.data` pipeline: its source and its transformations, in order."""

    __slots__ = (
        "arguments",
        "batch",
        "distributed",
        "element",
        "gives_names",
        "inputs",
        "length",
        "options",
        "site",
        "source",
        "steps",
        "work",
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
        """Arguments of the source."""
        self.inputs = inputs
        """Datasets that the source iterates over (`zip`)."""
        self.options = options
        """Settings of `tf.data.Options`, by dotted name, later ones last."""
        self.length: int | None = None
        """Maximum number of elements of the source, None if it is unknown."""
        self.work: GeneratorWork | None = None
        """Work of the Python generator that is the source."""
        self.gives_names = False
        """Whether that generator yields names of things that other code reads, such as files."""

    def is_like(self, other: Value) -> bool:
        return isinstance(other, Dataset) and self.distributed is other.distributed

    def renamed(self, name: str) -> Dataset:
        """The dataset after assignment to `name`, which may mark it as evaluation data."""
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
        """A copy with some fields replaced."""
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
        changed.length, changed.work, changed.gives_names = self.length, self.work, self.gives_names
        return changed


class Batch(NamedTuple):
    """A batch size: its value and the site that sets it."""

    size: Value
    site: Site
    where: Where
    blame: Site | None
    evaluates: bool = False
    """Whether a name of the pipeline marks it as evaluation data."""


class Transformation(Value):
    """Result of a `tf.data.experimental` function for `Dataset.apply`: methods of datasets and their arguments."""

    __slots__ = ("calls",)

    def __init__(self, calls: tuple[tuple[str, Arguments], ...]) -> None:
        self.calls = calls


EVALUATES = frozenset({"test", "eval", "evaluate", "evaluation", "val", "valid", "validate", "validation", "dev"})
"""Words in the names of evaluation data."""
