"""Cards that the wheel has no kernels for (tensorflow#62320, #89272, #97387)."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.doctor import cuda
from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    built = evidence.build.capabilities
    if not evidence.build.cuda or not built:
        return
    for capability, name in _cards(evidence).items():
        written = f"{capability[0]}.{capability[1]}"
        seen = f"{name} has compute capability {written}; this TensorFlow was built for {', '.join(built)}"
        if cuda.runs_natively(capability, built):
            continue
        if not cuda.compiles_for(capability, built):
            yield Diagnosis(
                "capability-missing",
                Severity.ERROR,
                seen,
                "it has neither kernels for this card nor code that the driver could compile: the card is too old "
                "for this release, even if TensorFlow's own message speaks of compiling",
                "bazel build //tensorflow/tools/pip_package:wheel --config=cuda_wheel "
                f"--repo_env=HERMETIC_CUDA_COMPUTE_CAPABILITIES=compute_{capability[0]}{capability[1]}",
            )
        elif (
            evidence.cuda_driver and cuda.numbers(evidence.cuda_driver) < cuda.numbers(evidence.build.cuda_version)[:2]
        ):
            yield Diagnosis(
                "capability-driver",
                Severity.ERROR,
                f"{seen}; the driver knows CUDA up to {evidence.cuda_driver}",
                f"the driver must compile the kernels from PTX of CUDA {evidence.build.cuda_version}, and cannot read "
                "PTX of a CUDA newer than its own",
                "https://www.nvidia.com/drivers",
            )
        else:
            yield Diagnosis(
                "capability-compiled",
                Severity.WARNING,
                seen,
                "the driver compiles every kernel when it is first used, which can take 30 minutes and, for some "
                "kernels on newer cards, fails (tensorflow#97387); a larger cache keeps what was compiled",
                "export CUDA_CACHE_MAXSIZE=4294967296",
            )


def _cards(evidence: Evidence) -> dict[tuple[int, int], str]:
    """Capability → names of the cards with it, from TensorFlow or the driver."""
    found: dict[tuple[int, int], list[str]] = {}
    named = [
        *((one.capability, one.card) for one in evidence.gpus),
        *((one.capability, one.name) for one in evidence.messages.found),
        *((one.capability, one.name) for one in evidence.cards),
    ]
    for capability, name in named:
        if capability is not None and name not in found.setdefault(capability, []):
            found[capability].append(name)
    return {capability: " and ".join(name for name in names if name) or "a card" for capability, names in found.items()}
