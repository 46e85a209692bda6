"""What a rule can read of a program besides its event."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import libcst.matchers as m
import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.selection import Catalogue
from gpulint.plugin import Plan, Report, Rule, Severity, Site, events
from gpulint.settings import SettingsFinder
from tests.checking import findings_of


class Probe(Rule):
    """A rule that reports what it reads"""

    code = "ACM001"
    name = "probe"
    severity = Severity.INFO
    why = "none"
    instead = "none"


def messages(rule: type[Rule], text: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    result = Checker(SettingsFinder(isolated=True), Catalogue((rule,))).check([str(path)])
    return [one.message for one in findings_of(result)]


PROGRAM = """\
import tensorflow as tf

data = tf.data.Dataset.range(9).batch(4, True)  # é
with tf.device("/gpu:0"):
    data = data.batch(2)
"""


def test_a_node_is_libcsts(tmp_path: Path) -> None:
    class Reader(Probe):
        def on_dataset_batched(self, event: events.DatasetBatched, plan: Plan) -> Iterator[Report]:
            node = self.node(event.site)
            assert isinstance(node, cst.Call)
            named = m.matches(node, m.Call(args=[m.Arg(), m.Arg(value=m.Name("True"))]))
            yield Report(event.site, f"{cst.Module([]).code_for_node(node)}: {named}")

        def on_device_entered(self, event: events.DeviceEntered, plan: Plan) -> Iterator[Report]:
            node = self.node(event.site)
            assert node is not None
            yield Report(event.site, cst.Module([]).code_for_node(node))

    assert messages(Reader, PROGRAM, tmp_path) == [
        "tf.data.Dataset.range(9).batch(4, True): True",
        'tf.device("/gpu:0")',
        "data.batch(2): False",
    ]


def test_a_file_that_cannot_be_read_has_no_nodes(tmp_path: Path) -> None:
    class Reader(Probe):
        def on_end(self, plan: Plan) -> Iterator[Report]:
            for event in self.all(events.DeviceEntered):
                nowhere = self.node(Site(str(tmp_path / "missing.py"), 3))
                beyond = self.node(Site(event.site.path, 10_000))
                yield Report(event.site, f"{nowhere} {beyond}")

    assert messages(Reader, PROGRAM, tmp_path) == ["None None"]


def test_all_events_of_some_kinds_in_order(tmp_path: Path) -> None:
    class Reader(Probe):
        def on_end(self, plan: Plan) -> Iterator[Report]:
            found = [type(event).__name__ for event in self.all(events.DatasetBatched, events.DeviceEntered)]
            batched = sum(1 for _ in self.all(events.DatasetBatched))
            first, *_ = self.all(events.DeviceEntered)
            yield Report(first.site, f"{' '.join(found)} {batched}")

    assert messages(Reader, PROGRAM, tmp_path) == ["DatasetBatched DeviceEntered DatasetBatched 2"]


@pytest.mark.parametrize("wanted", [False, True])
def test_all_events_are_those_that_methods_receive(wanted: bool, tmp_path: Path) -> None:
    class Reader(Probe):
        in_one_replica = wanted

        def __init__(self) -> None:
            self.received: list[events.Event] = []

        def on_device_entered(self, event: events.DeviceEntered, plan: Plan) -> None:
            self.received.append(event)

        def on_end(self, plan: Plan) -> Iterator[Report]:
            assert list(self.all(events.DeviceEntered)) == self.received
            yield Report(Site(plan.path, 0), str(len(self.received)))

    text = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
if strategy.num_replicas_in_sync == 1:
    with tf.device("/gpu:0"):
        x = tf.zeros(4)
with tf.device("/gpu:1"):
    y = tf.zeros(4)
"""
    assert messages(Reader, text, tmp_path) == ["2" if wanted else "1"]
