"""Translates device names between the program, which has GPUs, and the runtime, which has logical CPUs.

The program's `GPU:k` is the runtime's `CPU:c+k`, where c is the program's own number of logical CPUs (one, unless it
splits its CPU).
"""

from __future__ import annotations

import re

_KIND = re.compile(r"(?:^|/)(?:device:)?(cpu|gpu)(?::(\d+|\*))?(?=/|$)", re.IGNORECASE)
"""Type and index within a device name: `/gpu:0`, `GPU:1`, `/device:GPU:*`, `…/task:0/device:GPU:0`."""

_IN_TEXT = re.compile(r"(device:)CPU:(\d+)", re.IGNORECASE)
_OF_A_TYPE = "device:"

_NOT_THERE = re.compile(
    r"(?P<node>\{\{node \S+\}\}) was explicitly assigned to (?P<asked>\S+) but available devices are \[[^\]]*\]\. "
    r"Make sure the device specification refers to a valid device\.(?:\s+\[\[\S+\]\])?"
    r"|Unable to find any devices for spec (?P<spec>\S+)"
)
_WITHOUT_CUDA = " The requested device appears to be a GPU, but CUDA is not enabled."

_LOCAL = "/job:localhost/replica:0/task:0"


class Names:
    """Translates names in both directions. Always returns `str` and never raises."""

    def __init__(self) -> None:
        self.cpus = 1
        """The program's own logical CPUs."""
        self.gpus = 0
        """Simulated logical GPUs."""
        self.head = ""
        """Job, replica and task of this process, such as `/job:localhost/replica:0/task:0`, once the runtime is up."""
        self._seen: dict[str, str] = {}

    def set(self, cpus: int, gpus: int) -> None:
        """Sets the number of logical devices. Fixed once the runtime is up."""
        if (cpus, gpus) != (self.cpus, self.gpus):
            self.cpus, self.gpus = cpus, gpus
            self._seen.clear()

    def seen(self, name: str) -> str:
        """The program's name of a runtime device."""
        known = self._seen.get(name)
        if known is None:
            known = self._seen[name] = self.text(name)
        return known

    def text(self, text: str) -> str:
        """A text of the runtime with the program's names."""

        def translate(found: re.Match[str]) -> str:
            index = int(found[2])
            return f"{found[1]}GPU:{index - self.cpus}" if self.cpus <= index < self.cpus + self.gpus else found[0]

        return _IN_TEXT.sub(translate, text)

    def message(self, text: str) -> str:
        """An error message with the program's names, as a GPU build words it. In a graph, an operation without a GPU
        kernel was assigned to a GPU that the runtime lacks."""

        def lacks_kernel(found: re.Match[str]) -> str:
            asked = found["asked"] or found["spec"]
            head = asked.partition("/device:")[0].split("/")
            if self.gpu(asked) is None or not all(part in (self.head or _LOCAL) for part in head):
                return found[0]
            reason = "because no supported kernel for GPU devices is available."
            node = f"\n\t [[{found['node']}]]" if found["node"] else ""
            return f"Could not satisfy explicit device specification '{asked}' {reason}{node}"

        return _NOT_THERE.sub(lacks_kernel, self.text(text).replace(_WITHOUT_CUDA, ""))

    def gpu(self, name: str) -> int | None:
        """Index of the simulated GPU in a program's name, or None."""
        found = _KIND.search(name)
        if found is None or found[1].upper() != "GPU":
            return None
        index = _index(found)
        return index if index < self.gpus else None

    def says_kind(self, name: str) -> bool:
        """Whether a name specifies CPU or GPU."""
        return _KIND.search(name) is not None

    def real(self, asked: str, has_kernel: bool, soft: bool) -> str:
        """The runtime device for an operation with the requested device `asked` ("": none).

        Follows TensorFlow's placer: an operation without a kernel, or with a missing device, goes to another device if
        placement is `soft`; otherwise the name is unchanged, so that TensorFlow raises its own error. GPU:0 takes
        precedence over CPUs (`SortedDevicesByPriority`).
        """
        if not self.gpus:
            return asked
        found = _KIND.search(asked)
        if found is None:
            of_another_type = _OF_A_TYPE in asked.lower()
            return asked if of_another_type or not has_kernel else f"{asked or self.head}/device:CPU:{self.cpus}"
        head = asked[: found.start()] + asked[found.end() :]
        index = _index(found)
        if found[1].upper() == "CPU":
            if index < self.cpus:
                return asked
            if not soft:
                return f"{head}/device:CPU:{self.cpus + self.gpus + index}"  # does not exist
        elif index < self.gpus and has_kernel:
            return f"{head}/device:CPU:{self.cpus + index}"
        elif not soft:
            return asked
        return f"{head}/device:CPU:{self.cpus if has_kernel else 0}"


def _index(found: re.Match[str]) -> int:
    return int(found[2]) if found[2] and found[2] != "*" else 0
