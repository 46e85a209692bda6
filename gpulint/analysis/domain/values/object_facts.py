"""Facts about objects of libraries that the program itself cannot read."""

from __future__ import annotations

from enum import Enum, auto


class ObjectFact(Enum):
    """Key of a fact in `Object.facts`. Facts are written through the store, as attributes are."""

    ARGUMENTS = auto()
    """Arguments that an object of a library was created with."""

    BUILT = auto()
    """Of a model once its variables are created: whether that was with no strategy in force. Of an optimizer once it
    has, or may have, variables for those of a model."""

    COMPILED = auto()
    """Of a model: the call of `compile`."""

    OPTIMIZER = auto()
    """Of a model: the optimizer it was compiled with."""

    LOSS = auto()
    """Of a model: the loss it was compiled with."""

    OUTPUTS = auto()
    """Of a functional or subclassed model: its output tensors."""

    LAST_LAYER = auto()
    """Of a Sequential model: its last layer."""

    RANDOM_LAYER = auto()
    """Of a model: the library name of a layer of it that draws random numbers."""

    MODEL = auto()
    """Of a layer that was read from a model: the model."""

    SQUASHES = auto()
    """Of a layer whose activation is a softmax or sigmoid."""

    SHAPED = auto()
    """Of a layer that was created with the shape of its input."""

    SOURCE_LAYER = auto()
    """Of a layer that only passes numbers on: the layer that computes them."""

    FUNCTION = auto()
    """Of a Lambda layer: the function that it calls."""

    SEED = auto()
    """Of a layer: the seed that it was created with."""
