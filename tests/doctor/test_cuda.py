"""Requirements of CUDA's releases."""

from __future__ import annotations

import pytest

from gpulint.doctor.cuda import compiles_for, cudnn_version, libraries, minimum_driver, runs_natively, wheel

BUILT = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")


@pytest.mark.parametrize(
    ("cuda", "windows", "driver"),
    [
        ("12.5.1", False, "525.60.13"),
        ("12.2", True, "528.33"),
        ("11.2", False, "450.80.02"),
        ("13.0", False, "580"),
        ("10.1", False, "418.39"),
        ("14.0", False, ""),
        ("", False, ""),
    ],
)
def test_the_oldest_driver_of_a_major_version(cuda: str, windows: bool, driver: str) -> None:
    assert minimum_driver(cuda, windows) == driver


def test_libraries_have_the_numbers_of_their_own_interfaces() -> None:
    assert libraries("12.5.1", "9") == (
        "libcudart.so.12",
        "libcublas.so.12",
        "libcublasLt.so.12",
        "libcufft.so.11",
        "libcusolver.so.11",
        "libcusparse.so.12",
        "libcudnn.so.9",
    )
    assert "libcufft.so.10" in libraries("11.2", "8") and "libcudnn.so.8" in libraries("11.2", "8")
    assert libraries("", "") == libraries("9.0", "7") == ()


def test_the_wheel_of_a_library() -> None:
    assert wheel("libcudnn.so.9", "12.5.1") == "nvidia-cudnn-cu12"
    assert wheel("libcudart.so.11.0", "11.8") == "nvidia-cuda-runtime-cu11"
    assert wheel("libcuda.so.1", "12.5.1") == ""


@pytest.mark.parametrize(
    ("capability", "native", "compiled"),
    [((6, 1), True, False), ((7, 5), True, False), ((8, 6), True, False), ((9, 0), True, True), ((12, 0), False, True)],
)
def test_kernels_run_on_their_major_version_and_ptx_on_all_newer(
    capability: tuple[int, int], native: bool, compiled: bool
) -> None:
    assert (runs_natively(capability, BUILT), compiles_for(capability, BUILT)) == (native, compiled)


def test_neither_for_older_cards() -> None:
    assert not runs_natively((5, 2), BUILT) and not compiles_for((5, 2), BUILT)


@pytest.mark.parametrize(("number", "version"), [(90300, (9, 3, 0)), (91002, (9, 10, 2)), (8907, (8, 9, 7))])
def test_how_cudnn_writes_its_version(number: int, version: tuple[int, int, int]) -> None:
    assert cudnn_version(number) == version
