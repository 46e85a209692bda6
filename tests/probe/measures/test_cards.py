"""Cards as NVML reports them, with a fake NVML: no test needs a card."""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.measures.cards import NOT_KNOWN, Cards, Row, bus_id, on_bus

MIB = 1 << 20
OURS, CHILD, OTHER, HOST = 100, 101, 200, 4_000_000


class NVMLError(Exception):
    pass


@dataclass
class Process:
    pid: int
    usedGpuMemory: int | None


@dataclass
class Memory:
    total: int
    used: int


@dataclass
class Utilisation:
    gpu: int


@dataclass
class Pci:
    busId: str | bytes


@dataclass
class FakeCard:
    bus: str | bytes = "00000000:86:00.0"
    name: str | bytes = "NVIDIA H100 80GB HBM3"
    used: int = 3000 * MIB
    compute: list[Process] = field(default_factory=list)
    graphics: list[Process] = field(default_factory=list)
    utilisation: int = 40
    instances: dict[int, FakeCard] = field(default_factory=dict)
    fails: set[str] = field(default_factory=set)


class FakeNvml:
    """A fake pynvml. `fails` of a card names the functions that raise for it."""

    NVMLError = NVMLError

    def __init__(self, *cards: FakeCard) -> None:
        self.cards = list(cards)
        self.gone = False

    def _ask(self, function: str, card: FakeCard | None = None) -> None:
        if self.gone or (card is not None and function in card.fails):
            raise NVMLError(function)

    def nvmlDeviceGetCount(self) -> int:
        self._ask("Count")
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeCard:
        self._ask("Handle", self.cards[index])
        return self.cards[index]

    def nvmlDeviceGetPciInfo(self, card: FakeCard) -> Pci:
        self._ask("Pci", card)
        return Pci(card.bus)

    def nvmlDeviceGetName(self, card: FakeCard) -> str | bytes:
        self._ask("Name", card)
        return card.name

    def nvmlDeviceGetMemoryInfo(self, card: FakeCard) -> Memory:
        self._ask("Memory", card)
        return Memory(80_000 * MIB, card.used)

    def nvmlDeviceGetUtilizationRates(self, card: FakeCard) -> Utilisation:
        self._ask("Utilisation", card)
        return Utilisation(card.utilisation)

    def nvmlDeviceGetComputeRunningProcesses(self, card: FakeCard) -> list[Process]:
        self._ask("Compute", card)
        return card.compute

    def nvmlDeviceGetGraphicsRunningProcesses(self, card: FakeCard) -> list[Process]:
        self._ask("Graphics", card)
        return card.graphics

    def nvmlDeviceGetMigMode(self, card: FakeCard) -> list[int]:
        self._ask("Mig", card)
        return [1, 1] if card.instances else [0, 0]

    def nvmlDeviceGetMaxMigDeviceCount(self, card: FakeCard) -> int:
        self._ask("MaxMig", card)
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card: FakeCard, index: int) -> FakeCard:
        if index not in card.instances:
            raise NVMLError("not found")
        return card.instances[index]

    def nvmlShutdown(self) -> None:
        self._ask("Shutdown")


def cards_of(*cards: FakeCard) -> Cards:
    return Cards(FakeNvml(*cards), alive=lambda pid: pid in (OURS, CHILD, OTHER))


def only(card: FakeCard) -> Row:
    cards = cards_of(card)
    (row,) = cards.sample({OURS, CHILD})
    assert cards.lost == {}
    return row


class TestBus:
    @pytest.mark.parametrize(
        ("text", "bus"),
        [
            ("00000000:86:00.0", "0000:86:00.0"),
            ("0000:86:00.0", "0000:86:00.0"),
            ("00000001:AF:00.0", "0001:af:00.0"),
            ("86:00.0", "0000:86:00.0"),
            ("00010000:3B:00.0", "10000:3b:00.0"),
            ("<undefined>", "<undefined>"),
        ],
    )
    def test_as_tensorflow_prints_it(self, text: str, bus: str) -> None:
        assert bus_id(text) == bus
        assert bus_id(bus) == bus

    def test_instances_are_on_their_card(self) -> None:
        assert on_bus("0000:86:00.0", "0000:86:00.0") and on_bus("0000:86:00.0/3", "0000:86:00.0")
        assert not on_bus("0000:86:00.01", "0000:86:00.0")


class TestRows:
    def test_memory_is_attributed_to_processes(self) -> None:
        processes = [Process(OURS, 1000 * MIB), Process(CHILD, 200 * MIB), Process(OTHER, 700 * MIB)]
        row = only(FakeCard(compute=processes))
        assert row == Row("0000:86:00.0", "NVIDIA H100 80GB HBM3", 80_000 * MIB, 3000 * MIB, 1200 * MIB, 700 * MIB, 40)

    def test_old_bindings_give_bytes(self) -> None:
        row = only(FakeCard(bus=b"00000000:86:00.0", name=b"Tesla T4"))
        assert row[:2] == ("0000:86:00.0", "Tesla T4")

    def test_a_process_in_both_lists_counts_once(self) -> None:
        both = [Process(OURS, 1000 * MIB)]
        assert only(FakeCard(compute=both, graphics=both)).by_program == 1000 * MIB

    def test_one_list_may_not_know_what_the_other_does(self) -> None:
        row = only(FakeCard(compute=[Process(OURS, None)], graphics=[Process(OURS, 5 * MIB)]))
        assert row.by_program == 5 * MIB

    def test_windows_does_not_say_the_memory_of_processes(self) -> None:
        row = only(FakeCard(compute=[Process(OURS, None), Process(OTHER, 9 * MIB)]))
        assert (row.by_program, row.by_others) == (NOT_KNOWN, 9 * MIB)

    def test_numbers_of_the_host_seen_from_a_container(self) -> None:
        row = only(FakeCard(compute=[Process(HOST, 1000 * MIB)]))
        assert (row.by_program, row.by_others) == (NOT_KNOWN, NOT_KNOWN)

    def test_hidden_processes(self) -> None:
        row = only(FakeCard(used=3000 * MIB))
        assert (row.by_program, row.by_others) == (NOT_KNOWN, NOT_KNOWN)

    def test_a_card_at_rest(self) -> None:
        row = only(FakeCard(used=4 * MIB, utilisation=0))
        assert (row.by_program, row.by_others, row.utilisation) == (0, 0, 0)

    @pytest.mark.parametrize("function", ["Compute", "Graphics"])
    def test_no_list_of_processes(self, function: str) -> None:
        row = only(FakeCard(compute=[Process(OURS, 5)], fails={function}))
        assert (row.by_program, row.by_others) == (NOT_KNOWN, NOT_KNOWN)

    def test_no_utilisation(self) -> None:
        assert only(FakeCard(fails={"Utilisation"})).utilisation == NOT_KNOWN

    def test_instances_are_cards_of_their_own(self) -> None:
        small = FakeCard(name="NVIDIA A100 MIG 1g.5gb", compute=[Process(OURS, 7 * MIB)], fails={"Utilisation"})
        cut = FakeCard(instances={0: small, 2: FakeCard(name="NVIDIA A100 MIG 2g.10gb")}, fails={"Compute", "Memory"})
        cards = cards_of(cut, FakeCard(bus="00000000:AF:00.0"))
        rows = cards.sample({OURS})
        assert [row.bus for row in rows] == ["0000:86:00.0/0", "0000:86:00.0/2", "0000:af:00.0"]
        assert (rows[0].by_program, rows[0].utilisation) == (7 * MIB, NOT_KNOWN)
        assert cards.lost == {}

    def test_cards_that_know_nothing_of_instances(self) -> None:
        assert only(FakeCard(fails={"Mig"})).bus == "0000:86:00.0"


class TestFailures:
    @pytest.mark.parametrize("function", ["Handle", "Pci", "Name", "Memory"])
    def test_a_card_that_fails_is_left_out(self, function: str) -> None:
        cards = cards_of(FakeCard(fails={function}), FakeCard(bus="00000000:AF:00.0"))
        assert [row.bus for row in cards.sample({OURS})] == ["0000:af:00.0"]
        ((lost, reason),) = cards.lost.items()
        assert lost in ("0", "0000:86:00.0") and reason == f"NVMLError: {function}"

    def test_the_driver_goes_away(self) -> None:
        nvml = FakeNvml(FakeCard())
        cards = Cards(nvml)
        assert cards.sample(()) and not cards.lost
        nvml.gone = True
        assert cards.sample(()) == []
        assert cards.lost == {"": "NVMLError: Count"}
        cards.close()
        nvml.gone = False
        assert cards.sample(())

    def test_a_function_that_this_driver_does_not_have(self) -> None:
        class Old(FakeNvml):
            nvmlDeviceGetMigMode: Any = None
            nvmlDeviceGetGraphicsRunningProcesses: Any = None

        (row,) = Cards(Old(FakeCard())).sample(())
        assert row.by_program == NOT_KNOWN

    def test_processes_of_this_machine_are_seen(self) -> None:
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        nvml = FakeNvml(FakeCard(compute=[Process(os.getpid(), 5), Process(os.getppid(), 6)]))
        assert Cards(nvml).sample({os.getpid()})[0][4:6] == (5, 6)
        nvml.cards[0].compute.append(Process(ended.pid, 7))
        if os.name != "nt":
            assert Cards(nvml).sample({os.getpid()})[0][4:6] == (NOT_KNOWN, NOT_KNOWN)

    @given(st.sets(st.sampled_from(["Handle", "Pci", "Name", "Memory", "Mig", "MaxMig", "Utilisation", "Compute"])))
    def test_each_card_has_a_row_or_a_reason(self, fails: set[str]) -> None:
        processes = [Process(OURS, 5 * MIB)]
        whole = FakeCard(compute=processes, fails=fails)
        cut = FakeCard(
            "00000000:AF:00.0", compute=processes, fails=fails, instances={1: FakeCard(compute=processes, fails=fails)}
        )
        cards = cards_of(whole, cut)
        rows = cards.sample({OURS})
        buses = ["0000:86:00.0", "0000:af:00.0" if fails & {"Mig", "MaxMig"} else "0000:af:00.0/1"]
        if fails & {"Handle", "Pci"}:
            assert (rows, list(cards.lost)) == ([], ["0", "1"])
        elif fails & {"Name", "Memory"}:
            assert (rows, list(cards.lost)) == ([], buses)
        else:
            mine = NOT_KNOWN if "Compute" in fails else 5 * MIB
            utilisation = NOT_KNOWN if "Utilisation" in fails else 40
            told = [(row.bus, row.by_program, row.utilisation) for row in rows]
            assert told == [(bus, mine, utilisation) for bus in buses] and cards.lost == {}


HAS_DRIVER = ctypes.util.find_library("nvidia-ml") is not None


@pytest.mark.skipif(HAS_DRIVER or os.name == "nt", reason="there is a driver")
def test_no_driver_is_a_reason() -> None:
    assert Cards.open() == "NVMLError_LibraryNotFound: NVML Shared Library Not Found"


@pytest.mark.skipif(not HAS_DRIVER, reason="there is no driver")
def test_the_cards_of_this_machine_have_rows_or_reasons() -> None:
    cards = Cards.open()
    if isinstance(cards, str):
        assert cards == "the NVIDIA driver has no card" or cards.startswith("NVMLError")
    else:
        assert cards.sample({os.getpid()}) or cards.lost
        cards.close()


def test_a_driver_that_does_not_start_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml: Any = FakeNvml(FakeCard())
    nvml.gone = True
    nvml.nvmlInit = lambda: nvml._ask("Init")
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert Cards.open() == "NVMLError: Init"


def test_no_library_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert str(Cards.open()).startswith("ModuleNotFoundError")


def test_a_driver_without_cards_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml: Any = FakeNvml()
    nvml.nvmlInit = lambda: None
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert Cards.open() == "the NVIDIA driver has no card"
    nvml.cards.append(FakeCard())
    opened = Cards.open()
    assert isinstance(opened, Cards) and len(opened.sample(())) == 1
