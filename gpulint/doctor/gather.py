"""Gathers the evidence within a time limit: files of this machine directly, everything else in parallel child
processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gpulint import _version
from gpulint.doctor import cuda, messages
from gpulint.doctor.answer import Answer
from gpulint.doctor.child import ask
from gpulint.doctor.evidence import Build, Card, Distribution, Evidence, Gpu, Interpreter, Library, build_of
from gpulint.doctor.machine import examine
from gpulint.probe.measures.cards import Row, bus_id


class NoInterpreter(Exception):
    """The interpreter cannot be examined; the message says why."""


_UNASKED = Answer("not asked")


def gather(
    python: str,
    *,
    timeout: float,
    compute: bool,
    environment: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
) -> Evidence:
    """Examines the TensorFlow of an interpreter. Raises NoInterpreter if it is not one.

    All queries together take at most `timeout` seconds, plus two if a process cannot be killed. `compute` lets
    TensorFlow create its devices and run an operation on each. A `tensorflow` in the working directory is not imported:
    it is not TensorFlow.
    """
    deadline = time.monotonic() + timeout
    machine = examine(environment, root)
    first = ask(python, "interpreter", {}, deadline=deadline, environment=environment)
    if first.ended == "not asked":
        raise NoInterpreter(f"{python}: {first.error}")
    if "version" not in first.values:
        lines = first.log.strip().splitlines()
        raise NoInterpreter(f"{python}: no answer ({first.error or first.ended}{': ' + lines[-1] if lines else ''})")
    interpreter = _interpreter(python, first.values)
    build = build_of(first.values.get("build") or {})
    question = partial(ask, deadline=deadline)
    is_examined = interpreter.package and not first.values["package"]["is_here"]
    logging = {**environment, **messages.LEVELS}
    home = os.path.dirname(os.path.dirname(os.path.abspath(_version.__file__)))
    with ThreadPoolExecutor(3) as pool:
        runtime = libraries = None
        if is_examined:
            runtime = pool.submit(question, python, "runtime", {"compute": compute}, environment=logging)
        if is_examined and machine.system == "Linux":
            looked_for = _library_options(interpreter, build)
            libraries = pool.submit(question, python, "libraries", looked_for, environment=environment)
        cards = pool.submit(question, sys.executable, "cards", {"path": home}, environment=environment)
        said = runtime.result() if runtime else _UNASKED
        found = libraries.result() if libraries else _UNASKED
        return _evidence(
            Evidence(machine, interpreter, said, found, cards.result(), messages.read(said.log), build=build)
        )


def _library_options(interpreter: Interpreter, build: Build) -> dict[str, Any]:
    names = [*cuda.libraries(build.cuda_version, build.cudnn_version), *cuda.DRIVER_LIBRARIES, cuda.NCCL]
    return {"names": names, "package": interpreter.package, "wheels": list(interpreter.wheels)}


def _interpreter(python: str, values: Mapping[str, Any]) -> Interpreter:
    package = values.get("package") or {}
    return Interpreter(
        executable=python,
        version=values["version"],
        package=package.get("path", ""),
        kind=package.get("kind", ""),
        distributions=tuple(
            sorted((Distribution(*row) for row in values.get("distributions", ())), key=lambda one: one.name)
        ),
        requires=tuple(values.get("requires", ())),
        wheels=tuple(values.get("wheels", ())),
    )


def _evidence(evidence: Evidence) -> Evidence:
    """The evidence with the results of the queries."""
    said, cards = evidence.asked_tensorflow, evidence.asked_cards
    build = build_of(said.values["build"]) if "build" in said.values else evidence.build
    version = str((said.values.get("imported") or {}).get("version") or "")
    if not version and len(evidence.interpreter.tensorflows) == 1:
        version = evidence.interpreter.tensorflows[0].version
    driver_cuda = int(cards.values.get("cuda") or 0)
    return replace(
        evidence,
        version=version,
        build=replace(build, capabilities=build.capabilities or evidence.build.capabilities),
        gpus=_gpus(evidence),
        computed={one["device"]: one["seconds"] for one in said.all("computed")},
        libraries=tuple(_library(one) for one in evidence.asked_libraries.all("library")),
        cards=tuple(_card(one) for one in cards.all("card")),
        memory=tuple(Row(**one) for one in cards.all("row")),
        driver=str(cards.values.get("driver") or ""),
        cuda_driver=f"{driver_cuda // 1000}.{driver_cuda % 1000 // 10}" if driver_cuda else "",
        no_cards="; ".join(cards.all("lost")),
    )


def _gpus(evidence: Evidence) -> tuple[Gpu, ...]:
    """TensorFlow's GPUs with bus ids: from the devices it created, or from the cards it found, if it ignored none."""
    listed = evidence.asked_tensorflow.values.get("gpus") or ()
    created = {one.device.rpartition(":")[2]: bus_id(one.pci_bus_id) for one in evidence.messages.created}
    found = evidence.messages.found
    gpus = []
    for place, one in enumerate(listed):
        details = one["details"]
        bus = created.get(str(place), "")
        if not bus and len(found) == len(listed):
            bus = found[place].bus
        capability = details.get("compute_capability")
        card = str(details.get("device_name", ""))
        gpus.append(Gpu(one["name"], card, bus, _capability(capability)))
    return tuple(gpus)


def _capability(pair: Any) -> tuple[int, int] | None:
    return (int(pair[0]), int(pair[1])) if pair else None


def _library(one: Mapping[str, Any]) -> Library:
    return Library(
        one["name"],
        one["path"],
        one["error"],
        one["version"],
        tuple(one["looked"]),
        tuple(one["present"]),
        tuple(one["elsewhere"]),
        tuple(one["others"]),
    )


def _card(one: Mapping[str, Any]) -> Card:
    return Card(
        index=int(one["index"]),
        name=one["name"] or "",
        uuid=one["uuid"] or "",
        bus=bus_id(one["bus"] or ""),
        capability=_capability(one["capability"]),
        mig=one["mig"],
        instances=tuple(uuid for uuid in one["instances"] if uuid),
        exclusive=one["exclusive"],
        prohibited=one["prohibited"],
        processes=tuple(one["processes"]),
    )
