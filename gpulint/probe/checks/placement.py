"""Operations run on the device that the code requests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.measures.number_words import counted
from gpulint.probe.measures.reasons import has_gpu, is_free

_ID = "scope-placement"


def check(run: Run) -> Iterator[Expectation]:
    """Placement of the operations of each line with a requested device."""
    capture = run.capture
    asked: dict[tuple[Where | None, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for ran, count in capture.executions.items():
        if ran.requested and ran.device:
            asked[ran.where, ran.requested][ran.op, ran.device] += count
    for node, count in capture.nodes.items():
        if node.requested and node.assigned:
            asked[node.where, node.requested][node.op, node.assigned] += count
    for (where, requested), seen in asked.items():
        if where is None:
            continue
        subject = f"operations under {requested}"
        expected = f"on {requested}"
        if requested.startswith("GPU") and not has_gpu(capture):
            yield undecided(_ID, Status.SKIP, subject, expected, "TensorFlow has no GPU here")
            continue
        elsewhere = Counter(
            {(op, device): count for (op, device), count in seen.items() if device != requested and not is_free(op)}
        )
        total = sum(count for (op, _), count in seen.items() if not is_free(op))
        if not elsewhere:
            if total:
                yield held(_ID, subject, expected, f"{counted(total, 'operation')} there", where=where)
            continue
        devices = Counter[str]()
        for (_, device), count in elsewhere.items():
            devices[device] += count
        missing = requested not in capture.logical
        yield violated(
            _ID,
            subject,
            expected,
            ", ".join(f"{count} on {device}" for device, count in devices.most_common()),
            code="GPU107" if missing else "",
            where=where,
            evidence=tuple(f"{count:,} × {op} on {device}" for (op, device), count in elsewhere.most_common(3)),
            fix=f"this run has no {requested}: name a device that exists" if missing else "",
            level=Level.ERROR if missing else Level.WARN,
        )
