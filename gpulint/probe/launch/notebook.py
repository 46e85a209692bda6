"""Runs a notebook as Jupyter would, with the agent in its kernel: `python -u notebook.py OPTIONS NOTEBOOK`.

The notebook file is never written. The kernel runs in its directory, cell output is printed as it arrives, and an error
in a cell makes the exit status 1.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    del sys.path[0]  # this directory: its modules must not shadow others

import json
import os
import re
import signal
import warnings
from collections.abc import Sequence
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from gpulint.probe import agent

_COLORS = re.compile(r"\x1b\[[0-9;]*m")


class _Specs(KernelSpecManager):
    """A registry with one kernel: this Python under the agent."""

    def __init__(self, options: str, notebook: str) -> None:
        super().__init__()
        main = os.path.join(os.path.dirname(agent.__file__), "__main__.py")
        self._command = [sys.executable, "-u", main, options, "--kernel", notebook, "{connection_file}"]

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(argv=self._command, display_name="Python", language="python", name=kernel_name)


class Client(NotebookClient):
    """Runs the cells in order and prints their output without keeping it."""

    specs: _Specs
    shown_path: str

    def create_kernel_manager(self) -> Any:
        self.km = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=self.specs)
        return self.km

    def output(self, outs: Any, msg: Any, display_id: str, cell_index: int) -> None:
        content = msg["content"]
        if msg["msg_type"] == "stream":
            _write(sys.stderr if content["name"] == "stderr" else sys.stdout, content["text"])
        elif msg["msg_type"] == "error":
            self._show_error(content, cell_index)
        elif (text := content.get("data", {}).get("text/plain")) is not None:
            _write(sys.stdout, f"{text}\n")

    def _show_error(self, content: Any, cell_index: int) -> None:
        if content["ename"] != "SystemExit":
            text = "\n".join([f"{self.shown_path}:cell {cell_index + 1}", *content["traceback"]])
            _write(sys.stderr, f"{text if sys.stderr.isatty() else _COLORS.sub('', text)}\n")

    def signal_kernel(self, number: int, frame: object) -> None:
        """Forwards a signal to the kernel process, which is in its own session."""
        pid = getattr(getattr(self.km, "provisioner", None), "pid", None)
        if pid is not None:
            os.kill(pid, number)


def main(arguments: Sequence[str]) -> int:
    """Runs the notebook and returns its exit status, as for a script."""
    options, path = arguments[0], os.path.abspath(arguments[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbformat warns of cells without ids
        notebook = nbformat.read(path, as_version=4)
    client = Client(notebook, resources={"metadata": {"path": os.path.dirname(path)}}, timeout=None)
    client.specs, client.shown_path = _Specs(options, path), arguments[1]
    if hasattr(signal, "SIGUSR2"):
        signal.signal(signal.SIGUSR2, client.signal_kernel)
    try:
        client.execute()
    except CellExecutionError as error:
        if error.ename == "SystemExit":
            return int(error.evalue) if error.evalue.isdecimal() else int(error.evalue not in ("", "None"))
        return 1
    except DeadKernelError:
        if not json.loads(options).get("extension"):  # an extension may end the program on purpose, and says so itself
            _write(sys.stderr, "gpulint: the notebook's kernel died\n")
        return 1
    return 0


def _write(stream: Any, text: str) -> None:
    stream.write(text)
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
