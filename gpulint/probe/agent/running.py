"""Runs the user's program in this process, as the interpreter itself would."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import dataclasses
import faulthandler
import importlib.machinery
import json
import os
import runpy
import signal
import sys
import types
from collections.abc import Sequence
from typing import NoReturn

from gpulint.probe.agent.arming import arm
from gpulint.probe.agent.hidden_frames import forget_frames
from gpulint.probe.agent.leaving import watch_leaving
from gpulint.probe.agent.options import Options
from gpulint.probe.agent.session import Session


def main(arguments: Sequence[str]) -> NoReturn:
    """Runs the program and ends the process as the program would have."""
    options = Options(**json.loads(arguments[0]))
    mode = arguments[1] if arguments[1] in ("-m", "--kernel") else ""
    target, *given = arguments[2:] if mode else arguments[1:]
    if mode == "--kernel":
        options = dataclasses.replace(options, log=False)  # TensorFlow prints it among the output of the cells
    session = Session(options)
    if session.refused():
        sys.exit(2)
    _leave_stacks(options.capture)
    session.started(target)
    arm(session.awaited, session.not_imported)
    atexit.register(session.write_down)
    watch_leaving(session.leaves)
    status, failed = 0, None
    try:
        if mode == "--kernel":
            from gpulint.probe.agent.kernel import run_kernel

            failed = run_kernel(target, given[0], session.places, session.fault)
        elif mode == "-m":
            _run_module(target, given)
        else:
            _run_script(target, given)
    except SystemExit as end:
        session.ended(end if end.code not in (None, 0) else None)
        raise
    except BaseException as raised:
        session.ended(raised)
        status = _uncaught(raised)
    else:
        session.ended(failed)
    sys.exit(status)


def _run_script(path: str, arguments: Sequence[str]) -> None:
    sys.argv[:] = [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    path = os.path.abspath(path)
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __annotations__={},
        __file__=path,
        __builtins__=builtins,
        __cached__=None,
        __loader__=importlib.machinery.SourceFileLoader("__main__", path),
    )
    with open(path, "rb") as file:
        source = file.read()
    code = compile(source, path, "exec", dont_inherit=True)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _run_module(name: str, arguments: Sequence[str]) -> None:
    sys.argv[:] = [name, *arguments]
    sys.path.insert(0, os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _uncaught(error: BaseException) -> int:
    """Prints an exception as the interpreter does, without frames of this package. Returns the exit status."""
    forget_frames(error)
    with contextlib.suppress(Exception):
        sys.excepthook(type(error), error, error.__traceback__)
    return 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def _leave_stacks(capture: str) -> None:
    """Writes the stacks of all threads on SIGUSR2, which the parent sends when the program hangs, and when it crashes,
    unless the user has them written elsewhere (PYTHONFAULTHANDLER)."""
    if hasattr(signal, "SIGUSR2"):
        stacks = open(f"{capture}.stacks", "w", encoding="utf-8")  # noqa: SIM115 (as long as the process)
        faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True)
        if not faulthandler.is_enabled():
            faulthandler.enable(file=stacks, all_threads=True)
