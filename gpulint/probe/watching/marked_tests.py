"""Tests with expectations of devices, under `pytest --gpulint-probe`."""

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
from gpulint.probe.expectations.requested import requested_expectations
from gpulint.probe.watching.watch import Broken, Watch, one_line
from gpulint.settings import Settings, SettingsError, SettingsFinder

_PROPERTY = "gpulint"
"""User property that carries the result of a test to the summary, also from xdist workers."""

_WORDS = ("on", "max_traces", "limit_memory", "expect")


class MarkerError(ValueError):
    """An invalid marker."""


@dataclass(frozen=True, slots=True)
class Marked:
    """The markers of a test, combined."""

    device: str
    """The device it requires, "" for any."""
    expressions: tuple[str, ...]


def marked(item: pytest.Item) -> Marked | None:
    """The markers of a test, its class and its module: the nearest one wins, `expect` accumulates. None without
    markers. Raises MarkerError."""
    words: dict[str, Any] = {}
    expressions: list[str] = []
    markers = list(item.iter_markers("gpulint"))
    for marker in markers:
        if marker.args:
            raise MarkerError(f"the marker `gpulint` takes keyword arguments: {', '.join(_WORDS)}")
        for word, value in marker.kwargs.items():
            if word not in _WORDS:
                near = difflib.get_close_matches(word, _WORDS, 1)
                hint = f"did you mean `{near[0]}`?" if near else f"it takes {', '.join(_WORDS)}"
                raise MarkerError(f"the marker `gpulint` has no argument `{word}`; {hint}")
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
    """The plug-in, with the settings for a directory. Raises pytest.UsageError for unreadable settings."""
    try:
        settings = SettingsFinder().of_directory(directory)
        levels.validate(settings)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None
    return MarkedTests(settings)


class MarkedTests:
    """Watches marked tests. A violation fails the test with the limit, the observed value and evidence."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skips tests that need a missing GPU."""
        said, wrong = None, ""
        try:
            said = marked(item)
            if said is not None:
                requested_expectations(Settings(), said.expressions, "the marker `gpulint`")
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
        with Watch(self._settings, said.expressions, checks=STATED, profile_steps=0) as run:
            result = yield
        item.user_properties.append((_PROPERTY, "\n".join(_summary(run.expectations))))
        if run.broken:
            pytest.fail(str(Broken(run.broken)), pytrace=False)
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Summarises every watched test."""
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
    """Number of expectations by status, then those that failed."""
    counts = Counter(one.status for one in expectations)
    yield ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status]) or "nothing is expected"
    yield from (one_line(one) for one in expectations if one.status is not Status.PASS)


def _missing(wanted: str) -> str:
    """Why a device is missing, "" if it is there. Checks GPUs only: a test may configure its own CPUs."""
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
