"""A process and its descendants: memory, processor time, end."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psutil

_REFRESH = 5.0
"""Seconds between two searches for new descendants: each reads every process of the system."""

_REFUSED = (psutil.Error, OSError)

_LIBRARY = b"/libtensorflow_framework."
"""Mapped into every process that has imported TensorFlow, and into its forks (2.16, 2.21)."""


class ProcessTree:
    """The tree below a process. Known descendants stay in it after their parent has ended."""

    def __init__(self, pid: int) -> None:
        self._members: dict[int, psutil.Process] = {}
        self._spent: dict[int, float] = {}
        self._refreshed = float("-inf")
        self.with_tensorflow: set[int] = set()
        """Pids of processes that had TensorFlow mapped; empty where the system does not tell."""
        try:
            self._members[pid] = psutil.Process(pid)
        except _REFUSED:
            pass  # it has already ended

    def sample(self) -> tuple[int, float]:
        """Resident bytes now, and processor seconds since the last sample.

        Shared pages count once per process.
        """
        if time.monotonic() - self._refreshed >= _REFRESH:
            self.look()
        resident, spent = 0, 0.0
        for pid, process in list(self._members.items()):
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    resident += process.memory_info().rss
            except psutil.NoSuchProcess:
                del self._members[pid]
                self._spent.pop(pid, None)
                continue
            except _REFUSED:
                continue
            if pid not in self.with_tensorflow and _has_tensorflow(pid):
                self.with_tensorflow.add(pid)
            total = times.user + times.system
            spent += max(0.0, total - self._spent.get(pid, 0.0))
            self._spent[pid] = total
        return resident, spent

    @property
    def pids(self) -> frozenset[int]:
        """Pids of the known processes."""
        return frozenset(self._members)

    def kill(self) -> None:
        """Kills every process of the tree."""
        self.look()
        for process in self._members.values():
            try:
                process.kill()  # psutil refuses if the pid has been reused
            except _REFUSED:
                continue

    def look(self) -> None:
        """Looks for new descendants, including those whose parent has ended."""
        self._refreshed = time.monotonic()
        for process in list(self._descendants()):
            self._members.setdefault(process.pid, process)

    def _descendants(self) -> Iterator[psutil.Process]:
        for process in list(self._members.values()):
            try:
                if process.ppid() not in self._members:
                    yield from process.children(recursive=True)
            except _REFUSED:
                continue


def _has_tensorflow(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return any(_LIBRARY in line for line in file)
    except OSError:
        return False  # not Linux, or the process has ended
