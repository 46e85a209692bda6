"""The child side: runs a program under the agent on simulated GPUs, in a fork of a process that has imported TensorFlow
(`tests.warm`).

Its argument is a job as JSON: program, args, gpus, no_jit, without, capture, directory, seconds. The agent is armed
after the import as in a real run: the runtime of the fork has not started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from gpulint.probe.agent import internals, operations, running, self_test
from gpulint.probe.agent.options import Options
from gpulint.probe.agent.session import Session
from gpulint.probe.agent.simulation import listing


def rehearse(job: dict[str, Any]) -> None:
    """Run a program to its end; an exception of the program ends the process."""
    import tensorflow

    os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # of the process that forks: here only the program may set it
    listing.GIVEN = None
    _take_away(job["without"])
    session = Session(Options(job["capture"], no_jit=job["no_jit"], simulate_gpus=job["gpus"]))
    assert not session.refused()
    session.started(job["program"])
    session.imported(tensorflow)
    sys.path[0] = ""  # the program's directory comes before it
    try:
        running._run_script(job["program"], job["args"])
    except BaseException as error:
        failed = not isinstance(error, SystemExit) or error.code not in (None, 0)
        session.ended(error if failed else None)
        raise
    session.ended(None)


def _take_away(name: str) -> None:
    """Hide a private API of TensorFlow, by its name in the agent's table, or rename gradients."""
    look_up = internals.look_up

    def found(private: internals.Private) -> Any:
        if name and private is internals.PRIVATE.get(name):
            raise AttributeError(f"it was taken away: {name}")
        return look_up(private)

    internals.look_up = found
    if name == "gradient_tape":
        operations.GRADIENT = self_test.GRADIENT = "another_name/"


def main() -> None:
    """Run the job; end with the status of the program."""
    job = json.loads(sys.argv[1])
    signal.alarm(job["seconds"])
    os.chdir(job["directory"])
    status = 0
    try:
        rehearse(job)
    except SystemExit as end:
        status = int(bool(end.code))
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # without the exit handlers of the agent


if __name__ == "__main__":
    main()
