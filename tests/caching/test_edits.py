"""After any edit, a check with a cache finds the same as one without."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpulint.linting.engine import Checker
from gpulint.linting.examined import Examined
from gpulint.linting.provenance import Provenance
from gpulint.linting.selection import Catalogue
from gpulint.plugin import Plan, Report, Rule, Severity, Site
from gpulint.sources.modules import Lookup
from tests.caching.projects import CALLERS, CATALOGUE, FILES, HELPERS, LIBRARY, MAIN, check, essence, make, write

edits = st.sampled_from(sorted(FILES)).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from([None, *FILES[name]]))
)
subsets = st.sampled_from([(), (), ("main.py",), ("helpers.py",), ("pkg",)])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are checked in this process, which takes a third of the time."""
    monkeypatch.setattr("gpulint.linting.workers.FORKS", False)


@pytest.mark.usefixtures("here")
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([MAIN, LIBRARY]), st.lists(st.tuples(edits, subsets), min_size=1, max_size=12))
def test_any_edits_give_the_same_findings_with_and_without_a_cache(
    first: Mapping[str, str], steps: list[tuple[tuple[str, str | None], tuple[str, ...]]]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        make(root, first)
        check(root, True)
        for (name, content), paths in steps:
            write(root, name, content)
            remembering = essence(check(root, True, paths))
            assert remembering == essence(check(root, False, paths))
            assert remembering == essence(check(root, True, paths))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("first", [MAIN, LIBRARY], ids=["main", "library"])
def test_each_single_edit_gives_the_same_findings_with_and_without_a_cache(
    tmp_path: Path, first: Mapping[str, str], name: str
) -> None:
    make(tmp_path, first)
    before = essence(check(tmp_path, True))
    for content in (None, FILES[name][0]):
        write(tmp_path, name, content)
        assert essence(check(tmp_path, True)) == essence(check(tmp_path, False))
        write(tmp_path, name, first.get(name))
        assert essence(check(tmp_path, True)) == before


def test_a_file_that_is_checked_again_with_others_has_its_findings_in_them(tmp_path: Path) -> None:
    make(tmp_path, MAIN)
    alone = check(tmp_path, True, ["main.py"])
    assert essence(alone) == essence(check(tmp_path, False, ["main.py"]))
    together = check(tmp_path, True, ["main.py", "helpers.py"])
    assert essence(together) == essence(check(tmp_path, False, ["main.py", "helpers.py"]))
    assert {Path(one.span.path).name for one in together.findings} > {
        Path(one.span.path).name for one in alone.findings
    }


def test_a_changed_helper_redoes_exactly_the_files_that_look_into_it(tmp_path: Path) -> None:
    callers = {f"caller_{number}.py": CALLERS[0] for number in range(3)}
    others = {f"other_{number}.py": CALLERS[8] + "import tensorflow\nimport deeper\n" for number in range(4)}
    make(tmp_path, {**callers, **others, "helpers.py": HELPERS[0], "deeper.py": HELPERS[0]})
    assert check(tmp_path, True).remembered == 0
    again = check(tmp_path, True)
    assert again.remembered == again.analysed == 9
    write(tmp_path, "helpers.py", HELPERS[1])
    changed = check(tmp_path, True)
    assert changed.analysed - changed.remembered == len(callers) + 1
    assert essence(changed) == essence(check(tmp_path, False))


def test_a_module_that_now_shadows_another_is_seen(tmp_path: Path) -> None:
    make(tmp_path, LIBRARY)
    check(tmp_path, True)
    write(tmp_path, "helpers.py", HELPERS[1])
    shadowed = check(tmp_path, True)
    assert shadowed.analysed - shadowed.remembered == 4  # itself, the two programs that import it, the notebook
    assert essence(shadowed) == essence(check(tmp_path, False))


def test_a_file_of_which_another_program_now_calls_a_function_is_judged_by_that_call(tmp_path: Path) -> None:
    inner = "import tensorflow as tf\n\n\ndef place(d='/gpu:0'):\n    with tf.device(d):\n        return tf.zeros(4)\n"
    make(tmp_path, {"helpers.py": inner, "main.py": CALLERS[8]})
    before = check(tmp_path, True)
    write(tmp_path, "main.py", CALLERS[1])
    after = check(tmp_path, True)
    assert after.analysed - after.remembered == 1
    assert essence(after) == essence(check(tmp_path, False)) != essence(before)


class Explains(Rule):
    """Retracts findings in programs that others call."""

    code, name, severity, why, instead = "TST001", "explains", Severity.WARNING, "none", "none"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for site in sorted(plan.called_elsewhere):
            yield Report(site, "explains", supersedes=(Site(plan.path, 1),))


class Yields(Rule):
    """Reports programs whose findings are not retracted."""

    code, name, severity, why, instead = "TST002", "yields", Severity.WARNING, "none", "none"
    yields_to = ("TST001",)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        yield Report(Site(plan.path, 1), "unexplained")


def test_what_is_reported_of_a_file_that_is_not_checked_now_explains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpulint.linting.workers.FORKS", False)  # other processes have none of these rules
    make(tmp_path, {"main.py": CALLERS[0], "helpers.py": HELPERS[0]})
    catalogue = Catalogue((*CATALOGUE.pack, Explains, Yields))
    select = {"lint": {"select": ["TST"]}}
    for paths in ((), ("main.py",), ("helpers.py",), ("main.py",), ()):
        remembering = check(tmp_path, True, paths, catalogue, select)
        assert essence(remembering) == essence(check(tmp_path, False, paths, catalogue, select))
        assert ("TST001" in {one.code for one in remembering.findings}) == (paths == ())


@pytest.mark.parametrize("edited", ["main.py", "helpers.py"])
def test_what_changes_while_it_is_checked_is_not_remembered_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited: str
) -> None:
    make(tmp_path, MAIN)
    examine = Checker.examine

    def disturbed(checker: Checker, *arguments: Any) -> list[Examined]:
        examined = examine(checker, *arguments)
        write(tmp_path, edited, HELPERS[1] + "place(0)\n")
        return examined

    with monkeypatch.context() as patch:
        patch.setattr(Checker, "examine", disturbed)
        check(tmp_path, True)
    assert essence(check(tmp_path, True)) == essence(check(tmp_path, False))
    write(tmp_path, edited, MAIN[edited])
    assert essence(check(tmp_path, True)) == essence(check(tmp_path, False))


def test_answers_that_saw_different_contents_come_from_none() -> None:
    lookup = Lookup("helpers", "/p")
    one = Provenance({"/p/a.py": "1"}, {("/p",): {lookup: None}})
    assert Provenance.all_of([one, Provenance({"/p/b.py": "1"}, {("/q",): {lookup: "/q/helpers.py"}})]) is not None
    assert Provenance.all_of([one, Provenance({"/p/a.py": "2"})]) is None
    assert Provenance.all_of([one, Provenance({}, {("/p",): {lookup: "/p/helpers.py"}})]) is None


def test_what_one_program_answers_for_another_is_remembered(tmp_path: Path) -> None:
    strategy = "import tensorflow as tf\n\n\ndef main():\n    s = tf.distribute.MultiWorkerMirroredStrategy()\n"
    write(tmp_path, "main.py", "from helpers import main\n\nmain()\n")
    write(tmp_path, "helpers.py", f"{strategy}    with s.scope():\n        return tf.zeros(3)\n")
    assert [finding.code for finding in check(tmp_path, True).findings] == ["GPU701"]
    launcher = "import os\nfrom helpers import main\n\nos.environ['TF_CONFIG'] = '{}'\nmain()\n"
    write(tmp_path, "worker.py", launcher)
    assert check(tmp_path, True).findings == []
    write(tmp_path, "main.py", "from helpers import main\n\n\nmain()\n")
    assert check(tmp_path, True).findings == []
    write(tmp_path, "worker.py", "from helpers import main\n\nmain()\n")
    assert [finding.code for finding in check(tmp_path, True).findings] == ["GPU701"]


@pytest.mark.parametrize("order", [(False, True), (True, False)])
def test_what_has_edits_and_what_has_none_are_remembered_apart(tmp_path: Path, order: tuple[bool, bool]) -> None:
    make(tmp_path, MAIN)
    for edits in (*order, *order):
        remembering = check(tmp_path, True, edits=edits)
        assert essence(remembering) == essence(check(tmp_path, False, edits=edits))
        fixes = [finding.fix for finding in remembering.findings if finding.fix is not None]
        assert fixes and all(bool(fix.edits) == edits for fix in fixes)
