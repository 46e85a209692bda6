"""CUDA's libraries: those that fail to open, where the loader looked, where they are, and their versions."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from gpulint.doctor import cuda
from gpulint.doctor.diagnosis import Diagnosis, pip_install, with_cuda
from gpulint.doctor.evidence import Evidence, Library, below
from gpulint.linting.finding import Severity


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    if not evidence.build.cuda or not evidence.gpu_expected:
        return
    closed = [one for one in evidence.libraries if not one.path and one.name not in cuda.DRIVER_LIBRARIES]
    needed = [one for one in closed if one.name != cuda.NCCL]
    known = {one.name for one in evidence.libraries}
    needed += [
        Library(name, error=error)
        for name, error in evidence.messages.not_loaded.items()
        if name not in known
        and evidence.messages.skipped
        and not name.startswith(("libnvinfer", "libnvidia-ml", "libcuda."))
    ]
    yield from _closed(evidence, needed)
    apart = cuda.wheel(cuda.NCCL, evidence.build.cuda_version) in _required_wheels(evidence)  # linked in before 2.14
    if apart and len(evidence.cards) > 1 and any(one.name == cuda.NCCL for one in closed):
        yield Diagnosis(
            "nccl-missing",
            Severity.WARNING,
            f"{cuda.NCCL} cannot be opened, and there are {len(evidence.cards)} cards",
            "MirroredStrategy reduces gradients with it; without it, they go through the host",
            pip_install(evidence, _requirement(evidence, cuda.NCCL)),
        )
    yield from _wheels(evidence)
    yield from _loaded_cudnn(evidence)


def _closed(evidence: Evidence, closed: Sequence[Library]) -> Iterator[Diagnosis]:
    """One diagnosis for all libraries with the same fix."""
    broken = [one for one in closed if _is_broken(one)]
    in_wheels = [one for one in closed if one not in broken and _wheel_path(evidence, one)]
    elsewhere = [one for one in closed if one.elsewhere and one not in broken and one not in in_wheels]
    absent = [one for one in closed if not one.elsewhere and one not in broken]
    if broken:
        yield Diagnosis(
            "library-broken",
            Severity.ERROR,
            f"{_names(broken)} exists, but cannot be loaded",
            "the file is damaged, or a library that it depends on is missing",
            _repair(evidence, broken[0]),
            tuple(one.error for one in broken),
        )
    if in_wheels:
        yield Diagnosis(
            "wheels-not-found",
            Severity.ERROR,
            f"{_names(in_wheels)} cannot be opened, though NVIDIA's wheels are installed",
            "they are in a directory that this TensorFlow does not search (tensorflow#63362)",
            _library_path(evidence, [_wheel_path(evidence, one) for one in in_wheels]),
            (*(_wheel_path(evidence, one) for one in in_wheels), *_looked(in_wheels[0])),
        )
    if elsewhere:
        yield Diagnosis(
            "library-elsewhere",
            Severity.ERROR,
            f"{_names(elsewhere)} cannot be opened, though files of that name exist",
            "they are in a directory that the loader does not search, or cannot be loaded from there",
            _library_path(evidence, [one.elsewhere[0] for one in elsewhere]),
            (*(f"{one.elsewhere[0]}: {one.error}" for one in elsewhere), *_looked(elsewhere[0])),
        )
    if absent:
        others = [path for one in absent for path in one.others]
        yield Diagnosis(
            "library-other-version" if others else "library-missing",
            Severity.ERROR,
            f"{_names(absent)} cannot be opened" + ("; there are other versions" if others else ""),
            f"TensorFlow {evidence.version} was built for CUDA {evidence.build.cuda_version} and cuDNN "
            f"{evidence.build.cudnn_version}; without one of their libraries it registers no GPU",
            _install(evidence),
            (*others[:6], *(one.error for one in absent if not others), *_looked(absent[0])),
        )


def _is_broken(one: Library) -> bool:
    """Whether the loader found the file, according to its message."""
    absent = (f"{one.name}: cannot open shared object file: No such file", f"{one.name} not found")  # Linux, Windows
    return bool(one.error) and not one.error.startswith(absent)


def _repair(evidence: Evidence, one: Library) -> str:
    """The loader's message begins with the path of the file that failed to load, or the name it could not find."""
    path = one.error.partition(": ")[0]
    given = [part for part in (evidence.machine.variable("LD_LIBRARY_PATH") or "").split(":") if part]
    shadowing = [part for part in given if os.path.isabs(path) and below(path, part)]
    if shadowing:
        return f"export LD_LIBRARY_PATH={shlex.quote(':'.join(part for part in given if part not in shadowing))}"
    if any(below(path, place) for place in evidence.interpreter.wheels):
        return pip_install(evidence, _requirement(evidence, one.name), force=True)
    return _install(evidence)


def _install(evidence: Evidence) -> str:
    """The command that installs CUDA's libraries; not pip on Windows, where 2.10 is the last TensorFlow with CUDA."""
    if evidence.machine.system != "Windows":
        return pip_install(evidence, with_cuda(evidence))
    build = evidence.build
    return f"conda install -c conda-forge cudatoolkit={build.cuda_version} cudnn={build.cudnn_version}"


def _names(libraries: Sequence[Library]) -> str:
    return ", ".join(one.name for one in libraries)


def _looked(one: Library) -> tuple[str, ...]:
    absent = len(one.looked) - len(one.present)
    places = [*one.present, *([_absent(absent)] if absent else []), "the system's directories"]
    return (f"looked in: {', '.join(places)}",)


def _absent(number: int) -> str:
    return "1 directory that does not exist" if number == 1 else f"{number} directories that do not exist"


def _wheel_path(evidence: Evidence, one: Library) -> str:
    return next(
        (path for path in one.elsewhere if any(below(path, place) for place in evidence.interpreter.wheels)), ""
    )


def _library_path(evidence: Evidence, paths: Sequence[str]) -> str:
    places = dict.fromkeys(os.path.dirname(path) for path in paths)
    given = evidence.machine.variable("LD_LIBRARY_PATH")
    return "export LD_LIBRARY_PATH=" + shlex.quote(":".join([*places, *([given] if given else [])]))


def _requirement(evidence: Evidence, library: str) -> str:
    """The wheel with a library, in the versions that TensorFlow requires."""
    name = cuda.wheel(library, evidence.build.cuda_version)
    required = _required_wheels(evidence).get(name)
    return f"{name}{required.specifier}" if required is not None else name or with_cuda(evidence)


def _required_wheels(evidence: Evidence) -> dict[str, Requirement]:
    """NVIDIA's wheels as required by TensorFlow's extra `and-cuda`."""
    found = {}
    for text in evidence.interpreter.requires:
        try:
            one = Requirement(text)
        except InvalidRequirement:
            continue
        if one.name.startswith("nvidia-") and one.marker is not None and one.marker.evaluate({"extra": "and-cuda"}):
            found[one.name] = one
    return found


def _wheels(evidence: Evidence) -> Iterator[Diagnosis]:
    """Wheels in a version that TensorFlow does not support; with a wrong cuDNN the first convolution fails."""
    wrong = []
    for name, required in sorted(_required_wheels(evidence).items()):
        has = evidence.interpreter.installed(name)
        if has is not None and not _fits(has.version, required):
            wrong.append((has, required))
    if not wrong:
        return
    serious = any("cudnn" in has.name for has, _ in wrong)
    torch = evidence.interpreter.installed("torch")
    yield Diagnosis(
        "wheel-version",
        Severity.ERROR if serious else Severity.WARNING,
        "; ".join(
            f"{has.name} {has.version} is installed, TensorFlow requires {required.specifier}"
            for has, required in wrong
        ),
        "TensorFlow was built against other versions"
        + ("; cuDNN must be at least as new as that (tensorflow#60913)" if serious else "")
        + (f"; torch {torch.version} has pinned its own" if torch else ""),
        pip_install(evidence, *(f"{has.name}{required.specifier}" for has, required in wrong)),
    )


def _fits(version: str, required: Requirement) -> bool:
    try:
        return required.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return True  # not a version: cannot be compared


def _loaded_cudnn(evidence: Evidence) -> Iterator[Diagnosis]:
    """The cuDNN that is actually loaded: LD_LIBRARY_PATH may put another before the installed one."""
    said = evidence.messages.cudnn
    one = next((one for one in evidence.libraries if one.name.startswith("libcudnn.") and one.path), None)
    required = _required_wheels(evidence).get(cuda.wheel("libcudnn", evidence.build.cuda_version))
    if said:
        loaded, needed = said
    elif one is not None and one.version and required is not None:
        loaded = ".".join(map(str, cuda.cudnn_version(one.version)))
        needed = next((spec.version for spec in required.specifier if spec.operator == ">="), "")
        needed = ".".join(needed.split(".")[:3])
    else:
        return
    if not needed or cuda.numbers(loaded) >= cuda.numbers(needed):
        return
    path = one.path if one is not None else ""
    given = [part for part in (evidence.machine.variable("LD_LIBRARY_PATH") or "").split(":") if part]
    shadowing = [part for part in given if below(path, part)]
    rest = ":".join(part for part in given if part not in shadowing)
    yield Diagnosis(
        "cudnn-too-old",
        Severity.ERROR,
        f"cuDNN {loaded} is loaded{f' from {path}' if path else ''}; TensorFlow was built against {needed}",
        "it must be of the same major version and at least as new, or convolutions fail (tensorflow#60913)"
        + ("; LD_LIBRARY_PATH puts this one first" if shadowing else ""),
        f"export LD_LIBRARY_PATH={shlex.quote(rest)}"
        if shadowing
        else pip_install(evidence, _requirement(evidence, "libcudnn")),
    )
