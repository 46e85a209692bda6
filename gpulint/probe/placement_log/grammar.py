r"""The grammar of the lines that TensorFlow prints about devices. Seen in real runs unless it says otherwise.

| form | line | printed by |
|------|------|------------|
| A | `Device mapping:`, then `DEVICE -> device: …`; or `Device mapping: no known devices.` | sessions, 1.x to 2.21 |
| B | `NODE: (OP): DEVICE`, on standard output | the placer, 1.15 to 2.21 |
| C | `HEADER NODE: (OP): DEVICE`, on standard error | the placer, 1.15 to 2.21 |
| D | `HEADER Executing op OP in device DEVICE`; in notebooks without HEADER | eager execution, 2.0 to 2.21 |
| E | `HEADER? NODE: DEVICE`, old devices | 0.x (tensorflow#3727, #311: issues, not run) |
| F | `HEADER NODE: (OP)DEVICE` | 1.1 to 1.7 (tensorflow#18146, rstudio/tensorflow#171: issues, not run) |

DEVICE is `/job:localhost/replica:0/task:0/device:CPU:0`, before 1.4 `/job:localhost/replica:0/task:0/cpu:0`.
HEADER is one of

    2026-11-21 01:30:52.118471: I tensorflow/core/common_runtime/placer.cc:114]      1.x to 2.18
    I0000 00:00:1795224360.624055    5226 placer.cc:162]                             2.18 to 2.21
    I tensorflow/core/common_runtime/simple_placer.cc:818]                           0.x

The row behind the file differs in every release and means nothing. A terminal or a service may put colours around
a line and `\r` before its end.
"""

from __future__ import annotations

import re
from typing import TypeAlias

END = rb"(?:\x1b\[[\d;]*[A-Za-z])*\r?\n"
_COLOUR = rb"(?:\x1b\[[\d;]*[A-Za-z])*"

_NUMBER = rb"(?:0|[1-9][0-9]*)"
_TASK = rb"/job:[A-Za-z][A-Za-z0-9_]*/replica:" + _NUMBER + rb"/task:" + _NUMBER
_KIND = rb"(?:device:[A-Za-z][A-Za-z0-9_]*|cpu|gpu)"
_DEVICE = _TASK + rb"/" + _KIND + rb":" + _NUMBER
_OLD_DEVICE = _TASK + rb"/(?:cpu|gpu):" + _NUMBER

NAME_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.\\/>-"
"""Characters of node names."""

_NAME = rb"[A-Za-z0-9_.\\/>-]+"
_OP = rb"[A-Za-z0-9_.<>-]+"

_STAMP = rb"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: )"
_FULL_STYLE = _STAMP + rb"?[IWEF] [^\s\]]+:\d+\] "
_SHORT_STYLE = rb"[IWEF]\d{4} \d\d:\d\d:\d+\.\d+ +\d+ [^\s\]]+:\d+\] "
HEADER = re.compile(rb"(?:" + _FULL_STYLE + rb"|" + _SHORT_STYLE + rb")")
_HEADER = HEADER.pattern

WHOLE = re.compile(
    _COLOUR
    + rb"(" + _HEADER + rb")?"
    + rb"(?:(" + _NAME + rb"): \((" + _OP + rb")\)(?:: )?|Executing op (" + _OP + rb") in device )"
    + rb"(" + _DEVICE + rb")" + END
)  # fmt: skip
"""A line of form B, C, D or F: header, node, op, op that ran, device."""

OLD = re.compile(_COLOUR + rb"(" + _HEADER + rb")?(" + _NAME + rb"): (" + _OLD_DEVICE + rb")" + END)
"""A line of form E: header, node, device. With a modern device name it could be the program's own output."""

_PCI = rb"[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F]{2}\.[\da-fA-F]|<undefined>"
_CARD = rb"device: \d+, name: [^\r\n]+?, pci bus id: (?:" + _PCI + rb")(?:, compute capability: \d+\.\d+)?"

MAPPING_HEAD = re.compile(_COLOUR + rb"(?:" + _HEADER + rb")?Device mapping:( no known devices\.)?" + END)
MAPPING = re.compile(
    _COLOUR + rb"(" + _DEVICE + rb") -> (device: XLA_[CG]PU device|" + _CARD + rb")" + END
)  # fmt: skip
"""A line of form A: device, description. Descriptions in other forms may be cut off."""

_NEXT = rb"(?:" + _HEADER + rb"|" + _NAME + rb": \(" + _OP + rb"\)(?:: )?/job:|Executing op )"
_STOP = rb"(?:" + _NUMBER + rb"(?=" + END + rb"\Z)|0(?=" + _NEXT + rb"))"
"""The end of a device index: at the end of the line, or 0 directly before another line of TensorFlow's, as no longer
index begins with 0. (Before other text, the 0 could belong to that text.)"""

_OPEN = rb"(?:(?<=: )|\A ?)"
"""Text before an op in parentheses, if only the end of the node's name is left."""

INNER = re.compile(
    rb"(?:((?:" + _HEADER + rb")?Executing op (" + _OP + rb") in device )|" + _OPEN + rb"\((" + _OP + rb")\)(?:: )?"
    + rb"|(: )(?=" + _OLD_DEVICE + rb"))"
    + rb"(" + _TASK + rb"/" + _KIND + rb":" + _STOP + rb")"
)  # fmt: skip
"""Parts that can be recognised within other text: start of form D, op that ran, op of a node, colon of form E,
device."""

BEFORE_NODE = re.compile(rb"(" + _HEADER + rb")\Z|placer\.cc:\d+\] \Z")
"""Shows that a node's name begins directly after it."""

REST_OF_LINE = re.compile(END + rb"\Z")

HEAD = re.compile(
    rb"I(?:\d{4} [\d:.]+ +\d+)? [^\s\]]*(?:placer|execute)\.cc:\d+\] (?:Executing op |[\w.\\/>-]+: \(" + _OP + rb"\))?"
    rb"|\([A-Z_][\w.<>-]*\)(?:: /|/j)"
    rb"|Executing op (?=\S)"
    rb"|/device:[A-Za-z]\w*:\d+ -> "
)  # fmt: skip
"""The beginning of a torn line, anywhere."""

WEAK_HEAD = re.compile(_NAME + rb": \([A-Z_][\w.<>-]*\)")
"""The beginning of a torn line that could also be the program's own output; only for the beginning of a line."""

TAIL = re.compile(rb"(?:\)(?:: )?| in device )" + _DEVICE + END)
"""The end of a line that was interrupted by other text."""

PROFILER = re.compile(
    _COLOUR
    + rb"(?:"
    + _STAMP
    + rb"?I [^\s\]]*|I\d{4} \d\d:\d\d:\d+\.\d+ +\d+ )"
    + rb"(?:profiler_session|save_profile|cupti_tracer|cupti_collector)\.cc:\d+\] "
)
"""The beginning of a line in which the profiler reports on itself: it is the probe that started it."""


Part: TypeAlias = bytes | tuple[bytes, ...]


def prefixes(*parts: Part) -> bytes:
    """A pattern for every prefix of the given sequence; a tuple lists alternatives for the rest."""
    if not parts:
        return rb""
    first, *rest = parts
    if isinstance(first, tuple):
        return rb"(?:" + rb"|".join(first) + rb")"
    return first + (rb"(?:" + prefixes(*rest) + rb")?" if rest else rb"")


def letters(text: bytes) -> list[Part]:
    """Splits a literal text into parts; 0 stands for any digit."""
    return [rb"\d" if letter == ord("0") else re.escape(bytes([letter])) for letter in text]


def _beginnings() -> tuple[bytes, bytes, bytes]:
    """Patterns of what may still become a whole line, of what begins one anywhere, and of a node's op and device."""
    colour = rb"(?:\x1b\[[\d;]*[A-Za-z])*(?:\x1b(?:\[[\d;]*)?|\r)?"

    def device(*behind: bytes) -> list[Part]:
        job = [*letters(b"/job:"), rb"[A-Za-z]\w*"]
        task = [*letters(b"/replica:"), _NUMBER, *letters(b"/task:"), _NUMBER]
        kinds = (letters(b"cpu:"), letters(b"gpu:"), [*letters(b"device:"), rb"[A-Za-z]\w*", rb":"])
        return [*job, *task, rb"/", tuple(prefixes(*kind, _NUMBER, *behind) for kind in kinds)]

    where = device(colour)
    with_op: list[Part] = [_OP, rb"\)", (prefixes(*letters(b": "), *where), prefixes(*where))]
    node = prefixes(_NAME, rb":", rb" ", (prefixes(rb"\(", *with_op), prefixes(*where)))
    ran = prefixes(*letters(b"Executing op "), _OP, *letters(b" in device "), *where)
    mapping = prefixes(*letters(b"Device mapping:"), rb"(?: [a-z ]*\.?)?" + colour)
    body = rb"(?:" + rb"|".join((node, ran, mapping)) + rb")"
    ours = rb"[^\s\]]*(?:placer|execute|direct_session)\.cc:\d+\](?: (?:" + body + rb")?)?"
    path = (rb"[^\s\]]*", ours)
    full = prefixes(*letters(b"0000-00-00 00:00:00."), rb"\d+", *letters(b": "), rb"[IWEF]", rb" ", path)
    short = prefixes(rb"[IWEF]", *letters(b"0000 00:00:"), rb"\d+", rb"\.", rb"\d+", rb" +", rb"\d+", rb" ", path)
    headed = rb"|".join((full, short, prefixes(rb"[IWEF]", rb" ", path)))
    devices = prefixes(*device(rb" ", rb"-", rb">", rb"[^\r\n]*\r?"))
    start = rb"(?:" + rb"|".join((headed, body, devices)) + rb")"
    return (
        _COLOUR + rb"(?:\x1b(?:\[[\d;]*)?|" + start + rb")?",
        rb"|".join((headed, ran)),
        prefixes(_OPEN + rb"\(", *with_op) + rb"|(?<![\w.\\/>-])" + prefixes(_NAME, rb":", rb" ", rb"\(", *with_op),
    )


_START, _ANYWHERE, _NODE = _beginnings()

STARTING = re.compile(rb"(?:" + _START + rb")\Z")
"""An unfinished line that may still become a whole line of TensorFlow's."""

UNFINISHED = re.compile(rb"(?:" + _ANYWHERE + rb"|" + _NODE + rb")\Z")
"""The end of an unfinished line that may still become part of a line of TensorFlow's."""
