"""Python runs the program's own code between steps: callbacks, and lines of a loop."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes.eager_step import CODE, EAGER_OPERATIONS
from gpulint.probe.measures.time_words import duration


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line, unless it is that of a `fit`, whose Python is Keras's, or launches eager operations."""
    time = observed.time
    others = {one.where for one in observed.capture.data}
    others |= {one.where for one in time.by_line if (one.name, one.detail) == ("launch", EAGER_OPERATIONS)}
    for one in time.by_line:
        is_callback = "." in one.detail
        if one.name != "python" or one.where is None or one.where in others or not (is_callback or one.detail == CODE):
            continue
        each = duration(one.seconds / max(time.steps, 1))
        yield Candidate(
            "slow-python",
            one.where,
            f"steps wait for `{one.detail}`" if is_callback else "steps wait for Python on this line",
            f"It takes {each} of a {duration(time.seconds / max(time.steps, 1))} step.",
            "Do it once per epoch, or in a separate thread."
            if is_callback
            else "Do it in the input pipeline, less often, or in a separate thread.",
            {"python": one.seconds},
        )
