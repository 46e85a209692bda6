"""The life of rules: packs that do not load, former codes, previews, deprecations, required releases."""

from __future__ import annotations

import re
import textwrap
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

import gpulint.plugin
from gpulint.analysis import Project, analyse
from gpulint.analysis.project.slicing import Subject
from gpulint.cli.main import main
from gpulint.knowledge.words import OF_EVENTS
from gpulint.linting import moved
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.pack import load
from gpulint.linting.selection import Catalogue, Selection
from gpulint.plugin import Plan, Report, Rule, Severity, events
from gpulint.plugin.testing import assert_reports, fixed, reports
from gpulint.settings import LintSettings, Settings
from gpulint.sources.decoding import decode
from tests.cli.test_check import check
from tests.linting.test_pack import RULE

PROGRAM = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    d = tf.data.Dataset.range(9).batch(4)\n'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(project: Path, **packs: str) -> None:
    for name, text in packs.items():
        (project / name).mkdir()
        (project / name / "rule.py").write_text(text, encoding="utf-8")
    (project / "gpulint.toml").write_text(f"rule-paths = {[*packs]}", encoding="utf-8")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_broken_pack_is_one_line_and_the_run_continues(project: Path, jobs: str) -> None:
    lint(project, broken="import nowhere_at_all\n", good=RULE)
    done = check("--trust", "--output-format", "concise", "--jobs", jobs)
    assert done.exit_code == 2
    assert re.findall(r"\[([A-Z]+\d+)\]", done.stdout) == ["GPU101", "ACM001"]
    (line,) = [one for one in done.stderr.splitlines() if "broken" in one]
    assert "ModuleNotFoundError" in line and line.endswith("the rules of this pack are not used")
    assert "Traceback" in check("--trust", "-v").stderr


def test_the_page_of_a_plugin_names_no_release_of_gpulint(project: Path) -> None:
    lint(project, good=RULE)
    own, shipped = (CliRunner().invoke(main, ["rule", *words]).stdout for words in (["--trust", "ACM001"], ["GPU101"]))
    assert "Severity: warning.\n" in own and "Severity: warning. Since 0.1.\n" in shipped


def test_a_rule_for_a_later_interface_is_not_loaded(project: Path) -> None:
    later = gpulint.plugin.VERSION + 1
    lint(project, later=RULE.replace("    why =", f"    api_version = {later}\n    why ="))
    assert f"needs version {later} of `gpulint.plugin`" in check("--trust").stderr


class Listening(Rule):
    """A rule that compares events."""

    code = "ACM003"
    name = "listening"
    severity = Severity.INFO
    why = "nothing"
    instead = "nothing"
    listens_to = (events.ModelFitted,)

    def on_end(self, plan: Plan) -> list[Report]:
        return [Report(event.site, "a fit") for event in self.all(events.ModelFitted)]


class Secret(Listening):
    """A rule that asks for an event that it does not declare."""

    def on_end(self, plan: Plan) -> list[Report]:
        return [Report(event.site, "a scope") for event in self.all(events.ScopeMade)]


class Writing(Listening):
    """A rule that changes the Plan."""

    def on_end(self, plan: Plan) -> list[Report]:
        plan.is_complete = False
        return []


FIT = """
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(tf.zeros((8, 2)), tf.zeros((8, 1)))  # expect: ACM003
"""


def test_the_words_that_a_rule_needs_come_from_its_events() -> None:
    (unscaled,) = [one for one in load(installed=False) if one.code == "GPU209"]
    assert unscaled.needed_names() == unscaled.any_of_names
    assert Listening.needed_names() == frozenset({".fit(", ".fit_generator("})
    assert_reports(Listening, FIT)


def test_a_rule_names_the_events_that_it_asks_for() -> None:
    with pytest.raises(AssertionError, match=r"add events.ScopeMade to `listens_to` of Secret"):
        reports(Secret, FIT)


def test_a_plan_cannot_be_changed() -> None:
    with pytest.raises(AssertionError, match="`is_complete` of a Plan cannot be set"):
        reports(Writing, FIT)


def test_a_test_of_a_rule_says_what_is_wrong() -> None:
    with pytest.raises(AssertionError, match=r"expected on rows \[1\] and reported on rows \[\]; no ModelFitted ever"):
        assert_reports(Listening, "x = 1  # expect: ACM003")
    with pytest.raises(AssertionError, match=r"expected on rows \[\] and reported on rows \[6\]$"):
        assert_reports(Listening, FIT.replace("# expect: ACM003", ""))
    with pytest.raises(AssertionError, match="row 1: "):
        reports(Listening, "import tensorflow as tf (")


def test_a_rule_is_tested_for_a_release() -> None:
    (removed,) = [one for one in load(installed=False) if one.code == "GPU901"]
    text = "import tensorflow as tf\n\nconfig = tf.estimator.RunConfig()"
    assert_reports(removed, f"{text}  # expect: GPU901\n")
    assert_reports(removed, text, target="2.15")


def test_a_fix_is_applied() -> None:
    (device,) = [one for one in load(installed=False) if one.code == "GPU103"]
    text = 'import tensorflow as tf\n\nwith tf.device("gpu0"):\n    x = tf.zeros(4)\n'
    assert fixed(device, text) == text.replace('"gpu0"', '"/GPU:0"')


# ------------------------------------------------------------------------------- codes and selection


def test_former_codes_and_names_stay_valid() -> None:
    catalogue = Catalogue(load(installed=False))
    names = {rule.code for rule in catalogue.pack} | {rule.name for rule in catalogue.pack}
    for former, present in moved.MERGED.items():
        assert former not in names and former not in moved.REMOVED
        assert present in {rule.code for rule in catalogue.pack}
        assert catalogue.code(former) == catalogue.code(former.swapcase()) == present
        for key in ("select", "ignore", "extend_select", "fixable", "unfixable"):
            Selection(catalogue, Settings(lint=LintSettings(**{key: (former,)})))  # type: ignore[arg-type]
    for former in moved.REMOVED:
        assert former not in names
        Selection(catalogue, Settings(lint=LintSettings(ignore=(former,), severity=((former, "off"),))))


class Tried(Listening):
    """A rule in preview."""

    code = "ACM004"
    name = "tried"
    preview = True
    replaces = ("ACM001", "old-name")


class Leaving(Listening):
    """A deprecated rule."""

    code = "ACM005"
    name = "leaving"
    deprecated = "nobody needs it"


@pytest.mark.parametrize(
    ("lint", "codes"),
    [
        (LintSettings(), {"ACM003", "ACM005"}),
        (LintSettings(select=("ACM",)), {"ACM003"}),
        (LintSettings(select=("ALL",), preview=True), {"ACM003", "ACM004"}),
        (LintSettings(select=("ACM004", "leaving")), {"ACM004", "ACM005"}),
        (LintSettings(select=("ACM001",)), {"ACM004"}),
        (LintSettings(extend_select=("old-name",)), {"ACM003", "ACM004", "ACM005"}),
        (LintSettings(preview=True, ignore=("ACM001",)), {"ACM003", "ACM005"}),
    ],
)
def test_rules_that_come_and_go(lint: LintSettings, codes: set[str]) -> None:
    assert Selection(Catalogue((Listening, Tried, Leaving)), Settings(lint=lint)).codes == codes


@pytest.mark.parametrize("key", ["ignore", "extend-ignore"])
def test_a_code_of_another_release_can_be_turned_off(key: str, project: Path) -> None:
    (project / "gpulint.toml").write_text(f'[lint]\n{key} = ["GPU999"]\n', encoding="utf-8")
    for _ in range(2):  # the second result is a cached one
        done = check()
        assert done.exit_code == 1 and "GPU101" in done.stdout
        assert f"lint.{key}: there is no rule `GPU999`; nothing to turn off" in done.stderr
    (project / "gpulint.toml").write_text('[lint]\nselect = ["GPU999"]\n', encoding="utf-8")
    assert check("--no-cache").exit_code == 2


@pytest.mark.parametrize("key", ["ignore", "extend-ignore"])
def test_a_former_code_in_the_settings_is_noted(key: str, project: Path) -> None:
    (project / "gpulint.toml").write_text(f'[lint]\n{key} = ["GPU211", "GPU106"]\n', encoding="utf-8")
    for _ in range(2):  # the second result is a cached one
        done = check()
        assert done.exit_code == 0
        assert "GPU211 is part of GPU101 now" in done.stderr
        assert "GPU106 was removed: " in done.stderr


def test_a_deprecated_rule_is_noted_where_it_is_named() -> None:
    catalogue = Catalogue((Listening, Leaving))
    Selection(catalogue, Settings(lint=LintSettings(select=("leaving",))))
    assert [*catalogue.notes] == ["ACM005 is deprecated: nobody needs it"]


@pytest.mark.parametrize(("version", "status"), [(">=0.1", 1), (">=99", 2), ("nonsense", 2)])
def test_a_project_can_require_a_release(project: Path, version: str, status: int) -> None:
    (project / "gpulint.toml").write_text(f'required-version = "{version}"', encoding="utf-8")
    done = check()
    assert done.exit_code == status
    assert ("gpulint.toml:1: " in done.stderr) == (status == 2)


# ----------------------------------------------------------------------------- the promised interface

ROOMS = ("", ".fixes", ".queries", ".testing")
"""The modules of `gpulint.plugin` that its version covers."""


def test_the_promised_names() -> None:
    """A change here affects authors of rules: removing a name needs a new `gpulint.plugin.VERSION`."""
    names = {room: import_module(f"gpulint.plugin{room}").__all__ for room in ROOMS}
    promised = (Path(__file__).parent / "plugin_names.txt").read_text(encoding="utf-8")
    assert "".join(f"{room[1:] or 'plugin'}: {' '.join(sorted(each))}\n" for room, each in names.items()) == promised


def test_each_name_is_there() -> None:
    for room in (*ROOMS, ".facts", ".symbols", ".words"):
        module = import_module(f"gpulint.plugin{room}")
        assert all(hasattr(module, name) for name in module.__all__)


EXAMPLES = [
    text
    for rule in load(installed=False)
    for text in re.findall(r"```python\n(.*?)```", rule.__doc__ or "", re.DOTALL)
    if rule.code != "GPU001"  # whose example does not parse
]


def test_an_event_does_not_occur_without_its_words(tmp_path: Path) -> None:
    seen = set()
    for number, example in enumerate(EXAMPLES):
        path = tmp_path / f"{number}.py"
        path.write_text(textwrap.dedent(example), encoding="utf-8")
        for kind in kinds(path, None) & OF_EVENTS.keys():
            seen.add(kind)
            assert kind in kinds(path, [Subject(OF_EVENTS[kind])]), (kind, example)
    assert seen == OF_EVENTS.keys() - {"EagerModeSet", "LossCompiled", "NetworkCalled", "UnknownFitted"}


def kinds(path: Path, subjects: list[Subject] | None) -> set[str]:
    """Names of the events of a program, analysed for some subjects only, or completely."""
    source = decode(str(path), path.read_bytes())
    project = Project([path.parent], lambda other: source if other == source.path else None)
    plan = on_deep_stack(lambda: analyse(source, project, "2.21", subjects))
    found = {type(event).__name__ for event in plan.events}
    plan.release()
    return found
