"""The doctor's report as one JSON object, described in docs/doctor.md."""

from __future__ import annotations

from typing import Any

from gpulint.doctor.answer import Answer
from gpulint.doctor.evidence import Evidence
from gpulint.doctor.report import MachineReport
from gpulint.output.escapes import json_text

VERSION = 2
"""Version of the format; increases when a field is removed or changes its meaning."""


def render(report: MachineReport, color: bool = False) -> str:
    evidence = report.evidence
    content = {
        "version": VERSION,
        "status": report.status,
        "verdict": report.verdict,
        "findings": [
            {
                "code": one.id,
                "severity": one.severity.value,
                "message": one.seen,
                "why": one.why,
                "help": one.fix or None,
                "evidence": list(one.evidence),
            }
            for one in report.diagnoses
        ],
        "expected": evidence.gpu_expected or None,
        "machine": _machine(evidence),
        "python": {
            "executable": evidence.interpreter.executable,
            "version": evidence.interpreter.version,
            "distributions": {one.name: one.version for one in evidence.interpreter.distributions},
        },
        "tensorflow": _tensorflow(evidence),
        "driver": {
            "version": evidence.driver_version or None,
            "cuda": evidence.cuda_driver or None,
            "error": evidence.no_cards or None,
        },
        "cards": _cards(evidence),
        "libraries": [
            {
                "name": one.name,
                "path": one.path or None,
                "error": one.error or None,
                "version": one.version or None,
                "looked": list(one.looked),
                "elsewhere": [*one.elsewhere, *one.others],
            }
            for one in evidence.libraries
        ],
        "questions": {
            name: _question(answer)
            for name, answer in (
                ("tensorflow", evidence.asked_tensorflow),
                ("libraries", evidence.asked_libraries),
                ("cards", evidence.asked_cards),
            )
        },
    }
    return json_text(content) + "\n"


def _machine(evidence: Evidence) -> dict[str, Any]:
    machine = evidence.machine
    return {
        "system": machine.system,
        "architecture": machine.architecture,
        "wsl": machine.wsl,
        "container": machine.container or None,
        "pci": [{"bus": one.bus, "driver": one.driver or None} for one in machine.bus_cards],
        "device_files": dict(machine.device_files),
        "environment": dict(machine.environment),
    }


def _tensorflow(evidence: Evidence) -> dict[str, Any]:
    build = evidence.build
    return {
        "version": evidence.version or None,
        "path": evidence.interpreter.package or None,
        "cuda": build.cuda_version or None if build.cuda else None,
        "cudnn": build.cudnn_version or None if build.cuda else None,
        "rocm": build.rocm,
        "capabilities": list(build.capabilities),
        "gpus": [
            {
                "name": f"GPU:{place}",
                "card": one.card or None,
                "bus": one.bus or None,
                "capability": list(one.capability) if one.capability else None,
                "seconds": evidence.computed.get(f"/device:GPU:{place}"),
            }
            for place, one in enumerate(evidence.gpus)
        ],
    }


def _cards(evidence: Evidence) -> list[dict[str, Any]]:
    return [
        {
            "index": one.index,
            "name": one.name,
            "uuid": one.uuid,
            "bus": one.bus,
            "capability": list(one.capability) if one.capability else None,
            "instances": list(one.instances),
            "memory": [
                {"bus": row.bus, "total": row.total, "used": row.used}
                for row in evidence.memory
                if row.bus == one.bus or row.bus.startswith(f"{one.bus}/")
            ],
        }
        for one in evidence.cards
    ]


def _question(answer: Answer) -> dict[str, Any]:
    return {
        "ended": answer.ended,
        "step": answer.step or None,
        "error": answer.error or None,
        "seconds": answer.seconds,
    }
