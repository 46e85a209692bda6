"""What differs between the arguments of two traces."""

from __future__ import annotations

import weakref

from gpulint.probe.agent.retraces import MODEL, OBJECT, compared


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
