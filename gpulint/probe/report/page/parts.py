"""Elements that several sections share."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence, Set
from xml.etree.ElementTree import Element

from gpulint.probe.capture.records import Where
from gpulint.probe.cluster.worker_text import device_name
from gpulint.probe.expectations.expectation import Status
from gpulint.probe.report.matrices import Matrix
from gpulint.probe.report.page.markup import Child, tag
from gpulint.probe.report.page.places import Places

HUES = 8
"""Device colours in the style sheet; the ninth device reuses the first. The host has a grey of its own."""

ROWS = 20
"""Rows of a table that are shown; the rest is collapsed."""

_MARKS = {Status.FAIL: "✕", Status.WARN: "!", Status.INCONCLUSIVE: "?", Status.SKIP: "–", Status.PASS: "✓"}


def code(text: str) -> Element:
    """Text from the program: a name, a path, a message. Isolated from the surrounding text direction."""
    return tag("code", text)


def breakable(path: str) -> Element:
    """A path that may break after a slash."""
    parts = path.split("/")
    return tag("code", ([part, "/", tag("wbr")] for part in parts[:-1]), parts[-1])


def prose(text: str) -> list[Child]:
    """A message with `names` of code in backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return [text]
    return [code(part) if place % 2 else part for place, part in enumerate(parts)]


def badge(status: Status) -> Element:
    """A status, shown by symbol, word and colour."""
    return tag(
        "span", tag("span", _MARKS[status], aria_hidden="true"), f" {status.value}", class_=f"badge {status.value}"
    )


def chip(device: str, note: str = "") -> Element:
    """A device with its colour, the same across the page."""
    return tag("span", device_name(device), tag("small", f" {note}") if note else None, class_=f"chip hue{hue(device)}")


def hue(device: str) -> int:
    """Number of a device's colour; of a range of devices, that of the first."""
    kind, _, number = device.partition("–")[0].rpartition(":")
    if number.isdecimal():
        return HUES if kind.endswith("CPU") and int(number) == 0 else int(number) % HUES
    return zlib.crc32(device.encode("utf-8", "backslashreplace")) % HUES


def link(places: Places, where: Where | None) -> Child:
    """A location, linked to its row if its file is shown."""
    if where is None:
        return None
    name = breakable(places.located(where))
    return tag("a", name, href=f"#{places.anchor(where)}") if (where.path, where.cell) in places.files else name


def table(
    names: Sequence[str], rows: Iterable[Sequence[Child]], *, numbers: Set[int] = frozenset(), narrow: bool = False
) -> Element:
    """A table; on narrow screens each row becomes a block whose cells show their column heading, unless the table is
    `narrow`. `numbers` are right-aligned columns. Rows beyond ROWS are collapsed into a table below."""
    made = [
        tag(
            "tr",
            (
                tag("td", cell, class_="number" if place in numbers else None, data_name=names[place])
                for place, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    head = [
        tag("th", name, scope="col", class_="number" if place in numbers else None) for place, name in enumerate(names)
    ]
    first = tag("table", tag("thead", tag("tr", head)), tag("tbody", made[:ROWS]), class_="narrow" if narrow else None)
    rest = tag("table", tag("tbody", made[ROWS:])) if len(made) > ROWS else None
    more = tag("details", tag("summary", f"{len(made) - ROWS} more"), rest, class_="more") if rest is not None else None
    return tag("div", first, more, class_="scroll data")


def sortable(text: str, key: float) -> Element:
    """The content of a table's cell that is sorted by a number."""
    return tag("span", text, data_sort=f"{key:.9g}")


def matrix(seen: Matrix) -> Child:
    """Names by device; the larger a number, relative to the largest, the darker its cell."""
    if not seen.rows:
        return None
    greatest = max(number for _, counts in seen.rows for number in counts.values()) or 1
    body = [
        tag(
            "tr",
            tag("th", code(name), scope="row"),
            (
                tag(
                    "td",
                    f"{counts[device]:,}" if counts[device] else "",
                    class_=f"number heat{_heat(counts[device], greatest)} hue{hue(device)}",
                )
                for device in seen.devices
            ),
        )
        for name, counts in seen.rows
    ]
    head = tag("thead", tag("tr", tag("td"), (tag("th", chip(device), scope="col") for device in seen.devices)))
    rest = body[ROWS:]
    return [
        tag("div", tag("table", head, tag("tbody", body[:ROWS]), class_="matrix"), class_="scroll"),
        tag(
            "details",
            tag("summary", f"{len(rest)} more"),
            tag("div", tag("table", _copy(head), tag("tbody", rest), class_="matrix"), class_="scroll"),
            class_="more",
        )
        if rest
        else None,
    ]


def _copy(head: Element) -> Element:
    """A copy of the table head for the collapsed table."""
    return tag("thead", list(head))


def _heat(number: int, greatest: int) -> int:
    """0 for nothing to 4 for the largest, logarithmic, so that one operation among thousands is visible."""
    if number <= 0:
        return 0
    share = number.bit_length() / greatest.bit_length()
    return max(1, min(4, round(4 * share)))
