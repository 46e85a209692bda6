"""What differs between the arguments of two traces."""

from __future__ import annotations

import weakref
from typing import Any

from gpulint.probe.agent.retraces import MODEL, OBJECT, SHAPE, _leaves, compared


class Net:
    """A model, as far as its variables tell."""

    @property
    def trainable_variables(self) -> list[float]:
        """Fails if it is read: an unbuilt model has none."""
        raise AttributeError


class Settings:
    """Any other object."""


class Reference:
    """TensorFlow's type of an argument that is no tensor."""

    def __init__(self, value: object) -> None:
        self._ref = weakref.ref(value)


def test_another_model_is_no_other_object() -> None:
    for cls, cause in ((Net, MODEL), (Settings, OBJECT)):
        first, second = cls(), cls()
        before, after = Reference(first), Reference(second)
        assert [*compared([{"x": before}], {"x": after})] == [(cause, "x", f"an object of {cls.__name__}")]


class Spec:
    """TensorFlow's type of a tensor."""

    def __init__(self, *shape: int) -> None:
        self.shape, self.dtype = shape, "float32"


class OfReplicas:
    """TensorFlow's type of a batch that is divided among replicas."""

    def __init__(self, *specs: Spec) -> None:
        self._value_specs = specs


def test_a_smaller_last_batch_of_replicas_is_another_shape() -> None:
    def leaves(*rows: int) -> dict[str, Any]:
        return dict(_leaves("batch", OfReplicas(*(Spec(number, 28) for number in rows)), 0))

    (before, after) = leaves(64, 64), leaves(64, 16)
    before["batch.values[0]"] = after["batch.values[0]"]
    assert [*compared([before], after)] == [(SHAPE, "batch.values[1]", "(64, 28) → (16, 28)")]
