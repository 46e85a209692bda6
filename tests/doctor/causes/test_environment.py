"""Causes, each on an otherwise healthy machine: environment variables."""

from __future__ import annotations

from gpulint.doctor.evidence import Distribution
from tests.doctor.situations import (
    INTERPRETER,
    NO_GPUS,
    SITE,
    ids,
    on,
    only,
)


def test_an_allocator_that_does_not_exist() -> None:
    assert only(on(environment={"TF_GPU_ALLOCATOR": "bfc"})).id == "gpu-allocator"
    assert ids(on(environment={"TF_GPU_ALLOCATOR": "cuda_malloc_async"})) == []


def test_keras_on_another_backend() -> None:
    one = only(on(environment={"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}))
    assert one.id == "keras-backend" and one.evidence == ("JAX_PLATFORMS=cpu",)


def test_legacy_keras_without_its_package() -> None:
    one = only(on(environment={"TF_USE_LEGACY_KERAS": "1"}))
    assert one.id == "legacy-keras" and one.fix == "/venv/bin/python -m pip install 'tf_keras~=2.21.0'"
    with_it = (*INTERPRETER.distributions, Distribution("tf-keras", "2.21.0", SITE))
    assert ids(on(environment={"TF_USE_LEGACY_KERAS": "1"}, interpreter={"distributions": with_it})) == []


def test_a_log_level_that_hides_the_reason() -> None:
    found = ids(on(environment={"TF_CPP_MIN_LOG_LEVEL": "3"}, **NO_GPUS))
    assert found == ["no-gpu-listed", "log-level"]
    assert ids(on(environment={"TF_CPP_MIN_LOG_LEVEL": "3"})) == []
