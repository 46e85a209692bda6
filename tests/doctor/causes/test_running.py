"""Causes, each on an otherwise healthy machine: running an operation on a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.doctor.causes import diagnose
from tests.doctor.situations import (
    ANSWERED,
    GPUS,
    log,
    on,
    only,
)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("InternalError: CUDA_ERROR_OUT_OF_MEMORY: out of memory", "memory"),
        ("InternalError: 'cuLaunchKernel' failed with 'CUDA_ERROR_INVALID_HANDLE'", "kernels"),
        ("FailedPreconditionError: DNN library initialization failed.", "cuDNN"),
        ("UnimplementedError: DNN library is not found.", "cuDNN"),
        ("InternalError: Blas xGEMM launch failed", "cuBLAS"),
        ("InternalError: CUDA_ERROR_DEVICES_UNAVAILABLE", "another process"),
        ("InternalError: something else", "does not work"),
    ],
)
def test_the_first_operation_fails(error: str, words: str) -> None:
    asked = replace(ANSWERED, ended="failed", step="convolution on /device:GPU:0", error=error)
    one = only(on(asked_tensorflow=asked))
    assert one.id == "gpu-fails" and error in one.seen and words in one.why


def test_the_devices_cannot_be_made() -> None:
    text = log("2.21-new-card.log")
    asked = replace(ANSWERED, ended="failed", step="create", error=text.strip().splitlines()[-1], log=text)
    one = only(on(asked_tensorflow=asked))
    assert one.id == "gpu-fails" and "runtime library" in one.why and "and-cuda" in one.fix


@pytest.mark.parametrize(("capability", "words"), [((9, 0), "hangs"), ((12, 0), "compiles")])
def test_the_first_operation_does_not_come_back(capability: tuple[int, int], words: str) -> None:
    asked = replace(ANSWERED, ended="timeout", step="matrix product on /device:GPU:0", seconds=60.0)
    gpus = tuple(replace(one, capability=capability) for one in GPUS)
    found = {one.id: one for one in diagnose(on(asked_tensorflow=asked, gpus=gpus, cuda_driver="12.8"))}
    assert words in found["gpu-hangs"].why
