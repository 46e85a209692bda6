"""How a program failed: the error, where in its own code, and what the error means."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.measures.known_errors import headline, known
from gpulint.probe.report import located

LONGEST = 300
"""Characters of an error that are shown."""


def failure(capture: Capture) -> Iterator[str]:
    """The error, the program's own frames that led to it, innermost last, and its known cause."""
    if not capture.error:
        return
    text = headline(capture.error)
    yield text if len(text) <= LONGEST else text[:LONGEST] + "…"
    for where, function in capture.error_frames:
        yield f"  {located(where)} in {function}"
    if capture.error_at is not None and not capture.error_frames:
        yield f"  {located(capture.error_at)}"
    if (explained := known(capture.error)) is not None:
        yield f"  {explained.means}" + (f" ({explained.code})" if explained.code else "")
