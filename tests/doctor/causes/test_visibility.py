"""Causes, each on an otherwise healthy machine: which cards the program may see."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.linting.finding import Severity
from tests.doctor.situations import (
    CARDS,
    GPUS,
    NO_GPUS,
    ids,
    on,
    only,
    said,
)


@pytest.mark.parametrize("value", ["", "-1", "-1,0", "2", "nonsense", "GPU-cccc"])
def test_every_gpu_is_hidden(value: str) -> None:
    one = only(on(environment={"CUDA_VISIBLE_DEVICES": value}, messages=said("2.21-no-device.log"), **NO_GPUS))
    assert one.id == "gpus-hidden" and one.severity is Severity.ERROR
    assert one.fix == "unset CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize("value", ["0", "1,0", "GPU-aaaa", "GPU-bb,GPU-aa", "0,1,-1"])
def test_gpus_that_exist(value: str) -> None:
    assert ids(on(environment={"CUDA_VISIBLE_DEVICES": value})) == []


@pytest.mark.parametrize("value", ["0,2,1", "0,-1,1"])
def test_devices_listed_after_one_that_does_not_exist_are_hidden(value: str) -> None:
    one = only(on(environment={"CUDA_VISIBLE_DEVICES": value}, gpus=GPUS[:1]))
    assert one.id == "gpus-hidden" and one.severity is Severity.WARNING


def test_a_card_named_twice() -> None:
    one = only(on(environment={"CUDA_VISIBLE_DEVICES": "0,0"}, **NO_GPUS))
    assert one.severity is Severity.ERROR and "twice" in one.why


def test_an_instance() -> None:
    cards = (replace(CARDS[0], mig=True, instances=("MIG-1234-5678",)),)
    environment = {"CUDA_VISIBLE_DEVICES": "MIG-1234-5678"}
    assert ids(on(environment=environment, cards=cards, memory=(), gpus=GPUS[:1])) == []


def test_numbers_that_are_not_those_of_nvidia_smi() -> None:
    one = only(on(gpus=(replace(GPUS[0], bus="0000:87:00.0"), replace(GPUS[1], bus="0000:86:00.0"))))
    assert one.id == "device-order" and one.seen == "GPU:0 is card 1 of nvidia-smi, GPU:1 is card 0 of nvidia-smi"
    assert one.fix == "export CUDA_DEVICE_ORDER=PCI_BUS_ID"
