"""Visible cards that are not GPUs of TensorFlow: left out, partitioned (MIG), or lost."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Card, Evidence
from gpulint.linting.finding import Severity

_CORES = re.compile(r"with (?:core count|\w+ multiprocessor count): (\d+)")
_BUS = re.compile(r"pci bus id: ([\da-fA-F:.]+)")


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    for text in evidence.messages.ignored:
        yield _ignored(evidence, text)
    yield from _instances(evidence)
    if not evidence.listed or not (evidence.build.cuda or evidence.build.rocm):
        return
    yield from _unlisted(evidence)
    if not evidence.gpus and evidence.gpu_expected:
        yield Diagnosis(
            "no-gpu-listed",
            Severity.ERROR,
            f"TensorFlow lists no GPU, though {evidence.gpu_expected}",
            "no check of the doctor explains it; TensorFlow's own messages, which the command prints, may",
            "TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_MAX_VLOG_LEVEL=1 "
            f"{evidence.python} -c \"import tensorflow; tensorflow.config.list_physical_devices('GPU')\"",
            tuple(evidence.asked_tensorflow.log.splitlines()[-5:]),
        )


def _ignored(evidence: Evidence, text: str) -> Diagnosis:
    cores = _CORES.search(text)
    return Diagnosis(
        "gpu-ignored",
        Severity.WARNING if evidence.gpus else Severity.ERROR,
        text.partition(". You can adjust")[0],
        "a card much smaller than the best one would slow a strategy over both down, so TensorFlow skips it"
        if cores
        else "this TensorFlow has no kernels for a card of this capability",
        f"export TF_MIN_GPU_MULTIPROCESSOR_COUNT={cores[1]}" if cores else "",
    )


def _instances(evidence: Evidence) -> Iterator[Diagnosis]:
    for one in evidence.cards:
        if one.mig and not one.instances:
            yield Diagnosis(
                "mig-without-instance",
                Severity.ERROR,
                f"card {one.index} ({one.name}) is in MIG mode and has no instance",
                "CUDA computes only on instances, so the card cannot be used",
                f"sudo nvidia-smi -i {one.index} -mig 0",
            )
    instances = [uuid for one in evidence.cards for uuid in one.instances]
    if len(instances) > 1:
        yield Diagnosis(
            "mig",
            Severity.WARNING,
            f"the cards are split into {len(instances)} MIG instances",
            "a process can use only one instance, so a strategy over several is impossible; by default CUDA takes the "
            "first",
            f"export CUDA_VISIBLE_DEVICES={instances[0]}",
            tuple(instances),
        )


def _unlisted(evidence: Evidence) -> Iterator[Diagnosis]:
    """NVML's cards missing from TensorFlow's list, by PCI bus id; hidden and ignored ones have their own causes."""
    ignored = {found[1].lower() for text in evidence.messages.ignored if (found := _BUS.search(text))}
    listed = {one.bus for one in evidence.gpus if one.bus}
    hidden = evidence.machine.variable("CUDA_VISIBLE_DEVICES") is not None
    if hidden or not evidence.gpus or len(listed) != len(evidence.gpus):
        return
    missing: list[Card] = [
        one for one in evidence.cards if one.bus not in listed and one.bus not in ignored and not one.mig
    ]
    if missing:
        yield Diagnosis(
            "gpu-unlisted",
            Severity.WARNING,
            "the driver shows " + ", ".join(f"{one.name} at {one.bus}" for one in missing) + ", TensorFlow does not",
            "the card may have failed, be reserved, or be inaccessible to this process; the command shows its state",
            f"nvidia-smi -q -i {missing[0].index}",
        )
