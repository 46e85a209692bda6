"""GPU4xx: whether steps wait for their input."""

from __future__ import annotations

from gpulint.linting.finding import Finding
from gpulint.probe.capture.contents import Capture
from gpulint.probe.measures import waiting
from gpulint.probe.measures.peer_waits import own_waits
from gpulint.probe.verdicts.evidence import Judge, Verdict


def _waits(finding: Finding, capture: Capture) -> Verdict | None:
    """Verdict by the loop that waits most: findings are about pipelines, and do not say which loop reads them."""
    judged = [one for one in map(waiting.wait_share, own_waits(capture).values()) if one.enough]
    if not judged:
        return None
    worst = max(judged, key=lambda one: one.share)
    if worst.is_high:
        return Verdict(True, f"training waited for input {worst.text}")
    return (
        Verdict(False, f"training waited for input {worst.text}")
        if worst.share < waiting.MODERATE and any(name.startswith("GPU") for name in capture.logical)
        else None
    )


VERDICTS: dict[str, Judge] = dict.fromkeys(("GPU402", "GPU404", "GPU406", "GPU407"), _waits)
