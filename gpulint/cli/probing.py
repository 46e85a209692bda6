"""Running the user's program for `gpulint probe`."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec

from gpulint.cli import options
from gpulint.cli.extras import install
from gpulint.cli.options import UserError
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import read
from gpulint.probe.cluster.folder import capture_of
from gpulint.probe.cluster.joined import joined
from gpulint.probe.launch import preflight
from gpulint.probe.launch.command import Simulated, Target, command_line
from gpulint.settings import Settings, SettingsFinder
from gpulint.sources.decoding import Undecodable
from gpulint.sources.notebook import PYTHON_2, read_notebook


def probed(
    target: Target,
    finder: SettingsFinder,
    capture_path: str | None,
    settings: Settings,
    no_jit: bool,
    simulated: Simulated,
    profile_steps: int,
    traces: str,
    local_workers: int | None,
) -> Capture:
    """The capture of a run that shares this process's streams. `traces` is a directory for traces of TensorFlow's
    profiler, "" to keep none. Raises UserError if the program cannot be started."""
    if sys.platform == "win32":
        raise UserError("probe needs Linux or macOS to run a program; --replay, --compare, --merge and --log do not")
    from gpulint.probe.cluster import local
    from gpulint.probe.launch import program as launch  # needs pseudo-terminals, which only POSIX has
    from gpulint.probe.launch.channel import standard_error
    from gpulint.probe.launch.progress import ProgressLine
    from gpulint.probe.measures.cards import Cards

    require_program(target)
    if target.is_notebook and local_workers is not None:
        raise UserError(f"{target.name}: a notebook is one program; --local-workers needs a script or a module")
    opened = Cards.open()
    cards = opened if isinstance(opened, Cards) else None
    gpus = simulated.gpus or preflight.gpus_here(cards, os.environ)
    if gpus is not None and not target.is_module:
        for line in preflight.missing_devices(target.name, finder, gpus):
            options.say(line)
    environment = simulated.environment(os.environ)
    timeout, hang_after = settings.probe.timeout or None, settings.probe.hang_after or None

    def command(path: str) -> list[str]:
        return command_line(target, path, settings.probe.steps, settings.probe.warmup, no_jit, simulated, profile_steps)

    with tempfile.TemporaryDirectory(prefix="gpulint-") as temporary:
        if local_workers is not None:
            shared = 0 if simulated.gpus else gpus or 0
            for line in local.startup_warnings(local_workers, shared, environment):
                options.say(line)
            directory = os.path.abspath(capture_path or temporary)
            os.makedirs(directory, exist_ok=True)
            job = local.Job(command, target.words, environment)
            result = local.run(local_workers, job, directory, gpus=shared, timeout=timeout, hang_after=hang_after)
            faults, capture = result.faults, joined(result.members)
        else:
            path, worker = capture_of(capture_path or f"{temporary}/", environment)
            if worker is None and capture_path and os.path.dirname(path) == os.path.abspath(capture_path):
                options.say(f"the environment does not say which worker this is; its capture is {path}")
            ended = launch.run(
                command(path),
                capture_path=path,
                program=target.words,
                environment=environment,
                timeout=timeout,
                hang_after=hang_after,
                progress=ProgressLine.on(standard_error()),
                cards=cards,
                worker=worker,
                traces=traces,
            )
            faults, capture = list(ended.faults), read(path)
    for fault in faults:
        options.say(fault)
    if traces and not os.listdir(traces):
        options.say("no profile was written: there was no training step after the warm-up")
    return capture


def target_of(script: str | None, module: str | None, arguments: tuple[str, ...]) -> Target:
    """The program that the command line names; behind `-m MODULE` every word is the program's."""
    if module is None:
        return Target(script or "", arguments=arguments)
    return Target(module, True, (script, *arguments) if script else arguments)


def require_program(target: Target) -> None:
    """Raises UserError if there is no such file, or if it is a notebook that cannot be run."""
    if not target.is_module and not os.path.isfile(target.name):
        is_option = target.name.startswith("-")
        what = "no such option, and no such file" if is_option else "no such file"
        what = "a folder; name a script in it" if os.path.isdir(target.name) else what
        raise UserError(f"{target.name}: {what}")
    if not target.is_notebook:
        return
    if target.arguments:
        raise UserError(f"{target.name}: a notebook takes no arguments")
    try:
        with open(target.name, "rb") as file:
            notebook = read_notebook(target.name, file.read())
    except Undecodable as error:
        raise UserError(f"{target.name}:{error.row}:{error.column}: {error.message}") from None
    if not notebook.is_python or notebook.language == PYTHON_2:
        raise UserError(f"{target.name}: its kernel is {notebook.language}; only Python 3 can be probed")
    missing = [name for name in ("nbclient", "nbformat", "ipykernel") if find_spec(name) is None]
    if missing:
        needed = f"needs {' and '.join(missing)} to be run: {install('notebook')}"
        raise UserError(f"{target.name}: a notebook {needed}")
