"""Device names as TensorFlow parses them.

The grammar is that of `DeviceSpec.from_string`, run on TensorFlow 2.16 and 2.21: parts separated by "/", each
`job:NAME`, `replica:N`, `task:N`, `device:TYPE:N`, or a short `cpu`, `gpu`, `tpu` in any case with an optional `:N`. An
index may be `*`. `device:GPU` without an index raises. A negative index is accepted by the parser and raises at the
first operation, so it counts as malformed.
"""

from __future__ import annotations

from dataclasses import dataclass

_SHORT_TYPES = frozenset({"CPU", "GPU", "TPU", "TPU_SYSTEM"})


@dataclass(frozen=True, slots=True)
class DeviceName:
    """Parsed device name.

    `type` is upper case, or "" if there is none. `index` is None if it is missing or `*`. A missing `job` is "", a
    missing `task` None.
    """

    type: str
    index: int | None
    job: str = ""
    task: int | None = None

    @property
    def is_gpu(self) -> bool:
        return self.type == "GPU"

    @property
    def is_cpu(self) -> bool:
        return self.type == "CPU"

    def __str__(self) -> str:
        prefix = f"/job:{self.job}" if self.job else ""
        if self.task is not None:
            prefix += f"/task:{self.task}"
        index = "" if self.index is None else f":{self.index}"
        return f"{prefix}/{self.type}{index}" if self.type else prefix or "/"


def _index(text: str) -> int | None:
    """Number in an index part, None for `*`. Raises `ValueError` for anything else, including negative numbers."""
    if text == "*":
        return None
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def parse_device(text: str) -> DeviceName | None:
    """Device that `text` names, None where TensorFlow raises for it."""
    kind, index, job, task = "", None, "", None
    try:
        for part in text.split("/"):
            name, *rest = part.split(":")
            if name == "":
                continue
            if (name == "device" and len(rest) == 2) or (name.upper() in _SHORT_TYPES and len(rest) < 2):
                if kind:
                    return None
                kind = (rest[0] if name == "device" else name).upper()
                number = rest[1:] if name == "device" else rest
                index = _index(number[0]) if number else None
            elif len(rest) != 1:
                return None
            elif name == "job":
                job = rest[0]
            elif name == "task":
                task = _index(rest[0])
            elif name == "replica":
                _index(rest[0])
            else:
                return None
    except ValueError:
        return None
    return DeviceName(kind, index, job, task)
