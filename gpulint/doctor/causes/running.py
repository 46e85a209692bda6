"""GPUs that TensorFlow lists and whose first operations fail, crash or hang."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.doctor.cuda import runs_natively
from gpulint.doctor.diagnosis import Diagnosis, pip_install, with_cuda
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity

_REASONS = (
    (
        r"out of memory|OUT_OF_MEMORY|RESOURCE_EXHAUSTED|OOM when|ALLOC_FAILED",
        "its memory is taken: without memory growth, a TensorFlow process takes nearly all of a card "
        "(tensorflow#9400); the command lists the processes",
        "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv",
    ),
    (
        r"no kernel image|INVALID_HANDLE|NO_BINARY_FOR_GPU|INVALID_PTX|UNSUPPORTED_PTX",
        "this TensorFlow has no kernels that run on the card (tensorflow#97387)",
        "",
    ),
    (
        r"DEVICES_UNAVAILABLE|busy or unavailable|exclusive",
        "another process uses the card exclusively",
        "sudo nvidia-smi -c DEFAULT",
    ),
    (
        r"DNN library|cudnn|CUDNN",
        "cuDNN cannot be used: not found, too old, or without memory (tensorflow#24828)",
        "install",
    ),
    (r"cublas|CUBLAS|Blas", "cuBLAS cannot be used: not found, of another version, or without memory", "install"),
    (r"Error loading CUDA libraries|cudaGetDevice", "CUDA's runtime library cannot be used", "install"),
)


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    asked = evidence.asked_tensorflow
    if asked.ended == "answered" or not evidence.gpus or asked.step in ("", "import", "build", "list"):
        return
    what = "creating TensorFlow's devices" if asked.step == "create" else f"the first {asked.step}"
    if asked.ended == "timeout":
        native = all(
            one.capability and runs_natively(one.capability, evidence.build.capabilities) for one in evidence.gpus
        )
        yield Diagnosis(
            "gpu-hangs",
            Severity.ERROR,
            f"{what} did not return within {asked.seconds:.0f} s",
            "the driver or the card hangs; the driver's messages in the kernel's log begin with NVRM"
            if native
            else "the driver still compiles kernels for this card, or hangs: a longer limit tells which",
            "sudo dmesg | grep NVRM | tail" if native else "gpulint doctor --timeout 1800",
        )
        return
    said = f"{asked.error}\n{asked.log}"
    why, fix = (
        "the driver, the card or a CUDA library does not work; the command shows the state of the card",
        "nvidia-smi -q",
    )
    for pattern, reason, command in _REASONS:
        if re.search(pattern, asked.error) or (asked.ended == "crashed" and re.search(pattern, said)):
            why, fix = reason, command
            break
    if fix == "install":
        fix = pip_install(evidence, with_cuda(evidence))
    ended = f"crashed with {asked.error}" if asked.ended == "crashed" else f"failed: {asked.error.splitlines()[0]}"
    yield Diagnosis("gpu-fails", Severity.ERROR, f"{what} {ended}", why, fix, _errors(asked.log))


def _errors(log: str) -> tuple[str, ...]:
    """The last messages of level error or fatal, without repetitions."""
    found = re.findall(r"^(?:[EF]\d{4} |\S+ \S+: [EF] ).*?\] (.+)$", log, re.MULTILINE)
    return tuple(dict.fromkeys(found))[-3:]
