"""A notebook's kernel in this process."""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.cells import Cells
from gpulint.probe.agent.hidden_frames import forget_frames
from gpulint.probe.agent.places import Places
from gpulint.sources.notebook import read_notebook


def run_kernel(
    notebook: str, connection: str, places: Places, fault: Callable[[str, BaseException], None]
) -> BaseException | None:
    """Run the cells of the notebook at a path until the kernel is shut down. Returns the last cell's exception."""
    from ipykernel.kernelapp import IPKernelApp

    launcher = importlib.util.find_spec("ipykernel_launcher")
    sys.argv[:] = [launcher.origin if launcher is not None and launcher.origin else "ipykernel", "-f", connection]
    application: Any = IPKernelApp.instance()
    application.log_level = logging.ERROR
    application.capture_fd_output = False  # output that bypasses Python goes to the streams of a script
    application.initialize(["-f", connection])
    shell = application.shell
    raised: list[BaseException | None] = [None]

    def ran(result: Any) -> None:
        raised[0] = result.error_before_exec or result.error_in_exec

    show = shell.showtraceback

    @functools.wraps(show)
    def shown(*arguments: Any, **keywords: Any) -> Any:
        if (error := sys.exc_info()[1]) is not None:
            forget_frames(error)
        return show(*arguments, **keywords)

    shell.events.register("post_run_cell", ran)
    shell.showtraceback = shown
    try:
        with open(notebook, "rb") as file:
            Cells(read_notebook(os.path.abspath(notebook), file.read()), places).watch(shell.compile, fault)
    except Exception as error:
        fault("cells", error)
    application.start()
    return raised[0]
