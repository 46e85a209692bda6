"""Shared libraries that TensorFlow's loader would open, from where, and other copies on this machine (ELF).

The dynamic loader searches the RPATH of the requesting library (only without a RUNPATH), LD_LIBRARY_PATH, the RUNPATH,
ld.so.cache and the system's directories: ld.so(8). It skips a file for another word size; any other broken file ends
the search.
"""

from __future__ import annotations

import ctypes
import glob
import os
import struct
from collections.abc import Callable
from typing import Any, BinaryIO

_ASKING = ("libtensorflow_framework.so.*", "libtensorflow_cc.so.*", "python/_pywrap_tensorflow_internal.so")
"""Libraries of the wheel that open CUDA's; which ones do differs between releases."""

_PLACES = (
    "/usr/local/cuda*/lib64",
    "/usr/local/cuda*/targets/*/lib",
    "/opt/cuda/lib64",
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
)
"""Where installers put CUDA's and the driver's libraries."""

_VERSIONS = {"libcudnn": "cudnnGetVersion"}
"""Functions that need no GPU and return a library's version as a number."""


def ask(write: Callable[[str, Any], None], names: list[str], package: str, wheels: list[str]) -> None:
    """Writes a `library` for each name, and `begin` before it: opening one can kill the process."""
    rpath, runpath = _search_path(package)
    given = [part for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    looked = _unique([*([] if runpath else rpath), *given, *runpath])
    prefix = os.environ.get("CONDA_PREFIX")
    places = [*wheels, *(path for place in _PLACES for path in sorted(glob.glob(place)))]
    places += [os.path.join(prefix, "lib")] if prefix else []
    for name in names:
        write("begin", name)
        path, error, version = _open(name, looked)
        found = [] if path else [file for place in places for file in sorted(glob.glob(_stem(place, name)))]
        write(
            "library",
            {
                "name": name,
                "path": path,
                "error": error,
                "version": version,
                "looked": looked,
                "present": [directory for directory in looked if os.path.isdir(directory)],
                "elsewhere": _unique(file for file in found if os.path.basename(file) == name),
                "others": _unique(os.path.realpath(file) for file in found if os.path.basename(file) != name),
            },
        )


def _stem(place: str, name: str) -> str:
    return os.path.join(place, name.partition(".so")[0] + ".so*")


def _unique(paths: Any) -> list[str]:
    return list(dict.fromkeys(paths))


def _open(name: str, looked: list[str]) -> tuple[str, str, int]:
    """The path, or "" with the error, and the version if the library has a function for it, else 0."""
    for directory in looked:
        path = os.path.join(directory, name)
        if not os.path.exists(path):
            continue
        try:
            mode = getattr(os, "RTLD_LAZY", 0) | getattr(os, "RTLD_LOCAL", 0)  # Windows has neither
            library = ctypes.CDLL(path, mode=mode)
        except OSError as error:
            if "wrong ELF class" in str(error):
                continue
            return "", str(error), 0
        return path, "", _version(library, name)
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        return "", str(error), 0
    return _mapped(name), "", _version(library, name)


def _version(library: Any, name: str) -> int:
    function = getattr(library, _VERSIONS.get(name.partition(".so")[0], ""), None)
    if function is None:
        return 0
    function.restype = ctypes.c_size_t
    return int(function())


def _mapped(name: str) -> str:
    """The path of an open library; its name if the path is not visible."""
    stem = name.partition(".so")[0]
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            for row in file:
                path = row.rstrip("\n").partition("/")
                if os.path.basename(path[2]).startswith(stem + ".so"):
                    return "/" + path[2]
    except OSError:
        pass
    return name


def _search_path(package: str) -> tuple[list[str], list[str]]:
    """The directories in RPATH and RUNPATH of TensorFlow's libraries."""
    rpath: list[str] = []
    runpath: list[str] = []
    for pattern in _ASKING if package else ():
        for path in sorted(glob.glob(os.path.join(package, pattern))):
            try:
                with open(path, "rb") as file:
                    found = _dynamic(file)
            except (OSError, struct.error):
                continue
            for row, into in ((15, rpath), (29, runpath)):
                for part in found.get(row, "").split(":"):
                    if part:
                        origin = part.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", os.path.dirname(path))
                        into.append(os.path.normpath(origin))
    return _unique(rpath), _unique(runpath)


def _dynamic(file: BinaryIO) -> dict[int, str]:
    """DT_RPATH (15) and DT_RUNPATH (29) of a 64-bit little-endian ELF file: elf(5)."""
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        return {}
    table, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
    segments, dynamic = [], (0, 0)
    for number in range(count):
        file.seek(table + number * size)
        kind, _, offset, address, _, length = struct.unpack("<IIQQQQ", file.read(40))
        if kind == 1:
            segments.append((address, length, offset))
        elif kind == 2:
            dynamic = (offset, length)
    file.seek(dynamic[0])
    entries = dict(struct.iter_unpack("<qQ", file.read(dynamic[1] // 16 * 16)))
    texts = next((o + entries[5] - a for a, length, o in segments if 5 in entries and a <= entries[5] < a + length), -1)
    found = {}
    for tag in (15, 29):
        if tag in entries and texts >= 0:
            file.seek(texts + entries[tag])
            found[tag] = file.read(1 << 16).partition(b"\0")[0].decode("utf-8", "replace")
    return found
