"""The memory estimate counts live objects."""

from __future__ import annotations

from gpulint.probe.agent.simulation.ledger import Ledger


class Tensor:
    """Any object with weak references."""


def test_a_tensor_counts_as_long_as_it_lives() -> None:
    ledger, first, second = Ledger(), Tensor(), Tensor()
    ledger.add(first, 0, 100)
    ledger.add(second, 1, 7)
    assert ledger.usage(0) == {"current": 100, "peak": 100}
    assert ledger.usage(1) == {"current": 7, "peak": 7}
    del first
    assert ledger.usage(0) == {"current": 0, "peak": 100}
    ledger.reset_peak(0)
    assert ledger.usage(0) == {"current": 0, "peak": 0}


def test_a_tensor_counts_once() -> None:
    ledger, tensor = Ledger(), Tensor()
    ledger.add(tensor, 0, 5)
    ledger.add(tensor, 0, 5)
    assert ledger.usage(0)["current"] == 5


def test_what_stays_with_the_host_takes_nothing_of_the_gpu() -> None:
    ledger, kept, other = Ledger(), Tensor(), Tensor()
    ledger.add(kept, 0, 5, on_host=True)
    ledger.add(other, 0, 6)
    assert ledger.usage(0)["current"] == 6
    assert ledger.is_on_host(kept)
    assert not ledger.is_on_host(other)


def test_the_place_of_a_dead_tensor_tells_nothing_of_a_new_one() -> None:
    ledger = Ledger()
    for _ in range(50):
        ledger.add(Tensor(), 0, 5, on_host=True)
        assert not ledger.is_on_host(Tensor())
    assert ledger.usage(0)["current"] == 0


def test_what_shares_its_memory_is_counted_with_the_other() -> None:
    ledger, value, variable = Ledger(), Tensor(), Tensor()
    ledger.add(value, 0, 5)
    ledger.shares(value)
    ledger.add(variable, 0, 5)
    assert ledger.usage(0) == {"current": 5, "peak": 5}
    del value
    assert ledger.usage(0)["current"] == 5


def test_only_what_is_sure_to_be_in_the_memory_of_a_gpu_is_named() -> None:
    ledger, sure, hosted, unsure, elsewhere = Ledger(), Tensor(), Tensor(), Tensor(), Tensor()
    ledger.add(sure, 0, 5)
    ledger.add(hosted, 0, 5, on_host=True)
    ledger.add(unsure, 0, 5, is_sure=False)
    ledger.add(elsewhere, 1, 5)
    assert ledger.living(0) == [sure]
    assert ledger.usage(0)["current"] == 10
