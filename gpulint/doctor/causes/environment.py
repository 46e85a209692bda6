"""Environment variables that make TensorFlow fail, or keep it or Keras off the GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.doctor.diagnosis import Diagnosis, pip_install
from gpulint.doctor.evidence import Evidence, release_of
from gpulint.linting.finding import Severity

_ALLOCATORS = ("", "cuda_malloc", "cuda_malloc_async")
"""Values of TF_GPU_ALLOCATOR: strings in TensorFlow 2.21's library, beside "Invalid allocator type"."""


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    variable = evidence.machine.variable
    if flag := evidence.messages.unknown_flag:
        yield Diagnosis(
            "unknown-xla-flag",
            Severity.ERROR,
            f"{flag[0]} has a flag that this TensorFlow does not know: {flag[1]}",
            "TensorFlow aborts the process when it reads the variable",
            f"unset {flag[0]}",
        )
    allocator = variable("TF_GPU_ALLOCATOR") or ""
    if allocator not in _ALLOCATORS and evidence.gpu_expected:
        yield Diagnosis(
            "gpu-allocator",
            Severity.ERROR,
            f"TF_GPU_ALLOCATOR is {allocator}",
            "TensorFlow accepts only cuda_malloc_async, and raises when it creates its first GPU",
            "unset TF_GPU_ALLOCATOR",
        )
    backend = (variable("KERAS_BACKEND") or "tensorflow").lower()
    if backend != "tensorflow" and evidence.interpreter.package:
        yield Diagnosis(
            "keras-backend",
            Severity.WARNING,
            f"KERAS_BACKEND is {backend}",
            f"Keras 3 models run on {backend} and its GPUs, not on TensorFlow's",
            "export KERAS_BACKEND=tensorflow",
            tuple(f"{name}={value}" for name in ("JAX_PLATFORMS",) if (value := variable(name))),
        )
    legacy = (variable("TF_USE_LEGACY_KERAS") or "").lower() in ("1", "true")
    release = release_of(evidence.version)
    if legacy and release >= (2, 16) and not evidence.interpreter.installed("tf-keras"):
        yield Diagnosis(
            "legacy-keras",
            Severity.WARNING,
            f"TF_USE_LEGACY_KERAS is {variable('TF_USE_LEGACY_KERAS')}, and tf_keras is not installed",
            "tf.keras cannot be imported",
            pip_install(evidence, f"tf_keras~={release[0]}.{release[1]}.0"),
        )
    if (level := variable("TF_CPP_MIN_LOG_LEVEL") or "0") > "1" and evidence.gpu_expected and not evidence.gpus:
        yield Diagnosis(
            "log-level",
            Severity.INFO,
            f"TF_CPP_MIN_LOG_LEVEL is {level}",
            "it hides the warnings in which TensorFlow says why it does not use a GPU",
            "unset TF_CPP_MIN_LOG_LEVEL",
        )
