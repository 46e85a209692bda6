"""Operations that make a traced function stateful, so that tf.data keeps a `map` of it sequential.

Read from the graphs that TensorFlow 2.21 builds (`benchmarks/experiments/stateful_maps.py`): assertions, files,
decoding and `stateless_random_*` are not stateful; random ops, Python functions, variables, tables and printing are.
"""

from __future__ import annotations

from functools import lru_cache

from gpulint.knowledge.table import generated_names

_RANDOM = frozenset(
    {
        "tensorflow.image.sample_distorted_bounding_box",
        "tensorflow.nn.dropout",
        "tensorflow.random.categorical",
        "tensorflow.random.gamma",
        "tensorflow.random.normal",
        "tensorflow.random.poisson",
        "tensorflow.random.shuffle",
        "tensorflow.random.truncated_normal",
        "tensorflow.random.uniform",
        "tensorflow.compat.v1.random_uniform",
        "tensorflow.compat.v1.random_normal",
        "tensorflow.compat.v1.truncated_normal",
        "tensorflow.compat.v1.multinomial",
    }
)

_PYTHON = frozenset(
    {
        "tensorflow.py_function",
        "tensorflow.numpy_function",
        "tensorflow.compat.v1.py_func",
        "tensorflow.compat.v1.py_function",
        "tensorflow.compat.v1.numpy_function",
        "tensorflow.py_func",
    }
)

_OTHER = frozenset(
    {
        "tensorflow.debugging.assert_all_finite",
        "tensorflow.debugging.check_numerics",
        "tensorflow.print",
        "tensorflow.timestamp",
    }
)

_RANDOM_LAYERS = "tensorflow.keras.layers.Random"
_LAYERS = frozenset(
    {
        "tensorflow.keras.layers.AugMix",
        "tensorflow.keras.layers.AutoContrast",
        "tensorflow.keras.layers.CutMix",
        "tensorflow.keras.layers.Dropout",
        "tensorflow.keras.layers.GaussianNoise",
        "tensorflow.keras.layers.MixUp",
    }
)


@lru_cache(maxsize=4096)
def effect_of(name: str) -> str | None:
    """Kind of stateful operation that a library name is: "random", "python" or "other". None for stateless ones."""
    if name in _RANDOM or name.startswith("tensorflow.image.random_"):
        return "random"
    if name in _PYTHON:
        return "python"
    return "other" if name in _OTHER else None


def is_random_layer(name: str) -> bool:
    """Whether a Keras layer draws random numbers when it is called for training."""
    return name.startswith(_RANDOM_LAYERS) or name in _LAYERS


TABLE_LAYERS = frozenset(
    {
        "tensorflow.keras.layers.IntegerLookup",
        "tensorflow.keras.layers.StringLookup",
        "tensorflow.keras.layers.TextVectorization",
    }
)
"""Keras layers that use a lookup table."""


def last_names() -> frozenset[str]:
    """Last parts of the names of these operations and layers, except ambiguous ones."""
    known = (f"tensorflow.{name}" for name in generated_names())
    named = {name for name in known if effect_of(name) is not None or is_random_layer(name)}
    names = named.union(_RANDOM, _PYTHON, _OTHER, _LAYERS, TABLE_LAYERS)
    return frozenset(name.rpartition(".")[2] for name in names) - _COMMON - _OF_NETWORKS


_COMMON = frozenset({"gamma", "normal", "poisson", "print", "shuffle", "uniform"})
"""Names that mean these operations only after `random` or in TensorFlow."""

_OF_NETWORKS = frozenset({"Dropout"})
"""Layers that nearly every network has, and hardly any pipeline."""
