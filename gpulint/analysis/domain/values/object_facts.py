"""Facts about objects of libraries that the program itself cannot read."""

from __future__ import annotations

from enum import Enum, auto


class ObjectFact(Enum):
    """Key of a fact in `Object.facts`. Facts are written through the store, as attributes are."""

    ARGUMENTS = auto()
    """Arguments that an object of a library was created with."""

    BUILT = auto()
    """A model has its variables: whether they were created with no strategy in force. An optimizer has, or may have,
    variables for those of a model."""

    COMPILED = auto()
    """Call of a model's `compile`."""

    OPTIMIZER = auto()
    """Optimizer that a model was compiled with."""

    LOSS = auto()
    """Loss that a model was compiled with."""

    OUTPUTS = auto()
    """Output tensors of a functional or subclassed model."""

    LAST_LAYER = auto()
    """Last layer of a Sequential model."""

    RANDOM_LAYER = auto()
    """Library name of a layer of a model that draws random numbers."""

    MODEL = auto()
    """Model that a layer was read from."""

    SQUASHES = auto()
    """The activation of a layer is a softmax or sigmoid."""

    SHAPED = auto()
    """A layer was created with the shape of its input."""

    SOURCE_LAYER = auto()
    """Layer that computes the numbers which a layer only passes on."""

    FUNCTION = auto()
    """Function that a Lambda layer calls."""

    SEED = auto()
    """Seed that a layer was created with."""
