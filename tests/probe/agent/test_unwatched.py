"""Keras on another backend than TensorFlow, by Keras's public `config.backend()`."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.unwatched import Unwatched
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.evidence import BACKEND
from gpulint.probe.checks.needs import lost_for


def told(keras: object) -> list[tuple[str, str]]:
    lost: list[tuple[str, str]] = []

    def fault(where: str, error: BaseException) -> None:
        raise error

    Unwatched(Places(), Hooks(), fault, lambda *pair: lost.append(pair)).keras_imported(keras)  # type: ignore[arg-type]
    return lost


@pytest.mark.parametrize("backend", ["torch", "jax", "numpy"])
def test_another_backend_is_named_and_no_verdict_is_given_without_it(backend: str) -> None:
    lost = told(SimpleNamespace(config=SimpleNamespace(backend=lambda: backend)))
    assert lost == [(BACKEND, f"Keras computes with {backend}; only TensorFlow is watched")]
    assert backend in lost_for("gpu-idle", Capture(lost=lost))


def test_tensorflow_and_keras_2_are_watched() -> None:
    assert not told(SimpleNamespace(config=SimpleNamespace(backend=lambda: "tensorflow")))
    assert not told(SimpleNamespace(backend=SimpleNamespace(backend=lambda: "tensorflow")))
