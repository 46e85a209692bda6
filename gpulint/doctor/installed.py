"""The TensorFlow release that is installed for an interpreter."""

from __future__ import annotations

import os
import re
import time

from gpulint.doctor.child import ask
from gpulint.doctor.gather import NoInterpreter

_TIMEOUT = 30.0

_TENSORFLOW = re.compile(r"(?:intel-)?tensorflow(?:-(?:cpu|gpu|intel|macos|rocm|cpu-aws))?|tf-nightly(?:-gpu|-cpu)?")
_RELEASE = re.compile(r"\d+\.\d+")


def installed_release(python: str) -> str:
    """The release, such as "2.16", by the metadata of installed packages: TensorFlow is not imported.

    `python` is an interpreter or the directory of a virtual environment. Raises NoInterpreter, also if it has no
    TensorFlow.
    """
    if os.path.isdir(python):
        names = (os.path.join("bin", "python"), os.path.join("Scripts", "python.exe"))
        paths = (os.path.join(python, name) for name in names)
        python = next((path for path in paths if os.path.exists(path)), python)
    answer = ask(python, "interpreter", {}, deadline=time.monotonic() + _TIMEOUT, environment=os.environ)
    if "distributions" not in answer.values:
        raise NoInterpreter(f"{python}: {answer.error or answer.ended}")
    for name, version, _ in answer.values["distributions"]:
        if _TENSORFLOW.fullmatch(name) and (found := _RELEASE.match(version)) is not None:
            return found[0]
    raise NoInterpreter(f"{python}: TensorFlow is not installed")
