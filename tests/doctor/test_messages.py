"""Facts read from TensorFlow's logs: recorded ones, and logs from public issues."""

from __future__ import annotations

from gpulint.doctor.messages import FoundCard, read
from tests.doctor.situations import log


def test_a_machine_without_a_driver() -> None:
    found = read(log("2.21-no-driver.log"))
    assert found.cuinit == "UNKNOWN ERROR (303)" and not found.found and not found.skipped
    assert set(found.not_loaded) == {"libcuda.so.1"}


def test_libraries_that_did_not_load() -> None:
    found = read(log("2.21-libraries.log"))
    assert found.skipped and found.found == (FoundCard("0000:86:00.0", "Stand-in card", (8, 0)),)
    assert found.not_loaded["libcusparse.so.12"] == (
        "libcusparse.so.12: cannot open shared object file: No such file or directory"
    )
    assert len(found.not_loaded) == 7


def test_a_library_that_another_one_needs() -> None:
    found = read(log("issue-dependency.log"))
    assert found.not_loaded == {
        "libcusolver.so.11": "libnvJitLink.so.12: cannot open shared object file: No such file or directory"
    }


def test_libraries_of_windows() -> None:
    found = read(log("issue-windows.log"))
    assert found.not_loaded["cublas64_10.dll"] == "cublas64_10.dll not found"
    assert found.found == (FoundCard("0000:01:00.0", "GeForce RTX 2060", (7, 5)),)


def test_refusals_of_the_driver() -> None:
    assert read(log("2.21-not-ready.log")).cuinit == "CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized"
    assert read(log("2.21-no-device.log")).cuinit == "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
    assert read(log("issue-docker.log")).cuinit == "UNKNOWN ERROR (-1)"


def test_versions_of_the_driver_that_differ() -> None:
    assert read(log("issue-versions.log")).versions == ("460.91.3", "470.57.2")


def test_cards_that_were_left_out() -> None:
    cores = read(log("2.21-few-cores.log"))
    assert [card.bus for card in cores.found] == ["0000:86:00.0", "0000:87:00.0"]
    assert len(cores.ignored) == 1 and "core count: 5" in cores.ignored[0]
    assert "minimum required Cuda capability is 3.5" in read(log("2.21-old-card.log")).ignored[0]


def test_versions_of_cudnn() -> None:
    assert read(log("issue-cudnn.log")).cudnn == ("9.1.0", "9.3.0")


def test_a_flag_that_is_not_known() -> None:
    assert read(log("2.21-xla-flag.log")).unknown_flag == ("TF_XLA_FLAGS", "--no_such_flag=1")
