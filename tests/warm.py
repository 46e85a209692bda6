"""Python that has already imported what programs need: they run in forks of one process, which saves each the seconds
of the imports.

A fork runs its program as `python` would: its own arguments, directory, environment, input and output. Where TensorFlow
is imported, `tensorflow` and `keras` are absent from `sys.modules` until the program imports them, and TensorFlow's
runtime starts in the fork. What `gpulint probe` or `gpulint estimate` starts there is a fork, too, on the pipes and
under the eyes of the real launcher. `PYTHONPATH` and what TensorFlow reads at its import
(`TF_ENABLE_ONEDNN_OPTS`, the level of its messages) are those of the first process.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import hashlib
import importlib
import io
import json
import os
import pkgutil
import runpy
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

if sys.platform != "win32":
    import resource

SECONDS = 600
"""Seconds after which a program counts as hung."""

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
"""Environment without GPUs and without TensorFlow's messages. TensorFlow reads the level when it is imported."""


Limits = Sequence[tuple[int, int]]
"""Resources, such as `resource.RLIMIT_AS`, with the most that each process of a program may use."""


class Program(NamedTuple):
    """A command line, and the directory, environment and limits of its process. `env` is added to the environment."""

    command: Sequence[str]
    cwd: Path
    env: Mapping[str, str] = QUIET
    limits: Limits = ()


class Running:
    """A program in a fork."""

    def __init__(self, pid: int, answers: IO[str]) -> None:
        self.pid = pid
        self._answers = answers

    def wait(self) -> int:
        """The status of the ended program, negative for a signal. To be called once."""
        process, status = self._answers.readline().split()
        assert int(process) == self.pid, "this is the end of another program"
        return int(status)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Runner(ABC):
    """Runs command lines of Python programs."""

    @abstractmethod
    def start(self, program: Program, files: Sequence[int]) -> Running | subprocess.Popen[bytes]:
        """Start a program with three open files as its standard streams."""

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] = QUIET,
        given: str = "",
        limits: Limits = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end; `given` is its standard input."""
        with contextlib.ExitStack() as stack:
            files = [
                stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")) for _ in range(3)
            ]
            files[0].write(given)
            files[0].seek(0)
            status = self.start(Program(command, cwd, env, limits), [file.fileno() for file in files]).wait()
            for file in files:
                file.seek(0)
            _, stdout, stderr = (file.read() for file in files)
        return subprocess.CompletedProcess(list(command), status, stdout, stderr)


class Python(Runner):
    """A process that has imported some modules. It runs one program at a time: `sys.executable`, perhaps `-u`, then a
    script, `-m` and a module or `-c` and code, then arguments.

    It is a fork of a server that all processes of a test run share: the first to need it starts it, and it ends after
    the last. Its address is in Linux's abstract namespace, which has no files.
    """

    def __init__(self, *modules: str, **variables: str) -> None:
        kind = hashlib.sha256(repr((SESSION, modules, variables)).encode()).hexdigest()
        self._jobs = _connected(f"\0gpulint-tests-{kind}", modules, variables)
        self._answers = self._jobs.makefile("r", encoding="utf-8")
        atexit.register(self._end)
        assert self._answers.readline() == "ready\n", f"cannot be imported: {modules}"

    def _end(self) -> None:
        self._answers.close()
        self._jobs.close()

    def start(self, program: Program, files: Sequence[int]) -> Running:
        assert program.command[0] == sys.executable
        job = {
            "command": list(program.command[1:]),
            "cwd": str(program.cwd),
            "env": {**os.environ, **program.env},
            "limits": list(program.limits),
        }
        socket.send_fds(self._jobs, [b"\n"], files)
        self._jobs.sendall(json.dumps(job).encode() + b"\n")
        return Running(int(self._answers.readline()), self._answers)


SESSION = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(16)
"""Names the test run of this process."""


def _connected(address: str, modules: Sequence[str], variables: Mapping[str, str]) -> socket.socket:
    """A connection to the server at an address, which is started if there is none."""
    while True:
        jobs = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(ConnectionRefusedError):
            jobs.connect(address)
            return jobs
        jobs.close()
        with socket.socket(socket.AF_UNIX) as listening:
            try:
                listening.bind(address)
            except OSError:  # another process was quicker
                time.sleep(0.01)
                continue
            listening.listen()
            subprocess.Popen(
                [sys.executable, __file__, str(listening.fileno()), *modules],
                env={**os.environ, **QUIET, **variables},
                pass_fds=[listening.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )


class Fresh(Runner):
    """Runs each program in a process of its own, which imports everything itself."""

    def start(self, program: Program, files: Sequence[int]) -> subprocess.Popen[bytes]:
        stdin, stdout, stderr = files
        return subprocess.Popen(
            program.command,
            cwd=program.cwd,
            env={**os.environ, **program.env},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            preexec_fn=(lambda: _limit(program.limits)) if program.limits else None,
        )


def with_tensorflow(**variables: str) -> Python | Fresh:
    """A process that has imported TensorFlow with some environment variables. Its forks read `/proc`, which only Linux
    has."""
    if sys.platform != "linux":
        return Fresh()
    return Python("tensorflow", "gpulint.cli.main", "gpulint.cli.estimate", *_AGENT, *_of_a_check(), **variables)


_AGENT = (
    *("gpulint.cli.probe", "gpulint.probe.launch.program", "gpulint.probe.cluster.local", "gpulint.probe.report.text"),
    *("gpulint.probe.agent.running", "pynvml"),
)


def _of_a_check() -> list[str]:
    """What a check imports: the shipped rules, both parsers, the cache and the form of the report."""
    found = [
        "gpulint.cli.check",
        "gpulint.caching.cache",
        "gpulint.output.formats.text",
        "libcst.native",
        "platformdirs",
    ]
    for name in ("gpulint.linting", "gpulint.rules", "gpulint.syntax"):
        package = find_spec(name)
        assert package is not None
        found += [one.name for one in pkgutil.walk_packages(package.submodule_search_locations, f"{name}.")]
    return [*found, "libcst.matchers"]


@cache
def python() -> Python | Fresh:
    """The process of this test session that has imported TensorFlow; it ends with the session."""
    return with_tensorflow()


@cache
def simulating() -> Python | Fresh:
    """The process that has imported TensorFlow as a simulation does, without oneDNN, which compiles kernels for each
    shape: a fifth of a small program's time."""
    return with_tensorflow(TF_ENABLE_ONEDNN_OPTS="0")


@cache
def gpulint() -> Python | Fresh:
    """The process of this test session that has imported `gpulint check` and, with their extras, `gpulint probe` and
    `gpulint server`, without TensorFlow."""
    if sys.platform != "linux":
        return Fresh()
    probe = _AGENT if find_spec("psutil") is not None else ()
    server = ("gpulint.cli.server", "gpulint.server.handlers") if find_spec("pygls") is not None else ()
    return Python("gpulint.cli.main", *_of_a_check(), *probe, *server)


class _Imported(MetaPathFinder, Loader):
    """Gives a program that imports TensorFlow or Keras the module that the parent has imported."""

    def __init__(self) -> None:
        self._modules = {name: sys.modules.pop(name) for name in ("tensorflow", "keras") if name in sys.modules}
        self._specs = {name: module.__spec__ for name, module in self._modules.items()}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._modules:
            return None
        module = self._modules[fullname]
        spec = ModuleSpec(fullname, self, origin=module.__file__, is_package=True)
        spec.submodule_search_locations = [os.path.dirname(str(module.__file__))]
        return spec

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        module.__spec__ = self._specs[name]
        for other in self._modules.keys() - {name}:
            importlib.import_module(other)  # as each of them does


def _run(job: dict[str, Any], files: Sequence[int]) -> NoReturn:
    """Run a program in this process, with the directory and environment of a job and these standard streams."""
    signal.alarm(SECONDS)
    _limit(job["limits"])
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    tempfile.tempdir = None
    for stream, file in enumerate(files):
        os.dup2(file, stream)
        os.close(file)
    _open_streams()
    if launcher := sys.modules.get("gpulint.probe.launch.program"):
        launcher.subprocess = types.SimpleNamespace(Popen=_Forked)  # type: ignore[attr-defined]
    _execute(job["command"])


def _limit(limits: Limits) -> None:
    for limited, most in limits:
        resource.setrlimit(limited, (most, most))


def _open_streams() -> None:
    """Open the standard streams as Python does at its start: the objects of the parent process know whether its own
    streams can seek."""
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", errors="backslashreplace", buffering=1, closefd=False)


def _execute(command: Sequence[str]) -> NoReturn:
    """Run what the command line of Python says, then end this process as Python would."""
    if not any(isinstance(finder, _Imported) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Imported())
    status: object = 0
    try:
        _interpret(command)
    except SystemExit as end:
        status = end.code
    except BaseException as error:
        sys.excepthook(type(error), error.with_traceback(_of_program(error)), None)
        status = 1
    if not isinstance(status, int | None):
        print(status, file=sys.stderr)
        status = 1
    # Neither the callers' `finally` nor their files are this process's.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for output in (sys.stdout, sys.stderr):
        if not output.closed:
            output.flush()
    os._exit((status or 0) & 0xFF)


def _interpret(command: Sequence[str]) -> None:
    is_unbuffered = command[0] == "-u"
    for output in (sys.stdout, sys.stderr):
        assert isinstance(output, io.TextIOWrapper)
        output.reconfigure(write_through=is_unbuffered)
    first, *arguments = command[is_unbuffered:]
    if first == "-m":
        sys.argv, sys.path = arguments, [os.getcwd(), *PATH]
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        return
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    if first == "-c":
        sys.argv, sys.path = [first, *arguments[1:]], ["", *PATH]
        code = compile(arguments[0], "<string>", "exec", dont_inherit=True)
    else:
        sys.argv, sys.path = [first, *arguments], [os.path.dirname(os.path.realpath(first)), *PATH]
        module.__file__ = os.path.abspath(first)
        code = compile(Path(first).read_bytes(), module.__file__, "exec", dont_inherit=True)
    exec(code, module.__dict__)


class _Forked:
    """What `gpulint.probe.launch.program` uses of Popen, for a Python program: a fork in place of a new process."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: int | None,
        stdout: int | None,
        stderr: int | None,
        env: Mapping[str, str] | None,
        close_fds: bool,
    ) -> None:
        assert command[0] == sys.executable
        assert not close_fds
        self.returncode: int | None = None
        self._lock = threading.Lock()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            for number in signal.valid_signals():
                if callable(signal.getsignal(number)) and number != signal.SIGINT:
                    signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.set_wakeup_fd(-1)
            for stream, file in enumerate((stdin, stdout, stderr)):
                if file is not None:
                    os.dup2(file, stream)
            for name in os.listdir("/proc/self/fd"):  # those that exec would close
                with contextlib.suppress(OSError):
                    if int(name) > 2 and not os.get_inheritable(int(name)):
                        os.close(int(name))
            if env is not None:
                os.environ.clear()
                os.environ.update(env)
                tempfile.tempdir = None
            for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
                finalizer.atexit = False  # temporary directories of the launcher
            _execute(command[1:])

    def wait(self) -> int:
        status = os.waitpid(self.pid, 0)[1]
        self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # as Popen does
            if self.returncode is None:
                os.kill(self.pid, number)


def _of_program(error: BaseException) -> types.TracebackType | None:
    """The traceback of an error without the frames of this file."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename == __file__:
        frame = frame.tb_next
    return frame


def serve(listening: socket.socket) -> None:
    """Fork a process for each connection; return after the last of them has ended."""
    processes: set[int] = set()
    while True:
        if select.select([listening], [], [], 0.2 if processes else SECONDS)[0]:
            jobs = listening.accept()[0]
            if not (process := os.fork()):
                listening.close()
                main(jobs)
                os._exit(0)
            jobs.close()
            processes.add(process)
        processes = {process for process in processes if not os.waitpid(process, os.WNOHANG)[0]}
        if not processes:
            return


def main(jobs: socket.socket) -> None:
    """Receive jobs, each with three open files; answer with the process that runs it, and with its status at its
    end."""
    lines = jobs.makefile("r", encoding="utf-8")
    jobs.sendall(b"ready\n")
    while files := socket.recv_fds(jobs, 1, 3)[1]:
        job = json.loads(lines.readline())
        child = os.fork()
        if not child:
            lines.close()
            jobs.close()
            _run(job, files)
        for file in files:
            os.close(file)
        jobs.sendall(f"{child}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        jobs.sendall(f"{child} {status}\n".encode())


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    PATH = sys.path[1:]
    gc.freeze()  # a collection in a fork would copy the memory of all that has been imported
    serve(socket.socket(fileno=int(sys.argv[1])))
