"""Which cards CUDA shows to a process, and in which order: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.

CUDA reads the list up to the first invalid entry and hides everything after it (CUDA C++ Programming Guide, environment
variables). Its order is fastest first unless CUDA_DEVICE_ORDER is PCI_BUS_ID; NVML and nvidia-smi always use bus order
(tensorflow#152).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    if not evidence.gpu_expected:
        return
    yield from _hidden(evidence)
    yield from _order(evidence)


def _hidden(evidence: Evidence) -> Iterator[Diagnosis]:
    value = evidence.machine.variable("CUDA_VISIBLE_DEVICES")
    if value is None:
        return
    entries = [entry.strip() for entry in value.split(",")]
    shown = 0
    while shown < len(entries) and _is_card(evidence, entries, shown):
        shown += 1
    if shown == len(entries):
        return
    entry = entries[shown]
    if shown and entry.startswith("-") and shown == len(entries) - 1:
        return  # ends the list deliberately, as the last entry
    reason = "is empty" if not value.strip() else f'is "{value}"'
    cards = evidence.cards or evidence.machine.bus_cards
    if not value.strip() or entry.startswith("-"):
        why = "it hides all cards from this process" if not shown else f"everything after {entry} is hidden"
    elif entry in entries[:shown]:
        why = f"{entry} is listed twice, and CUDA then hides all cards"
    else:
        why = f"there is no card {entry} among {len(cards)}, and CUDA stops there: it and all after it are hidden"
    whole = not shown or entry in entries[:shown]
    yield Diagnosis(
        "gpus-hidden",
        Severity.ERROR if whole else Severity.WARNING,
        f"CUDA_VISIBLE_DEVICES {reason}",
        why,
        "unset CUDA_VISIBLE_DEVICES",
        tuple(f"card {one.index}: {one.name} {one.uuid}" for one in evidence.cards),
    )


def _is_card(evidence: Evidence, entries: list[str], place: int) -> bool:
    """Whether CUDA has the card of an entry; unknown counts as yes."""
    entry = entries[place]
    if not entry or entry.startswith("-") or entry in entries[:place]:
        return False
    if entry.isdigit():
        number = len(evidence.cards) or len(evidence.machine.bus_cards)
        return not number or int(entry) < number or any(one.mig for one in evidence.cards)
    names = [uuid for one in evidence.cards for uuid in (one.uuid, *one.instances) if uuid]
    if entry.startswith(("GPU-", "MIG-")):
        return not names or any(uuid.startswith(entry) for uuid in names)
    return False


def _order(evidence: Evidence) -> Iterator[Diagnosis]:
    """TensorFlow's GPUs next to nvidia-smi's, by PCI bus id."""
    index = {one.bus: one.index for one in evidence.cards}
    pairs = [(place, index[one.bus]) for place, one in enumerate(evidence.gpus) if one.bus in index]
    if evidence.machine.variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len(pairs) < 2:
        return
    if [number for _, number in pairs] != sorted(number for _, number in pairs):
        yield Diagnosis(
            "device-order",
            Severity.WARNING,
            ", ".join(f"GPU:{place} is card {number} of nvidia-smi" for place, number in pairs),
            "CUDA numbers the fastest card first: CUDA_VISIBLE_DEVICES and nvidia-smi use different numbers",
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID",
            tuple(f"GPU:{place}: {evidence.gpus[place].card} {evidence.gpus[place].bus}" for place, _ in pairs),
        )
