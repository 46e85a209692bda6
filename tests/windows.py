"""Runs gpulint's command as Windows would limit it: `python -m tests.windows check train.py`.

Windows has no fork, none of the modules below and fewer signals, and refuses threads with a stack of 256 MiB or more.
`sys.platform` says so to everything that is imported after the libraries, which would look for DLLs.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading

LIBRARIES = (
    *("asyncio", "click", "ctypes", "email", "http.client", "importlib.metadata", "libcst", "lsprotocol.types"),
    *("multiprocessing.connection", "multiprocessing.context", "multiprocessing.popen_spawn_posix", "pathlib"),
    *("platformdirs", "psutil", "pygls.lsp.server", "rich.console", "shutil", "subprocess", "tempfile", "uuid"),
)

MISSING_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")

MISSING = {
    os: (
        *("fork", "forkpty", "getuid", "geteuid", "killpg", "openpty", "register_at_fork", "sched_getaffinity"),
        "setsid",
    ),
    signal: ("SIGPROF", "SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "setitimer", "ITIMER_PROF", "alarm"),
}

LARGEST_STACK = 256 * 1024 * 1024


def limit() -> None:
    """Impose the limits on this process."""
    for name in LIBRARIES:
        importlib.import_module(name)
    for name in MISSING_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in MISSING.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    stack_size = threading.stack_size

    def limited(size: int = 0) -> int:
        if size >= LARGEST_STACK:
            raise ValueError("size not valid: 256 MiB or more")
        return stack_size(size)

    threading.stack_size = limited  # type: ignore[assignment]
    sys.platform = "win32"


if __name__ == "__main__":
    limit()
    from gpulint.cli.main import main

    main()
