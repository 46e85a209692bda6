"""The tables of removed names and of stateful operations, compared with the installed TensorFlow."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from gpulint.knowledge import removed
from gpulint.knowledge.names import package_of
from gpulint.knowledge.removed import method_since, parameters_since, since
from gpulint.knowledge.stateful import effect_of

pytestmark = pytest.mark.tensorflow


def value_of(name: str) -> Any:
    import tensorflow

    value: Any = tensorflow
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def installed() -> tuple[int, ...]:
    import tensorflow

    return tuple(int(part) for part in tensorflow.__version__.split(".")[:2])


def release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def exists(name: str) -> bool:
    try:
        value_of(name)
    except AttributeError:
        return False
    return True


def test_removed_names_do_not_exist() -> None:
    gone = [name for name, first in removed.names().items() if release(first) <= installed()]
    assert len(gone) > 700
    assert [name for name in gone if exists(name)] == []


def test_no_optimizer_takes_what_they_all_refuse() -> None:
    import tensorflow

    name, _, instead = removed.REFUSED_BY_OPTIMIZERS
    optimizers = tensorflow.keras.optimizers
    found = [getattr(optimizers, one) for one in ("Adagrad", "Adam", "AdamW", "Nadam", "RMSprop", "SGD")]
    for made in found:
        made(**{instead: 0.1})
        with pytest.raises(ValueError):
            made(**{name: 0.1})


def test_removed_methods_do_not_exist() -> None:
    classes = removed.methods()
    gone = [
        (cls, name)
        for cls in classes
        for name in classes[cls]
        if (first := method_since(cls, name)) and release(first) <= installed()
    ]
    assert len(gone) > 150
    assert [(cls, name) for cls, name in gone if exists(cls) and hasattr(value_of(cls), name)] == []


def test_what_only_tensorflow_has_of_keras() -> None:
    if installed() < (2, 21):
        pytest.skip("the table is that of the newest release")
    import keras

    def has(name: str) -> bool:
        value: Any = keras
        for part in name.split(".")[2:]:
            value = getattr(value, part, None)
        return value is not None

    assert len(removed.only_tf()) > 100
    assert [name for name in removed.only_tf() if has(name) or not exists(name)] == []


@pytest.mark.parametrize(
    "name",
    ["tensorflow.function", "tensorflow.keras.Model", "tensorflow.config.experimental.set_memory_growth"],
)
def test_a_name_that_is_there_is_not_in_the_table(name: str) -> None:
    assert exists(name)
    assert since(name) is None


STATEFUL = {
    "tensorflow.random.normal": ((2,),),
    "tensorflow.random.uniform": ((2,),),
    "tensorflow.random.shuffle": ([1.0, 2.0],),
    "tensorflow.image.random_flip_left_right": ([[[1.0]]],),
    "tensorflow.nn.dropout": ([1.0], 0.5),
    "tensorflow.debugging.check_numerics": ([1.0], "message"),
    "tensorflow.timestamp": (),
}

STATELESS = {
    "tensorflow.image.flip_left_right": ([[[1.0]]],),
    "tensorflow.random.stateless_uniform": ((2,), (1, 2)),
    "tensorflow.io.read_file": ("name",),
    "tensorflow.strings.lower": ("A",),
    "tensorflow.ensure_shape": ([1.0], (1,)),
}


def stateful_operations(name: str, arguments: tuple[Any, ...]) -> list[str]:
    import tensorflow as tf

    graph = tf.function(lambda: value_of(name)(*arguments)).get_concrete_function().graph
    return [
        op.type for op in graph.get_operations() if op.op_def.is_stateful and op.type not in ("Assert", "Placeholder")
    ]


@pytest.mark.parametrize("name", STATEFUL)
def test_an_operation_in_the_table_is_stateful_in_the_graph(name: str) -> None:
    assert effect_of(name) is not None
    assert stateful_operations(name, STATEFUL[name])


@pytest.mark.parametrize("name", STATELESS)
def test_an_operation_that_is_not_in_the_table_is_not(name: str) -> None:
    assert effect_of(name) is None
    assert stateful_operations(name, STATELESS[name]) == []


def test_names_of_the_modules_that_keras_is_made_of_are_their_own() -> None:
    assert all(since(name, package_of("keras.backend")) is not None for name in removed.only_tf())
    assert all(since(name, package_of("keras.src.backend")) is None for name in removed.only_tf())


def refuses(function: Any, name: str) -> bool:
    """Whether a function or class takes no argument of that name: Python says so, or Keras for its own **kwargs."""
    taken = inspect.signature(function).parameters.values()
    if not any(one.kind is one.VAR_KEYWORD for one in taken):
        return all(one.name != name for one in taken)
    needed = [one.name for one in taken if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    with pytest.raises((TypeError, ValueError, AttributeError)):
        function(**dict.fromkeys(needed, 1), **{name: 1})
    return True


def test_removed_arguments_are_refused() -> None:
    gone = [
        (function, name)
        for function in removed.functions()
        for name, first in parameters_since(function).items()
        if release(first) <= installed() and exists(function)
    ]
    assert len(gone) > 500
    assert [(function, name) for function, name in gone if not refuses(value_of(function), name)] == []
