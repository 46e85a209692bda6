"""How a program failed: the error, where in its own code, and what the error means."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.measures.failures import failure_of
from gpulint.probe.report import located

LONGEST = 300
"""Characters of an error that are shown."""


def failure(capture: Capture) -> Iterator[str]:
    """The error, the program's own frames that led to its end, innermost last, and the known cause. A signal or status
    is said elsewhere."""
    found = failure_of(capture)
    if found is None:
        return
    if capture.error:
        yield found.text if len(found.text) <= LONGEST else found.text[:LONGEST] + "…"
    if found.frames and not found.is_exact:
        yield "  last seen at"
    for where, function in found.frames:
        yield f"  {located(where)}" + (f" in {function}" if function else "")
    if found.means:
        yield f"  {found.means}" + (f" ({found.code})" if found.code else "")
