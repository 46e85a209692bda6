"""The form in which gpulint knows TensorFlow: one `Fact` for each canonical name.

Tables are data; what the interpreter does with a fact is code, elsewhere. Canonical names are those of
the public TensorFlow 2 API, spelled from `tensorflow.` (`tensorflow.keras.layers.Dense`); code on the
compatibility API keeps its own (`tensorflow.compat.v1.placeholder`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(str, Enum):
    """What calling a name gives or does."""

    STRATEGY = "strategy"
    MODEL = "model"
    """A Keras model class; calling it builds a model."""
    MODEL_FACTORY = "model-factory"
    """A function that returns a ready Keras model (`applications.*`, `load_model`, `clone_model`)."""
    LAYER = "layer"
    OPTIMIZER = "optimizer"
    LOSS = "loss"
    """A loss class; its objects are called with (y_true, y_pred)."""
    LOSS_FUNCTION = "loss-function"
    """A function that gives one loss per example (or per logit)."""
    METRIC = "metric"
    VARIABLE = "variable"
    DATASET = "dataset"
    """A source of a tf.data pipeline."""
    OP = "op"
    """Takes and gives tensors."""
    REDUCTION = "reduction"
    """An op that averages (`detail` "mean") or adds up ("sum") a tensor."""
    CONFIG = "config"
    """Configures the runtime; raises once it is initialised. `detail` names what it configures."""
    QUERY = "query"
    """Asks the runtime what devices there are. `detail`: "physical", "logical", "visible", "legacy"."""
    OTHER = "other"
    """Known, of no consequence of its own but what `initialises` says."""


class Initialises(str, Enum):
    """What a call does to TensorFlow's runtime."""

    NO = "no"
    """Nothing: not even the CUDA driver is asked."""
    DRIVER = "driver"
    """Asks the driver for devices (CUDA_VISIBLE_DEVICES is read), but leaves the context uninitialised."""
    MAYBE = "maybe"
    """Creates the GPU devices outside the context: later settings are accepted and come too late."""
    YES = "yes"


@dataclass(frozen=True, slots=True)
class Fact:
    """What gpulint knows of one name.

    `params` are the names of the positional parameters in order, without `self`; empty when no analysis needs
    them. `detail` refines the kind (strategy kind, configured thing, reduction).
    """

    kind: Kind
    params: tuple[str, ...] = ()
    initialises: Initialises = Initialises.NO
    detail: str = ""
