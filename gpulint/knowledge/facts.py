"""Schema of the knowledge of TensorFlow: one `Fact` per canonical name.

Tables are data; what the interpreter does with a fact is code, elsewhere. Canonical names are those of the public
TensorFlow 2 API, spelled from `tensorflow.` (`tensorflow.keras.layers.Dense`). Names of the compatibility API are kept
(`tensorflow.compat.v1.placeholder`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(str, Enum):
    """Result or effect of calling a name."""

    STRATEGY = "strategy"
    MODEL = "model"
    """A Keras model class. Calling it creates a model."""
    MODEL_FACTORY = "model-factory"
    """A function that returns a complete Keras model (`applications.*`, `load_model`, `clone_model`)."""
    LAYER = "layer"
    OPTIMIZER = "optimizer"
    LOSS = "loss"
    """A loss class. Its objects are called with (y_true, y_pred)."""
    LOSS_FUNCTION = "loss-function"
    """A function that returns one loss per example (or per logit)."""
    METRIC = "metric"
    VARIABLE = "variable"
    DATASET = "dataset"
    """A source of a tf.data pipeline."""
    OP = "op"
    """An op that takes and returns tensors."""
    REDUCTION = "reduction"
    """An op that averages (`detail` "mean") or sums ("sum") a tensor."""
    CONFIG = "config"
    """Configures the runtime, and raises once that is initialised. `detail` names what it configures."""
    QUERY = "query"
    """Queries the runtime for devices. `detail`: "physical", "logical", "visible", "legacy"."""
    OTHER = "other"
    """Known, but without effects other than those in `initialises`."""


class Initialises(str, Enum):
    """Effect of a call on TensorFlow's runtime."""

    NO = "no"
    """None: not even the CUDA driver is queried."""
    DRIVER = "driver"
    """Queries the driver for devices (CUDA_VISIBLE_DEVICES is read), but leaves the context uninitialised."""
    MAYBE = "maybe"
    """Creates the GPU devices outside the context: later settings are accepted but have no effect."""
    YES = "yes"


@dataclass(frozen=True, slots=True)
class Fact:
    """Knowledge of one name.

    `params` are the names of the positional parameters in order, without `self`; empty when no analysis needs them.
    `detail` refines the kind (strategy kind, configured thing, reduction).
    """

    kind: Kind
    params: tuple[str, ...] = ()
    initialises: Initialises = Initialises.NO
    detail: str = ""
