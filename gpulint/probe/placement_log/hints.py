"""Lines of TensorFlow about devices that stay in the output: GPUs created or refused, libraries that failed to load,
out of memory.

Messages about GPUs are taken from public logs and issues: `Created device …` (since 2.5, without a capability on AMD
GPUs), `Created TensorFlow device …` (1.5 to 2.4, tensorflow#31969, #62170), `Creating …` (earlier), refusals
(tensorflow#473, #32569, #43104) and failed loads (NVIDIA/tensorflow#110).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.probe.placement_log.grammar import HEADER
from gpulint.probe.placement_log.records import Created, Hint, HintKind, OutOfMemory, Record

_PCI = rb"(?P<pci>[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F]{2}\.[\da-fA-F]|<undefined>)"
_CARD = rb"device: (?P<physical>\d{1,18}), name: (?P<name>[^\r\n]+?), pci bus id: " + _PCI
_CAPABILITY = rb"(?:, ?compute capability: (?P<capability>\d+\.\d+))?"
_DEVICE = rb"(?P<device>(?:/job:\w+/replica:\d+/task:\d+)?/(?:device:[A-Za-z]\w*|gpu):\d+)"

_CREATED = (
    re.compile(
        rb"Created device " + _DEVICE + rb" with (?P<memory>\d{1,18}) MB memory: +-> "
        + _CARD + _CAPABILITY + rb"(?:\x1b\[[\d;]*[A-Za-z])*\r?\n"
    ),
    re.compile(
        rb"Created TensorFlow device \(" + _DEVICE + rb" with (?P<memory>\d{1,18}) MB memory\) -> physical \w+ \("
        + _CARD + _CAPABILITY + rb"\)"
    ),
    re.compile(rb"Creating TensorFlow device \(" + _DEVICE + rb"\)(?P<memory>) -> \(" + _CARD + _CAPABILITY + rb"\)"),
)  # fmt: skip

_OUT_OF_MEMORY = re.compile(
    rb"OOM when allocating tensor (?:with shape|of shape )\[(?P<shape>(?:\d{1,18}(?:,\d{1,18})*)?)\]"
    rb"(?: and type (?P<dtype>\w+)(?: on (?P<device>/[\w:/]+:\d+) by allocator (?P<allocator>\w+))?)?"
    rb"(?! and type| on )(?=[\s\[.,;\x1b]|\Z)"
)

_HINTS: tuple[tuple[bytes, HintKind], ...] = (
    (b"Ignoring visible gpu device", "ignored gpu"),
    (b"Ignoring gpu device", "ignored gpu"),
    (b"Adding visible gpu devices:", "visible gpus"),
    (b"Could not load dynamic library", "library"),
    (b"Could not dlopen library", "library"),
    (b"Couldn't open CUDA library", "library"),
    (b"Cannot dlopen some", "library"),
    (b"Skipping registering GPU", "library"),
    (b"failed call to cuInit", "driver"),
    (b"Could not find cuda drivers", "driver"),
    (b"Could not find CUDA drivers", "driver"),
    (b"Compiled cluster using XLA!", "xla"),
    (b"ran out of memory trying to allocate", "memory"),
    (b"Ignoring device specification", "ignored device"),
    (b"CUPTI_ERROR", "profiler"),
    (b"CUPTI could not be loaded", "profiler"),
)

MARKS = (b"TensorFlow device (", b"Created device ", b"OOM when allocating", *(words for words, _ in _HINTS))
"""Every line with such a message contains one of these."""


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")


def hints(line: bytes) -> Iterator[Record]:
    """The hints in a line; none if the message is cut off."""
    for pattern in _CREATED:
        if found := pattern.search(line):
            memory = int(found["memory"]) if found["memory"] else None
            yield Created(
                _text(found["device"]),
                memory,
                int(found["physical"]),
                _text(found["name"]),
                _text(found["pci"]),
                _text(found["capability"]),
            )
    if b"OOM when" in line and (found := _OUT_OF_MEMORY.search(line)):
        shape = tuple(int(size) for size in found["shape"].split(b",") if size)
        yield OutOfMemory(shape, _text(found["dtype"]), _text(found["device"]), _text(found["allocator"]))
    if line.endswith(b"\n"):
        for words, kind in _HINTS:
            if words in line:
                header = HEADER.search(line)
                yield Hint(kind, _text(line[header.end() if header else 0 :]).strip())
                return
