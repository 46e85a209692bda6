"""Prints what a trace says, as a JSON object: `python __main__.py DIRECTORY`.

Run by the interpreter that has the TensorFlow of the program: traces need the protobuf of that, and may be large.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    del sys.path[0]  # this directory: its modules must not shadow others

import json

from gpulint.probe.tracing.allocations import peaks, rows
from gpulint.probe.tracing.handover import trace_in, window_of
from gpulint.probe.tracing.summary import summary
from gpulint.probe.tracing.xspace import Trace, Unreadable, schema


def main(directory: str) -> None:
    """Prints the fields of the `window` record and the rows of `peaks`, or the `reason` why there is none."""
    try:
        trace, window = Trace(trace_in(directory), schema()), window_of(directory)
        told = {**summary(trace, window), "peaks": rows(peaks(trace.allocations()), window.places)}
    except (Unreadable, OSError) as error:
        told = {"reason": str(error)}
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
