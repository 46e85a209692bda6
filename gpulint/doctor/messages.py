"""Parses TensorFlow's log about finding GPUs.

Two messages need a higher log level: libraries that failed to load (`dso_loader`, at WARNING before 2.12 and at level 1
since) and cards found (`gpu_device`, level 1). `LEVELS` enables both; tested on 2.21. Sources of others:
tensorflow#4349 (versions), #60913 (cuDNN).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpulint.probe.measures.cards import bus_id
from gpulint.probe.placement_log.hints import hints
from gpulint.probe.placement_log.records import Created, Hint

LEVELS = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "dso_loader=1,gpu_device=1"}

_LIBRARY = re.compile(
    r"Could not load dynamic library '([^']+)'; dlerror: (.*?)(?:; LD_LIBRARY_PATH:.*)?$", re.MULTILINE
)
_CUINIT = re.compile(
    r"failed call to cuInit: (?:INTERNAL: CUDA error: Failed call to cuInit: )?(.+?)\s*$", re.MULTILINE
)
_VERSIONS = re.compile(r"kernel version ([\d.]+) does not match DSO version ([\d.]+)")
_FOUND = re.compile(r"pciBusID: (\S+) name: (.+?) computeCapability: (\d+)\.(\d+)")
_CUDNN = re.compile(r"Loaded runtime CuDNN library: ([\d.]+) but source was compiled with: ([\d.]+)")
_FLAG = re.compile(r"Unknown flags? in (\w*XLA_FLAGS): (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FoundCard:
    """A card that TensorFlow found, before it ignored any."""

    bus: str
    name: str
    capability: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Messages:
    """`not_loaded` maps a library to the loader's message. `cuinit` is the driver's refusal, "" for none. `versions`
    are those of the kernel module and libcuda if they differ, `cudnn` those at run time and at build time."""

    not_loaded: dict[str, str]
    skipped: bool
    cuinit: str
    versions: tuple[str, str] | None
    found: tuple[FoundCard, ...]
    created: tuple[Created, ...]
    ignored: tuple[str, ...]
    cudnn: tuple[str, str] | None
    unknown_flag: tuple[str, str] | None


def read(log: str) -> Messages:
    """The messages in a log, without repetitions."""
    records = [record for line in log.splitlines() for record in hints(f"{line}\n".encode())]
    cuinit = _CUINIT.search(log)
    return Messages(
        not_loaded={found[1]: found[2].strip() for found in _LIBRARY.finditer(log)},
        skipped="Cannot dlopen some" in log or "Skipping registering GPU" in log,
        cuinit=cuinit[1] if cuinit else "",
        versions=_pair(_VERSIONS, log),
        found=tuple(
            dict.fromkeys(FoundCard(bus_id(one[1]), one[2], (int(one[3]), int(one[4]))) for one in _FOUND.finditer(log))
        ),
        created=tuple(dict.fromkeys(one for one in records if isinstance(one, Created))),
        ignored=tuple(
            dict.fromkeys(one.text for one in records if isinstance(one, Hint) and one.kind == "ignored gpu")
        ),
        cudnn=_pair(_CUDNN, log),
        unknown_flag=_pair(_FLAG, log),
    )


def _pair(pattern: re.Pattern[str], log: str) -> tuple[str, str] | None:
    found = pattern.search(log)
    return (found[1].rstrip("."), found[2].rstrip(".")) if found else None
