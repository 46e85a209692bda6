"""Causes, each on an otherwise healthy machine: the memory of a card."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.doctor.evidence import Card
from gpulint.linting.finding import Severity
from gpulint.probe.measures.cards import NOT_KNOWN, Row
from tests.doctor.situations import (
    CARDS,
    GIB,
    H100,
    ids,
    on,
    only,
)


def row(used: float, by_others: float) -> Row:
    others = NOT_KNOWN if by_others < 0 else int(by_others * GIB)
    return Row("0000:86:00.0", H100, 80 * GIB, int(used * GIB), 0, others, 0)


def test_others_hold_a_part() -> None:
    one = only(on(memory=(row(30, 29.5),)))
    assert one.id == "memory-held" and one.severity is Severity.WARNING and "29.5 of 80.0 GiB" in one.seen
    assert one.fix == "export TF_FORCE_GPU_ALLOW_GROWTH=true"


def test_others_hold_it_all() -> None:
    cards = (replace(CARDS[0], processes=(41, 42)), CARDS[1])
    one = only(on(memory=(row(79.5, 79),), cards=cards))
    assert one.severity is Severity.ERROR and one.fix == "ps -o pid,user,etime,args -p 41,42"


def test_processes_that_a_container_does_not_show() -> None:
    assert only(on(memory=(row(30, -1),))).id == "memory-held"


def test_what_the_driver_keeps_for_itself() -> None:
    assert ids(on(memory=(row(0.6, 0),))) == []


@pytest.mark.parametrize(
    "card", [replace(CARDS[0], exclusive=True, processes=(7,)), replace(CARDS[0], prohibited=True)]
)
def test_a_card_for_one_process(card: Card) -> None:
    one = only(on(cards=(card, CARDS[1])))
    assert one.id == "compute-mode" and one.fix == "sudo nvidia-smi -i 0 -c DEFAULT"
