"""Causes, each on an otherwise healthy machine: the compute capability of a card."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity
from tests.doctor.situations import (
    CARDS,
    GPUS,
    NO_HARDWARE,
    ids,
    on,
    only,
    said,
)


def with_cards(capability: tuple[int, int], **changes: object) -> Evidence:
    return on(
        gpus=tuple(replace(one, capability=capability) for one in GPUS),
        cards=tuple(replace(one, capability=capability) for one in CARDS),
        **changes,
    )


@pytest.mark.parametrize("capability", [(6, 0), (6, 1), (7, 5), (8, 6), (8, 9), (9, 0)])
def test_kernels_for_the_same_major_version(capability: tuple[int, int]) -> None:
    assert ids(with_cards(capability)) == []


def test_kernels_that_the_driver_must_compile() -> None:
    one = only(with_cards((12, 0), cuda_driver="12.8"))
    assert one.id == "capability-compiled" and one.severity is Severity.WARNING and "12.0" in one.seen


def test_a_driver_of_the_same_minor_version_compiles_them() -> None:
    assert only(with_cards((12, 0), cuda_driver="12.5")).id == "capability-compiled"


def test_a_driver_that_cannot_read_them() -> None:
    one = only(with_cards((12, 0), cuda_driver="12.4"))
    assert one.id == "capability-driver" and one.severity is Severity.ERROR


@pytest.mark.parametrize("capability", [(5, 2), (3, 7)])
def test_a_card_that_is_too_old(capability: tuple[int, int]) -> None:
    one = only(with_cards(capability))
    assert one.id == "capability-missing" and one.severity is Severity.ERROR
    assert f"compute_{capability[0]}{capability[1]}" in one.fix


def test_cards_that_tensorflow_alone_has_seen() -> None:
    found = ids(on(NO_HARDWARE, messages=said("2.21-new-card.log")))
    assert "capability-compiled" in found
