"""The page in a real browser: it shows hostile texts without running them, and loads nothing."""

from __future__ import annotations

import base64
import json
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from gpulint.probe.advice.advice import Advice
from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.records import (
    Call,
    Card,
    Copy,
    Execution,
    Function,
    Node,
    Sample,
    SourceText,
    Steps,
    Strategy,
    Variable,
    Where,
)
from gpulint.probe.expectations.expectation import Expectation, Level, Status
from gpulint.probe.measures.holders import Held, Holder
from gpulint.probe.measures.time_spent import (
    DeviceTime,
    PartAt,
    PhaseTime,
    StepTime,
    TimeSpent,
    Tracing,
    parts_of,
)
from gpulint.probe.report import RunReport, page
from gpulint.probe.report.json import content
from gpulint.probe.report.page import devices, steps
from gpulint.probe.report.page.markup import tag
from gpulint.probe.report.page.memory import treemap
from gpulint.probe.report.page.places import Places
from tests import warm
from tests.notebooks import notebook
from tests.probe.advice import times
from tests.probe.report.browser import Opened, chromium, opened

HOSTILE = (
    '"><img src=x onerror="window.boom=1"></script><script>window.boom=1</script><!-- \' `{{7*7}}` \x1b[31m\x00\x85é'
)
TURNED = "abc\u202e\u2066dcba\u2028ε"
SOURCE = [
    "import tensorflow as tf  # <script>window.boom = 1</script>",
    'NAME = """</script><img src=x onerror="window.boom=1">"""  # ]]> --> </style>',
    f"ADMIN = '{TURNED}'  # \x1b[31m red",
    '\tx = tf.matmul(a, b) if a < b > c & d else "&lt;"',
    "",
    *(f"filler_{number} = {number}" for number in range(60)),
    "y = x" + " + x" * 120,
]
GIB = 1 << 30
SECTIONS = ["summary", "time", "memory", "source", "devices", "checks", "environment"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def report(path: str, hostile: str = HOSTILE) -> RunReport:
    """A run on two cards in which every text is `hostile`."""
    places = [Where(path, row) for row in (1, 2, 3, 4, len(SOURCE))]
    gpus = ("GPU:0", "GPU:1")
    samples = [
        Sample(1001.0 + t, "build" if t < 9 else "steps", dict.fromkeys(gpus, (t << 20, t << 21))) for t in range(90)
    ]
    capture = Capture(
        start={"t": 1000.0, "command": ["python", path, hostile], "directory": "/p", "platform": hostile},
        end={"status": 3, "signal": None, "reason": "exit", "seconds": 91.0},
        process={"t": 1000.5, "python": "3.11.7", "main": path},
        tensorflow={"tensorflow": "2.21.0", "cuda": True},
        error=f"ValueError: {hostile}\nsecond line",
        lost=[("graphs", hostile)],
        faults=[hostile],
        physical=gpus,
        logical=(*gpus, hostile),
        strategies=[Strategy(1, hostile, gpus, 2, Where("/p/" + hostile, 1))],
        calls=[Call(hostile, {"0": hostile}, hostile, places[1])],
        executions=Counter(
            {
                Execution(places[3], "MatMul", "GPU:1", "GPU:0"): 1234,
                Execution(places[3], hostile, hostile, hostile): 7,
                Execution(None, "Add", "", "GPU:1"): 1,
            }
        ),
        nodes=Counter({Node(places[4], "Mul", "", "GPU:1", hostile): 3, Node(places[4], "Const", "", "", "a"): 1}),
        copies=Counter({Copy(hostile, "GPU:0", "GPU:1"): 4, Copy("_Send", "GPU:1", hostile): 2}),
        variables=[Variable(hostile, (2, 3), "float32", 24, gpu, places[1]) for gpu in gpus],
        functions={("f", places[2]): Function(hostile, places[2], 9, True, "GPU:0")},
        steps={("f", places[2]): Steps(hostile, places[2], 10, 2.0, 0.5)},
        memory=samples,
        resident=[(1000.0 + t, t << 22) for t in range(90)],
        cards=[Card(1001.0 + t, "0000:86:00.0", hostile, 80 * GIB, 9 * GIB, 8 * GIB, GIB, 50) for t in range(90)],
        sources={path: SourceText(900.0, "", "\n".join(SOURCE) + "\n")},
        logs={"stderr": Log(messages=[hostile])},
    )
    expectations = [
        Expectation(
            hostile, Status.FAIL, Level.ERROR, hostile, hostile, hostile, "GPU201", places[0], (hostile,), hostile
        ),
        Expectation("a", Status.WARN, Level.WARN, hostile, hostile, hostile, "", places[4]),
        Expectation("b", Status.INCONCLUSIVE, Level.WARN, hostile, hostile, hostile, "", Where(path, 9999)),
        Expectation("c", Status.PASS, Level.ERROR, hostile, hostile, hostile, "", Where("/not/there.py", 3)),
    ]
    return RunReport(
        capture,
        expectations,
        1,
        spent(places, hostile),
        [
            Advice("input-bound", "GPU404", places[1], hostile, hostile, hostile, 4.5, 18.0),
            Advice("launch-bound", None, None, hostile, hostile, hostile, 0.2, 4.0),
        ],
        [
            Held(
                "GPU:0",
                5 * GIB,
                6 * GIB,
                None,
                None,
                (Holder("GPU:0", "activations", places[0], 4 * GIB), Holder("GPU:0", "other", None, GIB)),
            )
        ],
    )


def spent(places: list[Where], hostile: str) -> TimeSpent:
    """300 steps of 100 ms, of which 90 ms are waiting for input; the slowest is step 149."""
    lasts = [0.2 if number == 148 else 0.1 for number in range(300)]
    ends = list(accumulate(lasts, initial=1000.0))[1:]
    each = tuple(
        StepTime(number, end, seconds, {"input": 0.9 * seconds, "launch": 0.1 * seconds})
        for number, (end, seconds) in enumerate(zip(ends, lasts, strict=True), 1)
    )
    seconds = sum(lasts)
    parts = parts_of({"input": 0.9 * seconds, "launch": 0.1 * seconds}, seconds)
    return TimeSpent(
        seconds=seconds,
        steps=len(each),
        step_median=0.1,
        step_p95=0.1,
        parts=parts,
        by_line=(PartAt("input", places[1], 0.9 * seconds, 300, hostile), PartAt("launch", None, 1.0, 3, "")),
        each=each,
        phases=(PhaseTime(hostile, 1000.0, 15.0, 150, parts), PhaseTime("epoch 2", 1015.0, 15.1, 150, parts)),
        devices=(DeviceTime("GPU:0", 0.008, 34.0, "tracer"), DeviceTime("GPU:1", None, None, "nvml")),
        operations_per_step=900.0,
        launch_cost=5e-6,
        tracings=(Tracing(hostile, places[2], "xla", 3, 0.9, (hostile,), 2, 0.6),),
        why_unknown="",
    )


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    name = 'a"><img src=x onerror=boom()><' + "/script><script>window.boom=1<" + "/script>\x1b[31m\n\u202egnp.py"
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page.render(report(f"/p/{name}")), encoding="utf-8")
    return file


def visible_sections(seen: Opened) -> list[str]:
    found: list[str] = seen.page.evaluate(
        "[...document.querySelectorAll('section')].filter((one) => one.offsetParent !== null).map((one) => one.id)"
    )
    return found


def test_nothing_of_the_program_runs_and_nothing_is_asked_for(browser: Any, hostile_page: Path) -> None:
    for scripts in (True, False):
        with opened(browser, hostile_page, java_script_enabled=scripts) as seen:
            assert (seen.complaints, seen.requests) == ([], [])
            assert seen.page.evaluate("window.boom") is None
            assert seen.page.locator("script").count() == 1
            assert seen.page.locator("img, iframe, object, embed, form, base").count() == 0
            assert seen.page.evaluate(
                "[...document.querySelectorAll('*')].every((one) => !one.hasAttribute('onerror'))"
            )


def test_what_is_hostile_is_read_as_it_is(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        cells = seen.page.locator("#checks tbody tr").first.locator("td")
        shown = cells.nth(3).text_content()
        assert shown == HOSTILE.replace("`", "").translate({27: "�", 0: "�", 0x85: "�"})
        rows = seen.page.locator("#source .file .row .code").all_text_contents()
        assert rows[0] == SOURCE[0]
        assert rows[1] == SOURCE[1]
        assert rows[2] == "ADMIN = 'abcU+202EU+2066dcbaU+2028ε'  # U+001B[31m red"
        assert rows[3] == SOURCE[3]
        assert len([row for row in rows if row.startswith("filler_")]) == 60
        address = seen.page.locator("a[download]").get_attribute("href") or ""
        told = json.loads(base64.b64decode(address.partition(",")[2]))
        assert told["expectations"][0]["observed"] == HOSTILE


def test_the_page_forbids_itself_the_network(browser: Any, hostile_page: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, opened(browser, hostile_page) as seen:
        server.settimeout(1)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert seen.page.evaluate("(address) => fetch(address).catch(() => 'refused')", address) == "refused"
        seen.page.evaluate("(address) => document.body.append(Object.assign(new Image(), {src: address}))", address)
        seen.page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<b onclick=\"window.boom=1\" id=bait>b</b>')"
        )
        seen.page.evaluate("document.getElementById('bait').click()")
        assert seen.page.evaluate("window.boom") is None
        with pytest.raises(TimeoutError):
            server.accept()
        assert len(seen.complaints) >= 3
        assert all("Content Security Policy" in text for text in seen.complaints)


def test_copies_are_shown_with_what_is_known_of_them() -> None:
    run = report("/p/a.py")
    places = Places(run, content(run)["placements"])
    bare = [{"op": "_Send", "from": "GPU:0", "to": "GPU:1", "count": 3}]
    more = {"for": "MatMul", "bytes": 4096, "in_step": True, "mixed": False, "filename": "/p/a.py", "row": 2}
    for told, names, cells in (
        (bare, ["from", "to", "operation", "number", "where"], ["GPU:0", "GPU:1", "_Send", "3", ""]),
        (
            [*bare, {**bare[0], **more, "count": 4}],
            ["from", "to", "operation", "for", "size", "when", "number", "where"],
            ["GPU:0", "GPU:1", "_Send", "MatMul", "4 KiB", "in each step", "4", "a.py:2"],
        ),
    ):
        section = tag("section", devices.copies(run, told, places))
        assert ["".join(one.itertext()) for one in section.iter("th")] == names
        assert ["".join(one.itertext()) for one in section.iter("td")][: len(cells)] == cells


def test_memory_of_a_card_that_the_driver_does_not_attribute_is_unknown() -> None:
    run = report("/p/a.py", "step")
    run.capture.cards = [Card(1001.0, "0000:86:00.0", "NVIDIA T4", 16 * GIB, 2 * GIB, 0, -1, 50)]
    section = tag("section", devices.section(run, [], Places(run, content(run)["placements"])))
    cells = ["".join(one.itertext()) for one in section.iter("td")]
    first = cells.index("NVIDIA T4")
    assert cells[first + 3 : first + 5] == ["0 B", "unknown"]


def test_each_cell_of_a_notebook_has_its_own_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook("first = tf.zeros(1)", "md:# t", "second = tf.zeros(2)"))
    executions = Counter({Execution(Where(str(path), 1, cell), "Fill", "", "CPU:0"): cell + 1 for cell in (2, 0)})
    capture = Capture(executions=executions, process={"main": str(path)})
    shown = page.render(RunReport(capture, [], 0))
    assert shown.index("a.ipynb:cell 1<") < shown.index("a.ipynb:cell 3<")
    assert [shown.count(name) for name in ("first ", "second ", "nbformat")] == [1, 1, 0]


def test_sections_are_tabs(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        assert visible_sections(seen) == ["summary"]
        for name in SECTIONS:
            seen.page.click(f"nav a[href='#{name}']")
            assert visible_sections(seen) == [name]
            assert seen.page.evaluate("location.hash") == f"#{name}"
        seen.page.keyboard.press("ArrowRight")
        assert visible_sections(seen) == ["summary"]
        seen.page.keyboard.press("ArrowLeft")
        assert visible_sections(seen) == ["environment"]
        seen.page.keyboard.press("Home")
        seen.page.keyboard.press("ArrowRight")
        assert visible_sections(seen) == ["time"]
        assert seen.page.evaluate("document.activeElement.textContent") == "Time"
        assert seen.page.locator("nav [role=tab][aria-selected=true]").count() == 1
        assert seen.complaints == []


def test_without_javascript_everything_is_shown_in_sequence(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page, java_script_enabled=False) as seen:
        assert visible_sections(seen) == SECTIONS
        row = seen.page.locator("#file0-row4")
        assert not row.locator("table").is_visible()
        row.locator("summary").first.focus()
        seen.page.keyboard.press("Enter")
        assert row.locator("table").is_visible()


def test_a_place_in_a_file_that_is_not_shown_leads_nowhere(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        ids = set(seen.page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)"))
        links = seen.page.evaluate("[...document.querySelectorAll('a')].map((one) => one.getAttribute('href'))")
        assert len(links) > len(SECTIONS)
        assert {link.removeprefix("#") for link in links if not link.startswith("data:")} <= ids


def test_a_place_leads_to_its_row_wherever_it_is_folded(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        seen.page.click("nav a[href='#checks']")
        seen.page.click("#checks tbody tr:nth-child(2) a")
        assert visible_sections(seen) == ["source"]
        assert seen.page.evaluate("document.querySelector(':target').id") == f"file0-row{len(SOURCE)}"
    with opened(browser, hostile_page) as seen:
        assert not seen.page.locator("#file0-row30").is_visible()
        seen.page.evaluate("location.hash = '#file0-row30'")
        seen.page.wait_for_function("document.getElementById('file0-row30').offsetParent !== null")
        assert visible_sections(seen) == ["source"]


def test_nothing_is_wider_than_the_window(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for name in SECTIONS:
            seen.page.click(f"nav a[href='#{name}']")
            for width in (1400, 700, 400):
                seen.page.set_viewport_size({"width": width, "height": 800})
                assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)


def test_the_name_of_a_column_fits_beside_its_value(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page, width=400) as seen:
        for name in SECTIONS:
            seen.page.click(f"nav a[href='#{name}']")
            too_long = seen.page.evaluate(
                """() => {
                    const drawn = document.createElement("canvas").getContext("2d");
                    return [...document.querySelectorAll("td[data-name]")].filter((cell) => {
                        const label = getComputedStyle(cell, "::before");
                        drawn.font = label.font;
                        const { width } = drawn.measureText(cell.dataset.name);
                        return label.position === "absolute" && cell.offsetParent !== null
                            && width > parseFloat(getComputedStyle(cell).paddingLeft);
                    }).map((cell) => cell.dataset.name);
                }"""
            )
            assert too_long == [], name


def contrast(seen: Opened, selector: str) -> float:
    """The contrast between an element's text and its background, as WCAG 2 defines it."""
    ratio: float = seen.page.evaluate(
        """(selector) => {
            const drawn = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
            const own = document.querySelector(selector);
            drawn.canvas.width = drawn.canvas.height = 1;
            const layers = [];
            for (let at = own; at; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor);
            const luminance = (colors) => {
                for (const color of colors) { drawn.fillStyle = color; drawn.fillRect(0, 0, 1, 1); }
                const [r, g, b] = [...drawn.getImageData(0, 0, 1, 1).data].slice(0, 3).map((one) => {
                    const share = one / 255;
                    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
                });
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const [dark, light] = [luminance(layers), luminance([...layers, getComputedStyle(own).color])].sort();
            return (light + 0.05) / (dark + 0.05);
        }""",
        selector,
    )
    return ratio


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(browser: Any, hostile_page: Path, scheme: str) -> None:
    with opened(browser, hostile_page, color_scheme=scheme) as seen:
        for number in range(9):
            seen.page.evaluate(
                f"document.querySelector('main').insertAdjacentHTML('beforeend', '<p class=\"chip hue{number}\">')"
            )
        for selector in (
            "h1",
            ".title",
            ".lines li",
            *(f".badge.{status}" for status in ("fail", "warn", "inconclusive", "pass")),
            *(f".count.{status}" for status in ("fail", "warn", "inconclusive", "pass")),
            "#checks a",
            "nav a[aria-selected=false]",
            *(f".source .{name}" for name in "kscn"),
            *(f".chip.hue{number}" for number in range(9)),
            ".hint",
        ):
            assert contrast(seen, selector) >= 4.5, selector


def test_on_paper_every_section_is_there(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        seen.page.emulate_media(media="print")
        assert visible_sections(seen) == SECTIONS
        assert not seen.page.locator("nav").is_visible()
        assert seen.page.pdf()[:5] == b"%PDF-"


def test_a_curve_is_read_with_the_keyboard_and_the_pointer(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        seen.page.click("nav a[href='#memory']")
        figure = seen.page.locator("#memory figure:has(svg[data-reads])").first
        hint = figure.locator("output").text_content() or ""
        assert hint.startswith("Point at the chart")
        figure.locator("svg").focus()
        seen.page.keyboard.press("End")
        values, _, who = (figure.locator("output").text_content() or "").partition("; at the peak: ")
        assert values == "90.0 s: in use 89 MiB, peak of the phase 178 MiB"
        assert "activations" in who
        seen.page.keyboard.press("Home")
        assert "at the peak" not in (figure.locator("output").text_content() or "")
        figure.locator("svg").hover()
        assert "s: in use" in (figure.locator("output").text_content() or "")
        seen.page.mouse.move(0, 0)
        assert figure.locator("output").text_content() == hint
        assert seen.complaints == []


def test_the_summary_has_the_answer(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        summary = seen.page.locator("#summary")
        shares = [float(one.get_attribute("width") or 0) for one in summary.locator(".bar rect").all()]
        assert shares == [900, 100]
        legend = summary.locator(".legend li").all_text_contents()
        assert legend[0].startswith("Input 90.0 % · 90")
        assert legend[-1] == "a step of 100 ms, mean of 300; median 100 ms, 95th percentile 100 ms"
        assert summary.locator(".gain").all_text_contents() == ["up to 18× faster", "then up to 4× faster"]
        assert summary.locator(".treemap text").all_text_contents()[0] == "activations"
        assert summary.locator(".count").all_text_contents() == ["1 failed", "1 warning", "1 inconclusive", "1 passed"]
        rows = summary.locator(".expectations tbody tr")
        assert [one.split()[-1] for one in rows.locator(".badge").all_text_contents()] == ["fail", "warn"]
        summary.locator(".count a").first.click()
        seen.page.wait_for_function("document.getElementById('checks').offsetParent !== null")


def test_a_step_is_read_with_the_keyboard_and_the_pointer(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        figure = seen.page.locator("#summary figure:has(svg[data-reads])")
        figure.locator("svg").focus()
        seen.page.keyboard.press("Home")
        assert figure.locator("output").text_content() == (
            "steps 1 to 3, 100 ms each: Input 90.0 ms, Launching operations 10.0 ms; slowest: step 1, 100 ms"
        )
        figure.locator("svg").hover()
        assert "slowest: step 149, 200 ms" in (figure.locator("output").text_content() or "")


def test_text_keeps_its_spaces_and_shows_control_characters_as_replaced() -> None:
    assert tag("h1", "93\N{NO-BREAK SPACE}% of the time\n").text == "93\xa0% of the time\n"
    assert tag("p", "a\x07b\u202ec").text == "a\ufffdb\ufffdc"


def test_columns_beyond_the_scale_are_marked() -> None:
    even = times.spent({"launch": 1.0}, 20)
    slow = replace(even, each=(*even.each[:-1], even.each[-1]._replace(seconds=9.0, parts={"launch": 9.0})))
    drawn = [steps.figure(one, True) for one in (even, slow)]
    assert [sum(one.get("class") == "cut" for one in figure.iter()) for figure in drawn if figure is not None] == [0, 1]


def test_tables_are_sorted_and_filtered(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    call = [Call(f"tf.call_{number}", {}, "" if number % 2 else "refused", None) for number in range(30)]
    file.write_text(page.render(RunReport(Capture(calls=call), [], 0)), encoding="utf-8")
    with opened(browser, file) as seen:
        seen.page.click("nav a[href='#environment']")
        table = seen.page.locator("#environment .data")
        first = table.locator("tbody tr").first
        assert table.locator("tbody tr:visible").count() == 20
        seen.page.click("#environment th button >> nth=0")
        assert first.locator("td").first.text_content() == "tf.call_0()"
        seen.page.click("#environment th button >> nth=0")
        assert first.locator("td").first.text_content() == "tf.call_29()"
        assert table.locator("tbody tr:visible").count() == 30
        seen.page.fill("#environment input", "refused")
        assert table.locator("tbody tr:visible").count() == 15


def test_times_are_sorted_by_what_they_mean(browser: Any, hostile_page: Path) -> None:
    with opened(browser, hostile_page) as seen:
        seen.page.click("nav a[href='#time']")
        lines = seen.page.locator("#time .data", has=seen.page.locator("th:has-text('each')"))
        lines.locator("th button", has_text="in all").click()
        assert lines.locator("tbody td:nth-child(6)").all_text_contents() == ["1.0 s", "27.1 s"]


def test_equal_devices_share_a_chip(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    executions = Counter({Execution(Where(str(path), 1), "MatMul", "", f"GPU:{number}"): 5 for number in range(8)})
    file = tmp_path / "report.html"
    capture = Capture(executions=executions, process={"main": str(path)})
    file.write_text(page.render(RunReport(capture, [], 0)), encoding="utf-8")
    with opened(browser, file) as seen:
        assert seen.page.locator("#source .gutter .chip").all_text_contents() == ["GPU:0–7 5"]


def test_devices_that_hold_the_same_share_a_drawing(browser: Any, tmp_path: Path) -> None:
    gpus = [f"GPU:{number}" for number in range(4)]
    held = [
        Held(gpu, GIB, None, None, None, (Holder(gpu, "weights", None, GIB + (number == 3) * GIB),))
        for number, gpu in enumerate(gpus)
    ]
    shares = tuple(DeviceTime(gpu, 0.62, 34.0, "tracer") for gpu in gpus)
    file = tmp_path / "report.html"
    time = replace(spent([Where("a.py", 1)] * 3, "x"), devices=shares)
    capture = Capture(logical=tuple(gpus), process={"main": "a.py"})
    file.write_text(page.render(RunReport(capture, [], 0, time, (), held)), encoding="utf-8")
    with opened(browser, file) as seen:
        names = seen.page.locator("#memory figcaption b").all_text_contents()
        assert names == ["GPU:0–2 memory", "GPU:3 memory"]
        assert seen.page.locator("#devices .cards dd").all_text_contents()[0] == "62.0 %"


def test_a_box_has_the_line_of_its_holder_if_not_the_name_of_the_file() -> None:
    where = Where("/p/a_long_name_of_a_program.py", 96)
    holders = tuple(Holder("GPU:0", "weights", where, size) for size in (4000, 1000, 1000, 1000))
    drawn = treemap(Held("/job:worker/task:1/GPU:0", 7000, None, None, None, holders), lambda one: one.in_short)
    texts = [text for text in drawn.itertext() if "·" in text]
    assert "3.9 KiB · a_long_name_of_a_program.py:96" in texts
    assert "1 KiB · line 96" in texts
    assert "worker 1 GPU:0 memory" in [*drawn.itertext()]


def test_holders_of_next_to_nothing_come_last(browser: Any, tmp_path: Path) -> None:
    held = [
        Held(
            gpu, GIB, None, None, None, (Holder(gpu, "weights", None, GIB - 8), Holder(gpu, "activations", None, size))
        )
        for gpu, size in (("GPU:0", 8), ("GPU:1", GIB // 2))
    ]
    file = tmp_path / "report.html"
    file.write_text(
        page.render(RunReport(Capture(logical=("GPU:0", "GPU:1")), [], 0, None, (), held)), encoding="utf-8"
    )
    with opened(browser, file) as seen:
        rows = seen.page.locator("#memory table tbody tr td:nth-child(2)").all_text_contents()
        assert rows == ["weights", "weights", "activations", "activations"]
        assert seen.page.locator("#memory table tbody tr td:nth-child(3)").all_text_contents()[-1] == "8 B"


def test_a_placement_log_and_a_run_without_tensorflow_have_a_page(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    logged = Capture(logs={"log": Log(9, 8, 1, placed=Counter({("MatMul", "GPU:0"): 8}))}, logical=("GPU:0",))
    for capture in (Capture(), logged, Capture(process={"main": "none.py", "t": 1.0}, end={"status": 0})):
        file.write_text(page.render(RunReport(capture, [], 0)), encoding="utf-8")
        with opened(browser, file) as seen:
            for name in SECTIONS:
                seen.page.click(f"nav a[href='#{name}']")
                assert seen.page.locator(f"#{name}").inner_text().strip()
            assert (seen.complaints, seen.requests) == ([], [])


@pytest.mark.tensorflow
def test_a_real_run_has_its_devices_beside_its_lines(browser: Any, tmp_path: Path) -> None:
    lines = [
        "import tensorflow as tf",
        "cpu, = tf.config.list_physical_devices('CPU')",
        "tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)",
        "with tf.device('CPU:1'):",
        "    product = tf.matmul(tf.ones((4, 4)), tf.ones((4, 4)))",
        "open(__file__, 'a').write('# written by the program\\n')",
    ]
    (tmp_path / "a.py").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "gpulint", "probe", "--isolated", "--html", "run.html", "--capture", "run.jsonl"]
    done = warm.python().run([*command, "a.py"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with opened(browser, tmp_path / "run.html") as seen:
        row = seen.page.locator("#file0-row5")
        assert row.locator(".gutter").text_content() == "CPU:1 3"
        assert row.locator(".code").text_content() == lines[4]
        assert seen.page.locator(".file .note").text_content() == "These rows ran; the file has changed since."
        assert seen.page.locator("#source .row").count() == len(lines)
        assert "MatMul" in (row.locator("table").text_content() or "")
        assert (seen.complaints, seen.requests) == ([], [])
