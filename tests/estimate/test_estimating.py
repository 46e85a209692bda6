"""From a traced step to an estimate, on hand-built steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.estimate import answers, result
from gpulint.estimate.cards import by_numbers
from gpulint.estimate.estimating import estimated
from gpulint.estimate.graph import StepGraph, Tensor
from gpulint.estimate.memory.figures import MARGIN, figures, steady
from gpulint.estimate.memory.liveness import Order, Run, play
from gpulint.estimate.time.bounds import Steps, steps_of
from gpulint.estimate.tracing import Traced
from tests.estimate.made import Graph


@pytest.mark.parametrize(("times", "fits"), [(1.1, "yes"), (1.01, "unknown"), (0.99, "no")])
def test_near_the_limit_it_is_unknown_whether_the_step_fits(times: float, fits: str) -> None:
    graph = Graph()
    graph.argument(Tensor("float32", (64, 512, 512)))
    step = graph.step(batch=64)
    card = replace(by_numbers(["memory=1GiB"]), limit=int(times * play(step).peak))
    found = estimated(Traced(step, None), [card], ())
    assert found.cards[0].memory is not None
    assert found.cards[0].memory.fits == fits
    assert any(card.name in note for note in found.notes) == (fits == "unknown")


def test_between_the_least_peak_and_the_highest_the_allocator_decides() -> None:
    graph = Graph()
    graph.wasteful()
    step = graph.step(batch=64)
    run = play(step)
    assert run.asked < run.peak
    answers = []
    for limit in (run.asked - 1, run.asked, figures(step).steady.peak):
        card = replace(by_numbers(["memory=1GiB"]), limit=limit)
        memory = estimated(Traced(step, None), [card], ()).cards[0].memory
        assert memory is not None
        assert (memory.least_peak, memory.steady_peak) == (run.asked, figures(step).steady.peak)
        answers.append(memory.fits)
    assert answers == ["no", "unknown", "unknown"]


def test_a_step_without_a_batch_has_no_largest_one() -> None:
    graph = Graph()
    graph.argument(Tensor("float32", (512, 512)))
    found = estimated(Traced(graph.step(batch=None), None), [by_numbers(["memory=1GiB"])], ())
    assert found.cards[0].memory is not None
    assert (found.cards[0].memory.fits, found.cards[0].memory.largest_batch) == ("yes", None)
    assert any("takes no batch" in note for note in found.notes)


def test_operations_with_which_unknown_sizes_begin_are_named() -> None:
    graph = Graph()
    x = graph.argument(Tensor("float32", (64, 512)))
    taken = graph.add("Where", x, outputs=(Tensor("int64", (None, 1)),))
    graph.add("Neg", taken, outputs=(Tensor("int64", (None, 1)),))
    graph.operations[:] = [replace(one, filename="train.py", row=row) for row, one in enumerate(graph.operations)]
    found = estimated(Traced(graph.step(batch=64), None), [by_numbers(["memory=1GiB"])], ())
    assert "what these return: Where (train.py:1)" in " ".join(found.notes)


def test_an_operation_on_the_host_is_named_for_what_it_leaves_unknown_on_the_gpu() -> None:
    graph = Graph()
    x = graph.argument(Tensor("int64", (64, 1)))
    hits = graph.add("ComputeAccidentalHits", x, outputs=(Tensor("int32", (None,)),), device="CPU:0")
    cast = graph.add("Cast", hits, outputs=(Tensor("float32", (None,)),))
    graph.add("Neg", cast, outputs=(Tensor("float32", (None,)),))
    graph.operations[:] = [replace(one, filename="train.py", row=row) for row, one in enumerate(graph.operations)]
    found = estimated(Traced(graph.step(batch=64), None), [by_numbers(["memory=1GiB"])], ())
    assert "what these return: ComputeAccidentalHits (train.py:1)" in " ".join(found.notes)


def test_what_no_card_changes_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plays: list[int | None] = []
    works: list[int | None] = []

    def playing(step: StepGraph, order: Order) -> Run:
        plays.append(step.batch)
        return steady(step, order)

    def working(step: StepGraph) -> Steps:
        works.append(step.batch)
        return steps_of(step)

    monkeypatch.setattr(answers, "steady", playing)
    monkeypatch.setattr(result, "steps_of", working)
    steps = []
    for batch in (64, 128):
        graph = Graph()
        graph.argument(Tensor("float32", (batch, 512, 512)))
        steps.append(graph.step(batch=batch))
    card = by_numbers(["memory=1GiB"])
    found = estimated(Traced(steps[0], steps[1]), [card, card, card], (2, 4))
    assert all(one.memory is not None and one.memory.largest_batch for one in found.cards)
    assert works == [64, 128]
    assert sorted(one or 0 for one in plays if one != 64) == sorted({one or 0 for one in plays if one != 64})
    assert plays.count(64) == 1  # in 16 bits: the step itself was played for its figures


def test_of_a_step_that_is_unrolled_larger_batches_are_unknown() -> None:
    steps = []
    for batch in (4, 8):
        graph = Graph()
        x = graph.argument(Tensor("float32", (batch, 512, 512)))
        for _ in range(batch):
            graph.add("MatMul", x, outputs=(Tensor("float32", (512, 512)),), is_gradient=True)
        steps.append(graph.step(batch=batch))
    found = estimated(Traced(steps[0], steps[1]), [by_numbers(["memory=1GiB"])], (2,))
    memory = found.cards[0].memory
    assert memory is not None
    assert (memory.fits, memory.largest_batch) == ("yes", None)
    assert not any("half the batch" in one for one in memory.changes)
    assert not any("larger batch" in one for one in found.cards[0].remarks)
    assert any("in Python" in note for note in found.notes)


def test_of_an_unknown_peak_nothing_is_saved() -> None:
    for shape in ((64, 512, 512), None):
        graph = Graph()
        graph.argument(Tensor("float32", (64, 512, 512)))
        layers = [graph.add("Unique", outputs=(Tensor("float32", shape),), layer="layer")]
        for _ in range(8):
            layers.append(graph.add("Elu", layers[-1], outputs=(Tensor("float32", (64, 512, 512)),), layer="layer"))
        graph.add("Loss", *layers, layer="layer", is_gradient=True)
        memory = estimated(Traced(graph.step(batch=64), None), [by_numbers(["memory=9GiB"])], ()).cards[0].memory
        assert memory is not None
        assert (memory.steady_peak is None, memory.changes == ()) == (shape is None, shape is None)


def test_the_peak_has_a_margin_of_what_the_step_adds() -> None:
    graph = Graph()
    big = Tensor("float32", (1 << 20,))
    weight = graph.variable(big)
    graph.add("Neg", graph.add("ReadVariableOp", weight, outputs=(big,)), outputs=(big,))
    found, played = figures(graph.step()).steady, play(graph.step())
    assert found.peak == played.peak + found.margin
    assert found.margin == round(MARGIN * (4 << 20))
