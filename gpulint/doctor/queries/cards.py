"""What the driver says of the cards: NVML through nvidia-ml-py. Runs in gpulint's own interpreter.

In a process of its own because a broken driver can hang or end whoever asks it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def ask(write: Callable[[str, Any], None], path: str) -> None:
    """Writes `driver`, `cuda`, `card` for each card and `row` for its memory, or `lost` with the reason. `path` is
    where gpulint is imported from."""
    sys.path.insert(1, path)
    from gpulint.probe.measures.cards import Cards

    write("begin", "nvmlInit")
    cards = Cards.open()
    if isinstance(cards, str):
        write("lost", cards)
        return
    nvml = importlib.import_module("pynvml")
    write("begin", "versions")
    write("driver", _asked(nvml.nvmlSystemGetDriverVersion))
    write("cuda", _asked(nvml.nvmlSystemGetCudaDriverVersion_v2))
    for number in range(nvml.nvmlDeviceGetCount()):
        write("begin", f"card {number}")
        write("card", _card(nvml, number))
    write("begin", "memory")
    for row in cards.sample(()):
        write("row", row._asdict())
    for bus, reason in cards.lost.items():
        write("lost", f"{bus or 'all cards'}: {reason}")
    cards.close()


def _card(nvml: Any, number: int) -> dict[str, Any]:
    handle = nvml.nvmlDeviceGetHandleByIndex(number)
    mig = _asked(nvml.nvmlDeviceGetMigMode, handle)
    pci = _asked(nvml.nvmlDeviceGetPciInfo, handle)
    return {
        "index": number,
        "name": _asked(nvml.nvmlDeviceGetName, handle),
        "uuid": _asked(nvml.nvmlDeviceGetUUID, handle),
        "bus": pci.busId if pci is not None else "",
        "capability": _asked(nvml.nvmlDeviceGetCudaComputeCapability, handle),
        "exclusive": _asked(nvml.nvmlDeviceGetComputeMode, handle) == nvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS,
        "prohibited": _asked(nvml.nvmlDeviceGetComputeMode, handle) == nvml.NVML_COMPUTEMODE_PROHIBITED,
        "mig": bool(mig and mig[0]),
        "instances": list(_instances(nvml, handle)) if mig and mig[0] else [],
        "processes": _processes(nvml, handle),
    }


def _instances(nvml: Any, handle: Any) -> Any:
    for number in range(_asked(nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        instance = _asked(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
        if instance is not None:  # numbers may have gaps
            yield _asked(nvml.nvmlDeviceGetUUID, instance)


def _processes(nvml: Any, handle: Any) -> list[int]:
    listed = _asked(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    return sorted({int(one.pid) for one in listed})


def _asked(function: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, None where this driver or card has none."""
    try:
        answer = function(*arguments)
    except Exception:  # nvidia-ml-py has a class for each refusal
        return None
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
