"""Causes, each on an otherwise healthy machine: the devices that TensorFlow selected."""

from __future__ import annotations

from dataclasses import replace

from gpulint.doctor.causes import diagnose
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


def test_a_small_card_beside_a_large_one() -> None:
    one = only(on(messages=said("2.21-few-cores.log"), gpus=GPUS[:1]))
    assert one.id == "gpu-ignored" and one.severity is Severity.WARNING
    assert one.fix == "export TF_MIN_GPU_MULTIPROCESSOR_COUNT=5"


def test_a_card_of_an_old_capability() -> None:
    found = diagnose(on(messages=said("2.21-old-card.log"), gpus=GPUS[:1]))
    assert {one.id for one in found} == {"gpu-ignored", "capability-missing"}


def test_a_card_that_is_lost() -> None:
    one = only(on(gpus=GPUS[:1]))
    assert one.id == "gpu-unlisted" and "0000:87:00.0" in one.seen


def test_without_bus_ids_nothing_is_joined() -> None:
    assert ids(on(gpus=(replace(GPUS[0], bus=""),))) == []


def test_instances() -> None:
    cut = (replace(CARDS[0], mig=True, instances=("MIG-1", "MIG-2")),)
    one = only(on(cards=cut, memory=(), gpus=GPUS[:1]))
    assert one.id == "mig" and one.fix == "export CUDA_VISIBLE_DEVICES=MIG-1"


def test_a_card_that_is_to_be_cut_and_is_not() -> None:
    cut = (replace(CARDS[0], mig=True),)
    one = only(on(cards=cut, memory=(), messages=said("2.21-no-device.log"), **NO_GPUS))
    assert one.id == "mig-without-instance" and one.fix == "sudo nvidia-smi -i 0 -mig 0"


def test_what_nothing_explains() -> None:
    one = only(on(**NO_GPUS))
    assert one.id == "no-gpu-listed" and "VLOG" in one.fix
