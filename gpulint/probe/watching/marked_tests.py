"""Tests that say what they expect of devices, under `pytest --gpulint-probe`."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from gpulint.knowledge.devices import parse_device
from gpulint.probe.checks.verify import STATED
from gpulint.probe.expectations import levels
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.expectations.requested import wanted
from gpulint.probe.watching.watch import Broken, Watch, told
from gpulint.settings import Settings, SettingsError, SettingsFinder

_PROPERTY = "gpulint"
"""The name of the user property that carries what came of a test to the summary, from workers of xdist, too."""

_WORDS = ("on", "max_traces", "limit_memory", "expect")


class MarkerError(ValueError):
    """A marker that cannot be read."""


@dataclass(frozen=True, slots=True)
class Marked:
    """What the markers of a test say."""

    device: str
    """The device that it needs, "" for any."""
    expressions: tuple[str, ...]


def marked(item: pytest.Item) -> Marked | None:
    """What the markers of a test say, those of its class and module included: the nearest counts, but for `expect`,
    which add up. None without one. Raises MarkerError."""
    words: dict[str, Any] = {}
    expressions: list[str] = []
    markers = list(item.iter_markers("gpulint"))
    for marker in markers:
        if marker.args:
            raise MarkerError(f"the marker `gpulint` takes {', '.join(_WORDS)} by name")
        for word, value in marker.kwargs.items():
            if word not in _WORDS:
                near = difflib.get_close_matches(word, _WORDS, 1)
                hint = f"did you mean `{near[0]}`?" if near else f"it takes {', '.join(_WORDS)}"
                raise MarkerError(f"the marker `gpulint` knows no `{word}`; {hint}")
            if word == "expect":
                expressions += [value] if isinstance(value, str) else [str(one) for one in value]
            else:
                words.setdefault(word, value)
    if not markers:
        return None
    device = str(words.get("on", ""))
    own = {
        "on": f"ops.on[{device}] >= 100%",
        "max_traces": f"traces.max <= {words.get('max_traces')}",
        "limit_memory": f"memory.peak <= {words.get('limit_memory')}",
    }
    return Marked(device, (*(own[word] for word in words), *expressions))


def of_directory(directory: str) -> MarkedTests:
    """The plug-in, with the settings for a directory. Raises pytest.UsageError for settings that cannot be read."""
    try:
        settings = SettingsFinder().of_directory(directory)
        levels.validate(settings)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None
    return MarkedTests(settings)


class MarkedTests:
    """Watches marked tests. One that breaks what it says fails, with the limit, what was observed, and evidence."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skips what needs a GPU that is not there."""
        said, wrong = None, ""
        try:
            said = marked(item)
            if said is not None:
                wanted(Settings(), said.expressions, "the marker `gpulint`")
        except (MarkerError, SettingsError) as error:
            wrong = str(error)
        if wrong:
            pytest.fail(wrong, pytrace=False)
        if said is not None and (reason := _missing(said.device)):
            pytest.skip(reason)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Watches the test itself, not its fixtures."""
        said = marked(item)
        if said is None:
            return (yield)
        with Watch(self._settings, said.expressions, checks=STATED) as run:
            result = yield
        item.user_properties.append((_PROPERTY, "\n".join(_summary(run.expectations))))
        if run.broken:
            pytest.fail(str(Broken(run.broken)), pytrace=False)
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tells of every test that was watched."""
        told_of = [
            (report.nodeid, text)
            for reports in terminalreporter.stats.values()
            for report in reports
            if isinstance(report, pytest.TestReport) and report.when == "call"
            for name, text in report.user_properties
            if name == _PROPERTY
        ]
        if not told_of:
            return
        terminalreporter.section("gpulint")
        for test, text in told_of:
            first, *others = str(text).splitlines()
            terminalreporter.write_line(f"{test}: {first}")
            for line in others:
                terminalreporter.write_line(f"  {line}")


def _summary(expectations: list[Expectation]) -> Iterator[str]:
    """How many there are of each status, then those that do not hold."""
    counts = Counter(one.status for one in expectations)
    yield ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status]) or "nothing is expected"
    yield from (told(one) for one in expectations if one.status is not Status.PASS)


def _missing(wanted: str) -> str:
    """Why a device is not there, "" where it is. Only GPUs are asked for: which CPUs there are is up to the test."""
    device = parse_device(wanted)
    if device is None or not device.is_gpu:
        return ""
    try:
        tensorflow = import_module("tensorflow")
    except ImportError:
        return "TensorFlow is not installed"
    gpus = len(tensorflow.config.list_physical_devices("GPU"))
    needed = (device.index or 0) + 1
    if gpus >= needed:
        return ""
    return f"it needs {wanted}, and TensorFlow has {f'{gpus} GPUs' if gpus else 'no GPU'} on this machine"
