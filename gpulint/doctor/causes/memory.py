"""Cards whose memory is in use by other processes, or that only one process may use (tensorflow#9400, #25138)."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity
from gpulint.probe.measures.cards import on_bus

_LEAST = 1 << 30
"""Bytes that must be free: below this CUDA's context, cuBLAS and cuDNN leave nothing for a model."""

_SHARE = 0.1
"""Share of a card used by others that is reported."""


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    for one in evidence.cards:
        if one.prohibited or (one.exclusive and one.processes):
            yield Diagnosis(
                "compute-mode",
                Severity.ERROR,
                f"card {one.index} ({one.name}) is "
                + ("closed to CUDA" if one.prohibited else f"exclusively used by process {one.processes[0]}"),
                "its compute mode excludes other processes",
                f"sudo nvidia-smi -i {one.index} -c DEFAULT",
            )
    for row in evidence.memory:
        used = max(row.by_others, 0) or row.used
        if used < _SHARE * row.total:
            continue
        free = row.total - row.used
        pids = next((one.processes for one in evidence.cards if on_bus(row.bus, one.bus)), ())
        full = free < _LEAST
        yield Diagnosis(
            "memory-held",
            Severity.ERROR if full else Severity.WARNING,
            f"{used / (1 << 30):.1f} of {row.total / (1 << 30):.1f} GiB of {row.name} at {row.bus} are in use",
            "too little memory is left for TensorFlow; the command lists the processes that hold it"
            if full
            else "TensorFlow takes nearly all free memory when it starts, unless memory growth is on",
            f"ps -o pid,user,etime,args -p {','.join(map(str, pids))}"
            if full and pids
            else "export TF_FORCE_GPU_ALLOW_GROWTH=true"
            if not full
            else "nvidia-smi",
        )
