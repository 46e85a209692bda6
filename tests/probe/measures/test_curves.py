"""Curves, sizes and headers, which all reports share."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.records import Card, Sample, Strategy
from gpulint.probe.measures.curves import Span, curves, phases
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.report import RunReport, render
from gpulint.probe.report.header import header, listed
from gpulint.probe.report.page.highlight import highlighted
from gpulint.probe.report.page.markup import document, raw, shown, tag

GIB = 1 << 30


def created(number: int) -> str:
    return (
        f"Created device /job:localhost/replica:0/task:0/device:GPU:{number} with 8192 MB memory:  "
        f"-> device: {number}, name: Tesla K80, pci bus id: 0000:8{number}:00.0, compute capability: 3.7"
    )


def ran() -> Capture:
    """Two cards of which TensorFlow has one, two logical CPUs, twenty seconds."""
    both = {"CPU:0": (GIB, 2 * GIB), "CPU:1": (GIB, 2 * GIB)}
    samples = [
        Sample(101.0 + t, "build" if t < 4 else "steps", {"GPU:0": (t * GIB, t * GIB), **both}) for t in range(8)
    ]
    return Capture(
        start={"t": 100.0, "memory": {"host": 64 * GIB, "CPU": 32 * GIB}},
        process={"main": "a.py"},
        tensorflow={"tensorflow": "2.21.0"},
        end={"seconds": 20.0},
        logical=("CPU:0", "CPU:1", "GPU:0"),
        strategies=[Strategy(1, "OneDeviceStrategy", ("GPU:0",), 1, None)],
        memory=samples,
        phases=[(101.0, "build"), (104.5, "steps")],
        resident=[(100.0 + t, t * GIB) for t in range(1, 5)],
        cards=[
            Card(
                102.0 + t, f"0000:8{number}:00.0", "Tesla K80", 11 * GIB, 9 * GIB, 8 * GIB if not number else -1, -1, 50
            )
            for t in range(3)
            for number in (0, 1)
        ],
        logs={"stderr": Log(messages=[created(0)])},
    )


def test_the_memory_that_a_simulated_gpu_may_take_is_its_limit() -> None:
    simulated = replace(ran(), simulated=1, limits={"GPU:0": 3 * GIB}, logs={}, cards=[])
    assert {curve.subject: curve.limit for curve in curves(simulated)}["GPU:0"] == 3 * GIB


def test_every_holder_of_memory_has_a_curve() -> None:
    found = {curve.subject: curve for curve in curves(ran())}
    assert list(found) == [
        "GPU:0",
        "CPU:0, CPU:1",
        "card 0000:80:00.0",
        "card 0000:80:00.0 busy",
        "card 0000:81:00.0",
        "card 0000:81:00.0 busy",
        "host",
    ]
    gpu = found["GPU:0"]
    assert (gpu.lines[0][1][:2], gpu.last, gpu.peak, gpu.limit) == (((1.0, 0), (2.0, GIB)), 7 * GIB, 7 * GIB, 8 * GIB)
    assert found["CPU:0, CPU:1"].limit == 32 * GIB
    assert [name for name, _ in found["card 0000:80:00.0"].lines] == ["this program", "all programs"]
    assert [name for name, _ in found["card 0000:81:00.0"].lines] == ["all programs"]
    assert found["host"].limit == 64 * GIB
    assert curves(Capture()) == []


def test_phases_follow_each_other() -> None:
    assert phases(ran()) == [Span("build", 1.0, 4.5), Span("steps", 4.5, 20.0)]
    unseen = replace(ran(), end={})
    assert phases(unseen)[-1] == Span("steps", 4.5, 8.0)


def test_the_header_has_the_devices_of_both_sides() -> None:
    assert list(header(ran())) == [
        "TensorFlow 2.21.0 on CPU:0, CPU:1, GPU:0; OneDeviceStrategy of 1; 20.0 s",
        "the driver has Tesla K80 of 11 GiB: GPU:0",
        "the driver has Tesla K80 of 11 GiB: no device of TensorFlow",
    ]


def test_the_text_has_a_curve_for_each() -> None:
    text = render("text", RunReport(ran(), [], 0), False, verbose=True)
    (line,) = [line for line in text.splitlines() if line.startswith("GPU:0")]
    assert line.split() == ["GPU:0", "▁▂▃▄▅▆▇█", "7", "GiB", "7", "GiB", "8", "GiB"]
    assert "busy" not in text


@pytest.mark.parametrize(
    ("devices", "text"),
    [
        ((), ""),
        (("CPU:0", "CPU:1"), "CPU:0, CPU:1"),
        (("CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:4"), "CPU:0, GPU:0–2, GPU:4"),
        (("/job:worker/task:1/GPU:0", "odd"), "/job:worker/task:1/GPU:0, odd"),
    ],
)
def test_devices_in_a_row_are_a_range(devices: tuple[str, ...], text: str) -> None:
    assert listed(devices) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KiB"), (61576, "60.1 KiB"), (970 << 20, "970 MiB"), (3 << 29, "1.5 GiB")],
)
def test_sizes_are_shown_in_a_fitting_unit(size: int, text: str) -> None:
    assert in_words(size) == text


@given(st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), max_size=300))
def test_coloured_rows_have_the_text_of_the_source(text: str) -> None:
    rows = text.removeprefix("\ufeff").split("\n")
    done = highlighted(rows)
    assert len(done) == len(rows)
    for row, children in zip(rows, done, strict=True):
        seen = "".join(tag("p", children).itertext())
        assert seen == "".join(c if c.isprintable() or c == "\t" else f"U+{ord(c):04X}" for c in row)


class Parsed(HTMLParser):
    """The text of a page, roughly as a browser shows it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.data = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.data += data


@given(st.text())
def test_no_text_becomes_markup(text: str) -> None:
    parsed = Parsed(document(tag("p", text, tag("b", text), title=text)))
    assert parsed.tags == [("p", [("title", shown(text))]), ("b", [])]
    assert parsed.data.strip() == (shown(text) * 2).strip()


def test_own_script_cannot_end_itself() -> None:
    with pytest.raises(ValueError, match="end tag"):
        raw("script", "'</script>'")


def test_which_card_a_device_is_on_is_said_where_it_is_known() -> None:
    def told(capture: Capture) -> list[str]:
        return [line for line in header(capture) if line.startswith("the driver has")]

    card = Card(1.0, "0000:86:00.0", "NVIDIA H200", 140 << 30, 0, 0, 0, 90)
    silent = Capture(process={"pid": 1}, tensorflow={"tensorflow": "2.21.0"}, logical=("CPU:0", "GPU:0"), cards=[card])
    assert told(silent) == ["the driver has NVIDIA H200 of 140 GiB: GPU:0"]
    silent.cards.append(card._replace(bus="0000:87:00.0"))
    assert told(silent) == ["the driver has 2 × NVIDIA H200 of 140 GiB"]
    silent.logical = ("CPU:0",)
    assert told(silent) == ["the driver has 2 × NVIDIA H200 of 140 GiB: no device of TensorFlow"]
