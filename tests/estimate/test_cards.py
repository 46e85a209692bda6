"""The table of cards, and how users name them."""

from __future__ import annotations

import pytest

from gpulint.estimate import cards
from gpulint.estimate.cards import UnknownCard

MIB = 1 << 20


@pytest.mark.parametrize("name", cards.names())
def test_a_card_is_complete_and_plausible(name: str) -> None:
    card = cards.by_name(name)
    assert card.source.startswith("https://")
    assert 0.75 * card.memory < card.limit < card.memory
    assert card.float32 and card.half and card.bandwidth and card.link and card.host
    assert 1e12 < card.float32 <= card.half
    assert card.tf32 is None or card.float32 <= card.tf32 <= card.half
    assert 3e11 <= card.bandwidth <= 1e13
    assert card.host <= card.link < card.bandwidth


@pytest.mark.parametrize("name", [name for name in cards.names() if cards._table()[name].get("tensorflow")])
def test_the_rule_for_what_tensorflow_leaves_agrees_with_what_it_reports(name: str) -> None:
    row = cards._table()[name]
    major = int(row["capability"])
    reserved = {6: 500, 7: 1050, 8: 1536}.get(major, 1800)
    assert 0.97 <= cards.usable(row["memory"] * MIB, reserved) / MIB / row["tensorflow"] <= 1.03


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("t4", "T4"),
        ("Tesla T4", "T4"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB"),
        ("a100 80gb", "A100-80GB"),
        ("A100", "A100-40GB"),
        ("v100", "V100-16GB"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("rtx4090", "RTX 4090"),
        ("RTX-5090", "RTX 5090"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
    ],
)
def test_a_card_is_found_however_it_is_spelled(text: str, name: str) -> None:
    assert cards.by_name(text).name == name


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownCard, match=r"no GPU is called 'A1000'; did you mean .*A100-40GB"):
        cards.by_name("A1000")
    with pytest.raises(UnknownCard, match=r"known: T4, L4, .*\. Describe any other by"):
        cards.by_name("???")


def test_names_are_separated_by_commas_and_kept_once() -> None:
    assert [card.name for card in cards.cards("T4, L4,t4,")] == ["T4", "L4"]
    with pytest.raises(UnknownCard, match="name a GPU; known: T4, L4, "):
        cards.cards(" ,")


def test_a_card_can_be_given_by_numbers_beside_names() -> None:
    named, own = cards.cards("T4,memory=24GiB,tflops=80,bandwidth=1000")
    assert named.name == "T4"
    assert own.memory == 24 << 30
    assert own.limit == (24 << 30) - (1800 + 450) * MIB - int(0.01 * (24 << 30))
    assert (own.float32, own.bandwidth) == (80e12, 1000e9)
    assert own.half is None and own.matrix_rate("float16") == 80e12
    assert own.host is None and own.link is None


def test_a_small_card_loses_little() -> None:
    (card,) = cards.cards("memory=2GiB")
    assert card.limit == 2048 * MIB - int(20.48 * MIB) - (450 + 225) * MIB
    assert card.matrix_rate("float32") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memory=24", "'24' is not a size"),
        ("tflops=80", "needs its memory"),
        ("memory=24GiB,flops=80", "a GPU has no 'flops'; write memory=…, tflops=…"),
        ("memory=24GiB,tflops=fast", "tflops: 'fast' is not a number"),
        ("memory=24GiB,bandwidth=0", "bandwidth: 0 is not above zero"),
        ("memory=24GiB,bandwidth=nan", "bandwidth: nan is not above zero"),
        ("memory=24GiB,memory=2GiB", "memory is given twice"),
        ("", "name a GPU; known: T4"),
    ],
)
def test_bad_numbers_are_refused(text: str, message: str) -> None:
    with pytest.raises(UnknownCard, match=message):
        cards.cards(text)


def test_matrix_rates_follow_the_dtype() -> None:
    a100 = cards.by_name("A100-80GB")
    assert a100.matrix_rate("float32") == 156e12
    assert a100.matrix_rate("bfloat16") == 312e12
    assert a100.matrix_rate("float64") == 19.5e12
    v100 = cards.by_name("V100")
    assert v100.matrix_rate("float32") == 15.7e12
