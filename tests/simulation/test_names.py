"""Device names are converted to those of the runtime and back."""

from __future__ import annotations

import pytest

from gpulint.probe.agent.simulation.names import Names

HEAD = "/job:localhost/replica:0/task:0"


def names(cpus: int = 1, gpus: int = 2) -> Names:
    made = Names()
    made.set(cpus, gpus)
    made.head = HEAD
    return made


@pytest.mark.parametrize(
    ("asked", "device"),
    [
        ("/gpu:1", "/device:CPU:2"),
        ("gpu:1", "/device:CPU:2"),
        ("GPU:1", "/device:CPU:2"),
        ("/device:GPU:1", "/device:CPU:2"),
        (f"{HEAD}/device:GPU:1", f"{HEAD}/device:CPU:2"),
        ("/GPU:*", "/device:CPU:1"),
        ("/device:GPU", "/device:CPU:1"),
        ("/cpu:0", "/cpu:0"),
        ("/device:TPU:0", "/device:TPU:0"),
        ("", f"{HEAD}/device:CPU:1"),
        ("/job:worker/task:1", "/job:worker/task:1/device:CPU:1"),
    ],
)
def test_every_spelling_of_a_device_is_understood(asked: str, device: str) -> None:
    assert names().real(asked, has_kernel=True, soft=True) == device


@pytest.mark.parametrize(
    ("asked", "has_kernel", "soft", "device"),
    [
        ("/gpu:9", True, True, "/device:CPU:1"),  # GPU:0 comes before the CPUs
        ("/gpu:9", False, True, "/device:CPU:0"),
        ("/gpu:9", True, False, "/gpu:9"),
        ("/gpu:1", False, True, "/device:CPU:0"),
        ("/gpu:1", False, False, "/gpu:1"),
        ("", False, True, ""),
        ("/cpu:1", True, True, "/device:CPU:1"),  # the program has one CPU
        ("/cpu:1", True, False, "/device:CPU:4"),  # and this is none of the runtime's
    ],
)
def test_a_device_that_cannot_be_had_is_replaced_or_left_to_tensorflow_to_refuse(
    asked: str, has_kernel: bool, soft: bool, device: str
) -> None:
    assert names().real(asked, has_kernel, soft) == device


def test_logical_cpus_of_the_program_come_before_those_that_stand_for_gpus() -> None:
    split = names(cpus=3, gpus=2)
    assert split.real("/gpu:0", True, True) == "/device:CPU:3"
    assert split.real("/cpu:2", True, True) == "/cpu:2"
    assert split.seen(f"{HEAD}/device:CPU:4") == f"{HEAD}/device:GPU:1"
    assert split.seen(f"{HEAD}/device:CPU:2") == f"{HEAD}/device:CPU:2"


def test_names_are_the_same_after_going_there_and_back() -> None:
    for index in range(8):
        device = f"{HEAD}/device:GPU:{index}"
        assert names(gpus=8).seen(names(gpus=8).real(device, True, True)) == device


def test_a_message_of_the_runtime_names_the_devices_of_the_program() -> None:
    assert names().text("OOM on /device:CPU:2, not /device:CPU:0 or /device:CPU:7") == (
        "OOM on /device:GPU:1, not /device:CPU:0 or /device:CPU:7"
    )


def test_without_gpus_nothing_is_turned() -> None:
    hidden = names(gpus=0)
    assert hidden.real("/gpu:0", True, True) == "/gpu:0"
    assert hidden.real("", True, True) == ""
    assert hidden.gpu("/gpu:0") is None


def test_what_was_seen_is_forgotten_when_the_devices_change() -> None:
    changing = names(cpus=1, gpus=1)
    assert changing.seen("/device:CPU:2") == "/device:CPU:2"
    changing.set(1, 2)
    assert changing.seen("/device:CPU:2") == "/device:GPU:1"


MISSING = (
    f"{{{{node turned}}}} was explicitly assigned to %s but available devices are [ {HEAD}/device:CPU:0, "
    f"{HEAD}/device:CPU:1 ]. Make sure the device specification refers to a valid device."
    " The requested device appears to be a GPU, but CUDA is not enabled.\n\t [[turned]]"
)


def test_a_gpu_that_is_not_there_is_said_to_be_missing_among_the_simulated_ones() -> None:
    told = names(gpus=1).message(MISSING % "/device:GPU:3")
    assert f"GPU:3 but available devices are [ {HEAD}/device:CPU:0, {HEAD}/device:GPU:0 ]." in told
    assert told.endswith("refers to a valid device.\n\t [[turned]]")


def test_a_gpu_that_is_there_has_no_kernel_and_one_of_another_host_is_missing() -> None:
    has_none = "Could not satisfy explicit device specification '/device:GPU:0' because no supported kernel for GPU"
    assert names(gpus=1).message(MISSING % "/device:GPU:0").startswith(has_none)
    assert "was explicitly assigned to /job:w/" in names(gpus=1).message(MISSING % "/job:w/task:1/device:GPU:0")
