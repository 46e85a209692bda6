"""The child side: runs programs under the agent on simulated GPUs, each in a fork of a process that has TensorFlow.

One job a line on standard input, as JSON: program, args, gpus, no_jit, without, capture, directory, seconds, stdout,
stderr. The answer is the status of the fork. That the agent is armed after the import, as in a real run, is the same
here: the fork's runtime is not up.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from typing import Any

from gpulint.probe.agent import internals, operations, running, self_test
from gpulint.probe.agent.session import Options, Session


def rehearse(job: dict[str, Any]) -> None:
    """Run a program to its end; an exception of the program ends the process."""
    import tensorflow

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
        session.ended(f"{type(error).__name__}: {error}" if failed else None, error if failed else None)
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


def _child(job: dict[str, Any]) -> None:
    signal.alarm(job["seconds"])
    os.chdir(job["directory"])
    for stream, path in ((1, job["stdout"]), (2, job["stderr"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), stream)
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
    os._exit(status)  # without the exit handlers of the parent


def main() -> None:
    """Answer jobs until standard input ends."""
    import tensorflow  # noqa: F401

    gc.freeze()  # a collection in a fork would copy the memory of all that has been imported
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _child(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
