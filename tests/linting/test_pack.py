"""Rule packs: a user's folder is loaded like the shipped pack."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.pack import PackError, load
from gpulint.linting.selection import Catalogue
from gpulint.settings import Settings, SettingsFinder
from tests.checking import findings_of

RULE = '''
from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, events, possible, values


class SmallBatch(Rule):
    """Batch too small"""

    code = "ACM001"
    name = "small-batch"
    severity = Severity.WARNING
    why = "the cards idle"
    instead = "use at least 16"
    any_of_names = frozenset({"batch"})

    def on_dataset_batched(self, event: events.DatasetBatched, plan: Plan) -> Iterator[Report]:
        for size in possible(event.size, event.where):
            if isinstance(size, values.Constant) and size.value < 16:
                yield Report(event.site, f"a batch of {size.value}")
'''


def test_a_rule_of_the_user_finds_what_it_looks_for(tmp_path: Path) -> None:
    (tmp_path / "lint").mkdir()
    (tmp_path / "lint" / "small.py").write_text(RULE)
    program = tmp_path / "train.py"
    program.write_text("import tensorflow as tf\n\nd = tf.data.Dataset.range(9).batch(4)\n")
    catalogue = Catalogue(load([str(tmp_path / "lint")], installed=False))
    result = Checker(SettingsFinder(Settings(root=str(tmp_path))), catalogue).check([str(program)])
    assert [(one.code, one.span.row, one.message) for one in findings_of(result)] == [("ACM001", 3, "a batch of 4")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nowhere_at_all", "cannot be imported"),
        (RULE.replace('"ACM001"', '"GPU101"'), "is taken by"),
        (RULE.replace('code = "ACM001"', ""), "has no `code`"),
        (RULE.replace('"""Batch too small"""', ""), "has no docstring"),
        (RULE.replace('"small-batch"', '"Small Batch"'), "is not a rule name"),
        (RULE.replace("on_dataset_batched", "on_dataset_batchd"), "did you mean the method for `DatasetBatched`"),
    ],
)
def test_a_rule_that_is_not_whole_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "broken.py").write_text(text)
    with pytest.raises(PackError, match=message):
        load([str(tmp_path)], installed=False)


def test_a_rule_that_crashes_costs_one_file_and_is_reported(tmp_path: Path) -> None:
    (tmp_path / "lint").mkdir()
    (tmp_path / "lint" / "small.py").write_text(RULE.replace("size.value < 16", "1 // 0"))
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text("import tensorflow as tf\n\nd = tf.data.Dataset.range(9).batch(4)\n")
    good.write_text('import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n')
    catalogue = Catalogue(load([str(tmp_path / "lint")], installed=False))
    result = Checker(SettingsFinder(Settings(root=str(tmp_path))), catalogue).check([str(bad), str(good)])
    assert [one.code for one in result.findings] == ["GPU101"]
    assert ["bad.py: internal error in ACM001: ZeroDivisionError" in message for message, _ in result.errors] == [True]


STRICTER = """
from gpulint.rules.placement.hardcoded_device import HardcodedDevice


class OurDevices(HardcodedDevice):
    '''Device of one of our machines'''

    code = "ACM001"
    name = "our-devices"
"""


def test_a_rule_that_subclasses_a_shipped_one_does_not_replace_it(tmp_path: Path) -> None:
    (tmp_path / "stricter.py").write_text(STRICTER)
    pack = load([str(tmp_path)], installed=False)
    assert {"GPU101", "ACM001"} <= {rule.code for rule in pack} and len(pack) == len(load(installed=False)) + 1
    program = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
    result = Checker(SettingsFinder(Settings(root=str(tmp_path))), Catalogue(pack)).check(
        ["a.py"], {"a.py": program.encode()}
    )
    assert [(one.code, one.span.row) for one in findings_of(result)] == [("ACM001", 3), ("GPU101", 3)]
