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
"""What names of nodes are made of."""

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
"""A line of the forms B, C, D or F: header, node, op, op that ran, device."""

OLD = re.compile(_COLOUR + rb"(" + _HEADER + rb")?(" + _NAME + rb"): (" + _OLD_DEVICE + rb")" + END)
"""A line of the form E: header, node, device. With a device of today it would be what people print themselves."""

_PCI = rb"[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F]{2}\.[\da-fA-F]|<undefined>"
_CARD = rb"device: \d+, name: [^\r\n]+?, pci bus id: (?:" + _PCI + rb")(?:, compute capability: \d+\.\d+)?"

MAPPING_HEAD = re.compile(_COLOUR + rb"(?:" + _HEADER + rb")?Device mapping:( no known devices\.)?" + END)
MAPPING = re.compile(
    _COLOUR + rb"(" + _DEVICE + rb") -> (device: XLA_[CG]PU device|" + _CARD + rb")" + END
)  # fmt: skip
"""A line of the form A: device, description. Of a description in another form no one can say that it is whole."""

_NEXT = rb"(?:" + _HEADER + rb"|" + _NAME + rb": \(" + _OP + rb"\)(?:: )?/job:|Executing op )"
_STOP = rb"(?:" + _NUMBER + rb"(?=" + END + rb"\Z)|0(?=" + _NEXT + rb"))"
"""A device's index that goes on nowhere: it ends the line, or is 0, which no longer one begins with, and runs into
another of TensorFlow's lines. (With other text behind it, the 0 could be of that text.)"""

_OPEN = rb"(?:(?<=: )|\A ?)"
"""What stands before an op in parentheses, were it the last that is left of a name."""

INNER = re.compile(
    rb"(?:((?:" + _HEADER + rb")?Executing op (" + _OP + rb") in device )|" + _OPEN + rb"\((" + _OP + rb")\)(?:: )?"
    + rb"|(: )(?=" + _OLD_DEVICE + rb"))"
    + rb"(" + _TASK + rb"/" + _KIND + rb":" + _STOP + rb")"
)  # fmt: skip
"""What can be told of a line in the midst of other text: beginning of the form D, op that ran, op of a node,
colon of the form E, device."""

BEFORE_NODE = re.compile(rb"(" + _HEADER + rb")\Z|placer\.cc:\d+\] \Z")
"""What shows that the name of a node begins right behind it."""

REST_OF_LINE = re.compile(END + rb"\Z")

HEAD = re.compile(
    rb"I(?:\d{4} [\d:.]+ +\d+)? [^\s\]]*(?:placer|execute)\.cc:\d+\] (?:Executing op |[\w.\\/>-]+: \(" + _OP + rb"\))?"
    rb"|\([A-Z_][\w.<>-]*\)(?:: /|/j)"
    rb"|Executing op (?=\S)"
    rb"|/device:[A-Za-z]\w*:\d+ -> "
)  # fmt: skip
"""The beginning of a line that was torn off, wherever it stands."""

WEAK_HEAD = re.compile(_NAME + rb": \([A-Z_][\w.<>-]*\)")
"""The same at the beginning of a line, where people could have printed it themselves."""

TAIL = re.compile(rb"(?:\)(?:: )?| in device )" + _DEVICE + END)
"""The end of a line that something stands in."""


Part: TypeAlias = bytes | tuple[bytes, ...]


def prefixes(*parts: Part) -> bytes:
    """A pattern for every beginning of the given parts in a row; those in a tuple are alternatives for the rest."""
    if not parts:
        return rb""
    first, *rest = parts
    if isinstance(first, tuple):
        return rb"(?:" + rb"|".join(first) + rb")"
    return first + (rb"(?:" + prefixes(*rest) + rb")?" if rest else rb"")


def letters(text: bytes) -> list[Part]:
    """The parts of a text that stands for itself, but for 0, which stands for any digit."""
    return [rb"\d" if letter == ord("0") else re.escape(bytes([letter])) for letter in text]


def _beginnings() -> tuple[bytes, bytes, bytes]:
    """Patterns of what can still become a whole line, what starts one anywhere, and a node's op and device."""
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
"""An unfinished line that can still become one of TensorFlow's, whole."""

UNFINISHED = re.compile(rb"(?:" + _ANYWHERE + rb"|" + _NODE + rb")\Z")
"""The end of an unfinished line that can still become part of a line of TensorFlow."""
