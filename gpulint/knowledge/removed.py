"""Public names that a TensorFlow release no longer has, generated from the wheels (`scripts/removed_api.py`)."""

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
    """Name → the first release without it. A module that is gone stands for all that was in it."""
    found: dict[str, str] = _table()["names"]
    return found


def methods() -> dict[str, dict[str, str]]:
    """Class → method → the first release without it ("": the class still has it, though its base has not)."""
    found: dict[str, dict[str, str]] = _table()["methods"]
    return found


def since(name: str, package: str = "tensorflow") -> str | None:
    """The first release without a name, None where the newest has it (or no release ever had).

    `package` is the one that it was had from: `keras` has some names that `tf.keras` has not and lacks others, and
    `tf_keras` and the copy in `tensorflow.python` have all. What Keras's own modules have is not known.
    """
    if is_of_keras_2(package) or (package == "keras" and name in _table()["standalone"]):
        return None
    if package == "keras" and name in only_tf():
        return _WITH_KERAS_3
    return names().get(name)


@lru_cache(maxsize=1)
def only_tf() -> frozenset[str]:
    """Names that `tf.keras` has and the package `keras` has not, since it is Keras 3."""
    return frozenset(_table()["only_tf"])


_WITH_KERAS_3 = "2.16"
"""The first release of TensorFlow that goes with Keras 3."""


def raises_since(name: str, package: str = "tensorflow") -> str | None:
    """The first release in which calling a name that is still there does nothing but raise."""
    found: str | None = _table()["raising"].get(name) if package not in _OF_KERAS_2 else None
    return found


_OF_KERAS_2 = ("tf_keras", PRIVATE)


def is_of_keras_2(package: str) -> bool:
    """Whether what a package has is as it was in Keras 2, or not known: Keras's own modules are not the public ones."""
    return package in (*_OF_KERAS_2, SOURCE)


def is_importable(name: str) -> bool:
    """Whether `import` still finds a module that is no attribute of `tensorflow` any more."""
    return name in _table()["importable"]


@lru_cache(maxsize=4096)
def method_since(library: str, method: str) -> str | None:
    """The first release in which a class has no such method any more, its own or inherited."""
    cls: str | None = library
    while cls is not None:
        gone: str | None = methods().get(cls, {}).get(method)
        if gone is not None:
            return gone or None
        cls = _table()["bases"].get(cls)
    return None


def functions() -> Iterator[str]:
    """Functions, classes and methods that do not take some parameters any more."""
    return iter(_table()["parameters"])


@cache
def parameters_since(function: str) -> Mapping[str, str]:
    """Parameter → the first release in which a function or method does not take it any more."""
    return {name: since for name, since in _table()["parameters"].get(function, {}).items() if since}


@lru_cache(maxsize=1)
def passed_to() -> dict[str, frozenset[str]]:
    """Last part of the name of a function, class or method of a model → parameters that it does not take any more, but
    for those that are everywhere."""
    found: dict[str, set[str]] = {}
    for name, function in (*((one, one) for one in functions()), *aliases().items()):
        owner, _, last = name.rpartition(".")
        if name.startswith(_MODEL_METHODS) or not owner.rpartition(".")[2][:1].isupper():
            found.setdefault(last, set()).update(parameters_since(function).keys() - _EVERYWHERE)
    return {name: frozenset(gone) for name, gone in found.items() if gone}


_EVERYWHERE = frozenset({"batch_size", "input_shape", "name", "trainable", "weights"})
"""Parameters that so much else takes that they are no reason to look at a program."""


REFUSED_BY_OPTIMIZERS = ("lr", "2.16", "learning_rate")
"""An argument that every Keras optimizer took among others, the first release in which they raise for it, and what to
write instead."""

PROPERTIES = {"tensorflow.keras.Optimizer": {"variables": "2.16"}}
"""Class → property of it → the first release in which what it gives cannot be called any more, as a method's name can
(Keras 2.15 gives a list that can be, Keras 3 a plain one)."""

BESIDE = {"lr": "optimizers", "minimize": "optimizers", "reset_states": "metrics", "variables": "optimizers"}
"""Removed methods and arguments whose names other things have, too → the module that goes with these."""


def replacement(name: str) -> str | None:
    """What a name is called now, where it was renamed."""
    found: str | None = _table()["renamed"].get(name)
    return found


@lru_cache(maxsize=1)
def _telling() -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """(words that only what is gone has; pairs of words that only what is gone has)."""
    table = _table()
    shared = frozenset(table["shared"])
    methods = {method for gone in table["methods"].values() for method, since in gone.items() if since}
    passed = {
        name for function, gone in table["parameters"].items() if function.startswith(_MODEL_METHODS) for name in gone
    }
    parts = [name.split(".") for name in (*table["names"], *table["raising"])]
    single = {word for word in (*(words[-1] for words in parts), *methods, *passed) if _is_distinctive(word)} - shared
    pairs = frozenset((words[-2], words[-1]) for words in parts if words[-1] not in single)
    return frozenset(single), pairs


_MODEL_METHODS = "tensorflow.keras.Model."


def _is_distinctive(word: str) -> bool:
    """Whether a name says by itself what it is: `fit_generator` and `CuDNNLSTM` do, `app`, `flags` and `SGD` do not."""
    capitals = sum(letter.isupper() for letter in word)
    return word not in _COMMON and ("_" in word.strip("_") or (len(word) > 5 and capitals > 1))


_COMMON = frozenset({"global_step", "loss_scale", "vocab_size", "dimension_value", "state_updates", "is_numeric"})


def telling_words() -> frozenset[str]:
    """Identifiers that nothing but a removed name has."""
    return _telling()[0]


def telling_pairs() -> frozenset[tuple[str, str]]:
    """Module and name of removed names of which the name alone could be something else (`tensorflow`, `layers`)."""
    return _telling()[1]
