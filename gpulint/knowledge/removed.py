"""Public names removed in TensorFlow releases, generated from the wheels (`scripts/removed_api.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from gpulint.knowledge.names import PRIVATE, SOURCE
from gpulint.knowledge.table import aliases, read


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return read("removed.json")


def names() -> dict[str, str]:
    """Name → the first release without it. A removed module stands for all names in it."""
    found: dict[str, str] = _table()["names"]
    return found


def methods() -> dict[str, dict[str, str]]:
    """Class → method → the first release without it ("": the class still has it, though its base does not)."""
    found: dict[str, dict[str, str]] = _table()["methods"]
    return found


def since(name: str, package: str = "tensorflow") -> str | None:
    """First release without a name, None where the newest has it (or no release ever did).

    `package` is the one the name is imported from. `keras` has some names that `tf.keras` lacks, and lacks others.
    `tf_keras` and the copy in `tensorflow.python` have all. What Keras's own modules have is unknown.
    """
    if is_of_keras_2(package) or (package == "keras" and name in _table()["standalone"]):
        return None
    if package == "keras" and name in only_tf():
        return _WITH_KERAS_3
    return names().get(name)


@lru_cache(maxsize=1)
def only_tf() -> frozenset[str]:
    """Names that `tf.keras` has and the package `keras` lacks since it is Keras 3."""
    return frozenset(_table()["only_tf"])


_WITH_KERAS_3 = "2.16"
"""First release of TensorFlow that uses Keras 3."""


def raises_since(name: str, package: str = "tensorflow") -> str | None:
    """First release in which calling a name that still exists only raises."""
    found: str | None = _table()["raising"].get(name) if package not in _OF_KERAS_2 else None
    return found


_OF_KERAS_2 = ("tf_keras", PRIVATE)


def is_of_keras_2(package: str) -> bool:
    """Whether a package has the API of Keras 2, or an unknown one: Keras's own modules differ from the public ones."""
    return package in (*_OF_KERAS_2, SOURCE)


def is_importable(name: str) -> bool:
    """Whether `import` still finds a module that is no longer an attribute of `tensorflow`."""
    return name in _table()["importable"]


@lru_cache(maxsize=4096)
def method_since(library: str, method: str) -> str | None:
    """First release in which a class no longer has a method, its own or an inherited one."""
    cls: str | None = library
    while cls is not None:
        gone: str | None = methods().get(cls, {}).get(method, UNLISTED.get(cls, {}).get(method))
        if gone is not None:
            return gone or None
        cls = _table()["bases"].get(cls)
    return None


def has_methods(library: str) -> bool:
    """Whether the removed methods of a class are known, its own or inherited ones."""
    return library in methods() or library in _table()["bases"]


_OF_OPTIMIZERS = ("_create_all_weights", "_create_hypers", "_create_slots", "_decayed_lr", "_get_hyper", "_set_hyper")
_OF_VARIABLES = ("device", "eval", "get_shape", "initialized_value", "is_initialized", "op", "read_value")

UNLISTED: dict[str, dict[str, str]] = {
    "tensorflow.keras.KerasTensor": {"get_shape": "2.16"},
    "tensorflow.keras.Optimizer": dict.fromkeys(_OF_OPTIMIZERS, "2.11"),
    "tensorflow.keras.Variable": dict.fromkeys(_OF_VARIABLES, "2.16"),
}
"""Class → method that the wheels do not show → the first release without it.

Weights of Keras 2 were `tf.Variable`s, and its symbolic tensors had another class. Programs call some private methods
of its optimizers.
"""


def functions() -> Iterator[str]:
    """Functions, classes and methods from which parameters were removed."""
    return iter(_table()["parameters"])


@cache
def parameters_since(function: str) -> Mapping[str, str]:
    """Parameter → the first release in which a function or method no longer accepts it."""
    return {name: since for name, since in _table()["parameters"].get(function, {}).items() if since}


@lru_cache(maxsize=1)
def passed_to() -> dict[str, frozenset[str]]:
    """Last part of the name of a function, class or model method → its removed parameters, except common ones."""
    found: dict[str, set[str]] = {}
    for name, function in (*((one, one) for one in functions()), *aliases().items()):
        owner, _, last = name.rpartition(".")
        if name.startswith(_MODEL_METHODS) or not owner.rpartition(".")[2][:1].isupper():
            found.setdefault(last, set()).update(parameters_since(function).keys() - _EVERYWHERE)
    return {name: frozenset(gone) for name, gone in found.items() if gone}


_EVERYWHERE = frozenset({"batch_size", "input_shape", "name", "trainable", "weights"})
"""Parameters that so many other functions take that they are no reason to analyse a program."""


REFUSED_BY_OPTIMIZERS = ("lr", "2.16", "learning_rate")
"""Argument that every Keras optimizer once accepted, first release in which they raise for it, and replacement."""

PROPERTIES = {"tensorflow.keras.Optimizer": {"variables": "2.16"}}
"""Class → property → the first release in which it can no longer be called like the method that it once was.

Keras 2.15 returns a list that can be called, Keras 3 a plain one.
"""

BESIDE = {
    "device": "trainable_variables",
    "get_input_at": "keras",
    "get_output_at": "keras",
    "get_shape": "keras",
    "lr": "optimizers",
    "minimize": "optimizers",
    "output_shape": "layers",
    "read_value": "keras",
    "reset_states": "metrics",
    "variables": "optimizers",
}
"""Removed methods and arguments whose names are also used elsewhere → a word that a program that uses them has."""


def replacement(name: str) -> str | None:
    """New name of a renamed one, None where there is none."""
    found: str | None = _table()["renamed"].get(name)
    return found


def renamed_member(name: str) -> str | None:
    """The new name of one member of a removed module or class, None if none has one."""
    return next((new for old, new in _table()["renamed"].items() if old.startswith(f"{name}.")), None)


@lru_cache(maxsize=1)
def _telling() -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """Words, and pairs of words, that only removed names have."""
    table = _table()
    shared = frozenset(table["shared"])
    methods = {method for gone in table["methods"].values() for method, since in gone.items() if since}
    methods.update(UNLISTED["tensorflow.keras.Optimizer"])
    passed = {
        name for function, gone in table["parameters"].items() if function.startswith(_MODEL_METHODS) for name in gone
    }
    parts = [name.split(".") for name in (*table["names"], *table["raising"])]
    single = {word for word in (*(words[-1] for words in parts), *methods, *passed) if _is_distinctive(word)} - shared
    pairs = frozenset((words[-2], words[-1]) for words in parts if words[-1] not in single)
    return frozenset(single), pairs


_MODEL_METHODS = "tensorflow.keras.Model."


def _is_distinctive(word: str) -> bool:
    """Whether a name is unambiguous: `fit_generator` and `CuDNNLSTM` are, `app`, `flags` and `SGD` are not."""
    capitals = sum(letter.isupper() for letter in word)
    return word not in _COMMON and ("_" in word.strip("_") or (len(word) > 5 and capitals > 1))


_COMMON = frozenset({"global_step", "loss_scale", "vocab_size", "dimension_value", "state_updates", "is_numeric"})


def telling_words() -> frozenset[str]:
    """Identifiers that only removed names have."""
    return _telling()[0]


def telling_pairs() -> frozenset[tuple[str, str]]:
    """Pairs of module and name for removed names whose last part alone is ambiguous (`tensorflow`, `layers`)."""
    return _telling()[1]
