"""`import tensorflow` fails, crashes or hangs.

Messages of protobuf 3.19, 4.25 and 5.29 and of NumPy 1.22 and 2.3 were seen with TensorFlow 2.16 and 2.21; the others
are from tensorflow#56266, #62832, #98406, #25593, #17411 and rinongal/textual_inversion#91.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpulint.doctor.diagnosis import Code, Diagnosis, pip_install, with_cuda
from gpulint.doctor.evidence import Evidence
from gpulint.linting.finding import Severity


@dataclass(frozen=True, slots=True)
class _Text:
    """A message that identifies the cause. `package` is to be installed in the version that TensorFlow requires;
    `fix` is another fix."""

    pattern: str
    id: Code
    why: str
    package: str = ""
    fix: str = ""


_TEXTS = (
    _Text(
        r"cannot import name '_message' from 'google\.protobuf\.pyext'",
        "protobuf",
        "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION names an implementation that this protobuf does not have",
        fix="unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION",
    ),
    _Text(
        r"Descriptors cannot (not )?be created directly"
        r"|cannot import name '(runtime_version|builder)' from 'google\.protobuf"
        r"|Protobuf Gencode/Runtime"
        r"|which is not compatible with the installed version.*protobuf"
        r"|compiled against version \S+ of the Protocol Buffer runtime",
        "protobuf",
        "TensorFlow was built for another version of protobuf than the installed one",
        "protobuf",
    ),
    _Text(
        r"numpy\.dtype size changed|_ARRAY_API not found|compiled using NumPy 1\.x|module 'numpy' has no attribute"
        r"|numpy\.(_core|core)\.(umath|multiarray) failed to import",
        "numpy",
        "TensorFlow, or a package that it imports, was built for another NumPy than the installed one",
        "numpy",
    ),
    _Text(
        r"version [`'](GLIBC|GLIBCXX|CXXABI)_[\d.]+' not found",
        "c-library",
        "this wheel needs a newer C or C++ library than the system has",
        fix="docker run -it tensorflow/tensorflow:latest-gpu",
    ),
    _Text(
        r"DLL load failed",
        "visual-c",
        "Windows cannot find a library that TensorFlow needs, usually Microsoft's C++ runtime",
        fix="winget install Microsoft.VCRedist.2015+.x64",
    ),
    _Text(
        r"lib(cuda|cublas|cudart|cudnn|cufft|curand|cusolver|cusparse)\S*\.so\S*: cannot open shared object file",
        "library-missing",
        "this TensorFlow cannot be imported without CUDA's libraries",
    ),
)


def diagnose(evidence: Evidence) -> Iterator[Diagnosis]:
    asked = evidence.asked_tensorflow
    if asked.step not in ("import", "build") or asked.ended in ("answered", "not asked"):
        return
    if asked.ended == "timeout":
        yield Diagnosis(
            "import-hangs",
            Severity.ERROR,
            f"`import tensorflow` did not return within {asked.seconds:.0f} s",
            "the file system is slow, or a library hangs while it is loaded",
            f"gpulint doctor --timeout {max(300, round(5 * asked.seconds))}",
            _tail(asked.log),
        )
        return
    if evidence.messages.unknown_flag:
        return  # another cause reports it
    said = "\n".join((asked.error, asked.traceback, asked.log))
    for text in _TEXTS:
        if found := re.search(text.pattern, said):
            line = next(row for row in said.splitlines() if found[0].splitlines()[0] in row)
            yield Diagnosis(
                text.id,
                Severity.ERROR,
                f"`import tensorflow` fails: {_short(line)}",
                text.why,
                text.fix or pip_install(evidence, _required(evidence, text.package)),
                _versions(evidence),
            )
            return
    if asked.ended == "crashed" and asked.error == "SIGILL":
        yield Diagnosis(
            "instruction-set",
            Severity.ERROR,
            "`import tensorflow` crashes with SIGILL",
            "since 1.6 the wheels need a processor with AVX (tensorflow#17411); this one, or the part that a virtual "
            "machine or emulator exposes, lacks instructions that this wheel uses; the command looks for AVX",
            "grep --only-matching --max-count=1 --word-regexp avx /proc/cpuinfo",
        )
    elif asked.ended == "crashed":
        yield Diagnosis(
            "import-crashes",
            Severity.ERROR,
            f"`import tensorflow` crashes with {asked.error}",
            "a library that it loads is broken, or incompatible with another one",
            pip_install(evidence, with_cuda(evidence), force=True),
            _tail(asked.log),
        )
    else:
        yield Diagnosis(
            "import-fails",
            Severity.ERROR,
            f"`import tensorflow` fails: {_short(asked.error)}",
            "TensorFlow, or a package that it needs, is not installed correctly",
            pip_install(evidence, with_cuda(evidence), force=True),
            _tail(asked.traceback),
        )


def _required(evidence: Evidence, package: str) -> str:
    """The requirement in TensorFlow's own metadata."""
    if not package:
        return with_cuda(evidence)
    for text in evidence.interpreter.requires:
        if re.match(rf"{package}(?![\w-])", text) and ";" not in text:
            return text.strip()
    return package


def _versions(evidence: Evidence) -> tuple[str, ...]:
    wanted = ("protobuf", "numpy", "ml-dtypes")
    return tuple(f"{one.name} {one.version}" for one in evidence.interpreter.distributions if one.name in wanted)


def _short(text: str, length: int = 200) -> str:
    first = text.strip().splitlines()[0] if text.strip() else ""
    return first if len(first) <= length else f"{first[:length]}…"


def _tail(text: str) -> tuple[str, ...]:
    return tuple(row for row in text.splitlines() if row.strip())[-3:]
