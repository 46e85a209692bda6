"""The driver's list of cards: NVML through nvidia-ml-py. Runs in gpulint's own interpreter.

A separate process, because a broken driver can hang or kill its caller.
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
    write("driver", _call(nvml.nvmlSystemGetDriverVersion))
    write("cuda", _call(nvml.nvmlSystemGetCudaDriverVersion_v2))
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
    mig = _call(nvml.nvmlDeviceGetMigMode, handle)
    pci = _call(nvml.nvmlDeviceGetPciInfo, handle)
    return {
        "index": number,
        "name": _call(nvml.nvmlDeviceGetName, handle),
        "uuid": _call(nvml.nvmlDeviceGetUUID, handle),
        "bus": pci.busId if pci is not None else "",
        "capability": _call(nvml.nvmlDeviceGetCudaComputeCapability, handle),
        "exclusive": _call(nvml.nvmlDeviceGetComputeMode, handle) == nvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS,
        "prohibited": _call(nvml.nvmlDeviceGetComputeMode, handle) == nvml.NVML_COMPUTEMODE_PROHIBITED,
        "mig": bool(mig and mig[0]),
        "instances": list(_instances(nvml, handle)) if mig and mig[0] else [],
        "processes": _processes(nvml, handle),
    }


def _instances(nvml: Any, handle: Any) -> Any:
    for number in range(_call(nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        instance = _call(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
        if instance is not None:  # indices may have gaps
            yield _call(nvml.nvmlDeviceGetUUID, instance)


def _processes(nvml: Any, handle: Any) -> list[int]:
    listed = _call(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    return sorted({int(one.pid) for one in listed})


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result, None if this driver or card does not support the call."""
    try:
        answer = function(*arguments)
    except Exception:  # nvidia-ml-py has a class for each error
        return None
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
