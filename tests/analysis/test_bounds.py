"""Programs on which an analysis without bounds would not end: it ends, and reports where it stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.analysis import Plan, Project, analyse
from gpulint.analysis.domain.values.base import known
from gpulint.analysis.engine import budget
from gpulint.analysis.plan.events import DeviceEntered
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.sources.decoding import decode
from gpulint.sources.source import Source
from tests.analysis import budgets

HEAD = "import tensorflow as tf\n\nstrategy = tf.distribute.MirroredStrategy()\n"


def plan_of(body: str) -> tuple[Plan, int]:
    """The plan of a program, and the number of steps that its analysis took."""
    text = HEAD + body
    source = Source("program.py", text.encode(), text, "utf-8")
    plan = on_deep_stack(lambda: analyse(source, Project([], lambda path: None), "2.21"))
    return plan, len(plan.events)


CHAIN = "".join(
    f"def f{i}(x):\n    a = f{i + 1}(x)\n    b = f{i + 1}(a)\n    return f{i + 1}(b)\n\n" for i in range(40)
)
BRANCHES = "def main(args):\n    x = 0\n" + "".join(
    f"    if args.c{i}:\n        x = x + {i}\n    else:\n        x = x * {i}\n" for i in range(40)
)
MUTUAL = (
    "def even(n):\n    return odd(n - 1) if n else 1\n\n"
    "def odd(n):\n    return even(n - 1) if n else 0\n\neven(tf.x())\n"
)
LOOPS = "".join("    " * depth + f"for i{depth} in tf.r{depth}():\n" for depth in range(14)) + "    " * 14 + "x = 1\n"
HUGE = "for i in range(10**30):\n    x = range(2**70)[3], list(range(0, -(10**25), -1)), len(range(10**20))\n"
RETURNS = "def f(a):\n" + "".join(f"    if a == {i}:\n        return {i}\n" for i in range(200)) + "\nx = f(tf.x())\n"


JOINED = (
    "".join(f"x{i} = {i} if tf.c{i}() else tf.y()\n" for i in range(18))
    + f"print(max({', '.join(f'x{i}' for i in range(18))}))\n"
)
MAX_EVENTS = 400
"""Maximum number of steps of each of these programs; without bounds they would take millions."""


@pytest.mark.parametrize(
    "body",
    [CHAIN + "def f40(x):\n    return x\n\nf0(1)\n", BRANCHES, MUTUAL, LOOPS, RETURNS, JOINED, HUGE],
    ids=["calls", "branches", "mutual recursion", "nested loops", "early returns", "joined arguments", "huge ranges"],
)
def test_the_work_stays_small(body: str) -> None:
    plan, events = plan_of(body)
    assert {bound for bound, _ in plan.bounds} <= {"call depth"}
    assert events < MAX_EVENTS


def test_a_bound_that_was_reached_is_noted() -> None:
    plan, _ = plan_of(CHAIN + "def f40(x):\n    return x\n\nf0(1)\n")
    assert {bound for bound, _ in plan.bounds} == {"call depth"}
    assert not plan.is_complete


def read(path: str) -> Source:
    return decode(path, Path(path).read_bytes())


@pytest.mark.parametrize(
    "test",
    ["from typing import TYPE_CHECKING\nif TYPE_CHECKING:", "import typing\nif typing.TYPE_CHECKING:", "if True:"],
)
def test_what_only_type_checkers_import_is_not_run(test: str, tmp_path: Path) -> None:
    """Packages that load their modules lazily import all of them under TYPE_CHECKING: reading these takes minutes."""
    (tmp_path / "part.py").write_text("import tensorflow as tf\n\nx = tf.zeros(4)\n")
    program = tmp_path / "program.py"
    program.write_text(f"import tensorflow as tf\n{test}\n    from part import *\n")
    project = Project([tmp_path], read)
    on_deep_stack(lambda: analyse(read(str(program)), project, "2.21"))
    assert (str(tmp_path / "part.py") in project.runs) is (test == "if True:")


def test_modules_of_a_large_project_are_all_read(tmp_path: Path) -> None:
    """A program that imports a helper is analysed alike, however many modules were read before it."""
    for number in range(2_500):
        (tmp_path / f"other{number}.py").write_text("x = 1\n")
    (tmp_path / "helper.py").write_text("import tensorflow as tf\n\n\ndef place():\n    return tf.device('/gpu:0')\n")
    program = tmp_path / "program.py"
    program.write_text("from helper import place\n\nwith place():\n    x = 1\n")

    project = Project([tmp_path], read)
    for number in range(2_500):
        assert project.syntax_of(str(tmp_path / f"other{number}.py")) is not None
    plan = on_deep_stack(lambda: analyse(read(str(program)), project, "2.21"))
    assert [known(event.argument) for event in plan.events if isinstance(event, DeviceEntered)] == ["/gpu:0"]


def stage(number: int) -> str:
    rows = "\n".join(f"    y = [print({one}), {one} * 2, -{one}]" for one in range(400))
    return f"def stage{number}(x):\n{rows}\n    return x\n"


def test_a_network_of_many_long_parts_hides_nothing_behind_it() -> None:
    stages = range(14)
    calls = "\n".join(f"stage{number}({number})" for number in stages)
    plan, _ = plan_of("".join(map(stage, stages)) + calls + "\nwith tf.device('/gpu:1'):\n    pass\n")
    assert any(bound == "steps" for bound, _ in plan.bounds)
    assert any(isinstance(event, DeviceEntered) for event in plan.events)


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets.shrink(monkeypatch)


def prepare(number: int) -> str:
    rows = "\n".join(f"    text = [text, text.strip('{one}'), len(text) * {one}]" for one in range(30))
    return f"def prepare{number}(text):\n{rows}\n    return text\n\n"


PLACE = "    with tf.device('/gpu:1'):\n        pass\n\n"
LONG = "".join(map(prepare, range(40)))
CALLS = "".join(f"    prepare{number}(tf.x{number}())\n" for number in range(40))


@pytest.mark.usefixtures("small_budget")
@pytest.mark.parametrize(
    "body",
    [
        f"def main():\n{CALLS}{PLACE}",
        f"def main():\n{CALLS}{PLACE}main()\n",
        f"def first():\n{CALLS}{CALLS}{CALLS}\ndef main():\n{PLACE}first()\nmain()\n",
    ],
    ids=["an entry point", "a function", "a function after another"],
)
def test_long_functions_do_not_hide_what_follows_their_calls(body: str) -> None:
    plan, _ = plan_of(LONG + body)
    assert any(bound == "steps" for bound, _ in plan.bounds)
    assert any(isinstance(event, DeviceEntered) for event in plan.events)


@pytest.mark.usefixtures("small_budget")
def test_a_call_that_is_cut_short_ends_alone() -> None:
    """What was assigned before it is still known."""
    entered = "    with tf.device(name):\n        pass\n\n"
    plan, _ = plan_of(f"{LONG}def main():\n    name = '/gpu:1'\n{CALLS}{entered}main()\n")
    assert [known(event.argument) for event in plan.events if isinstance(event, DeviceEntered)] == ["/gpu:1"]


def used_by_entries(nodes: int, number: int) -> list[int]:
    """Steps that each of `number` entry points may take before calls are cut short, if all of them take all."""
    steps = budget.Budget()
    steps.begin_entries(nodes)
    used = []
    for _ in range(number):
        steps.grant_entry()
        used.append(steps.limit - steps.taken)
        steps.taken = steps.limit
    return used


def test_the_entry_points_of_a_program_share_steps_by_its_size() -> None:
    short, long = used_by_entries(100, 40), used_by_entries(5_000, 40)
    assert sum(short) <= budget.MIN_STEPS_OF_ENTRIES + 100 * budget.STEPS_PER_NODE < sum(long)
    assert sum(used_by_entries(10**9, 40)) <= budget.MAX_STEPS_OF_ENTRIES
    assert short[0] > short[1] > short[2] > 0
    assert max(long) == budget.MAX_ENTRY_STEPS


def test_the_last_entry_point_may_take_all_that_is_left() -> None:
    steps = budget.Budget()
    steps.begin_entries(100)
    steps.grant_entry(is_last=True)
    assert steps.limit == budget.MIN_STEPS_OF_ENTRIES + 100 * budget.STEPS_PER_NODE


def test_the_own_functions_of_a_file_are_run_before_those_that_it_inherits(tmp_path: Path) -> None:
    """What it inherits is analysed in the other file, too: it must not take the steps of what is written here."""
    (tmp_path / "base.py").write_text(
        "import tensorflow as tf\n\n\nclass Base(tf.Module):\n"
        "    def inherited(self):\n        self.place('/gpu:0')\n\n"
        "    def place(self, device):\n        with tf.device(device):\n            pass\n"
    )
    program = tmp_path / "program.py"
    program.write_text(
        "from base import Base\n\n\nclass First(Base):\n    pass\n\n\n"
        "class Second(Base):\n    def own(self):\n        self.place('/gpu:1')\n"
    )
    plan = on_deep_stack(lambda: analyse(read(str(program)), Project([tmp_path], read), "2.21"))
    assert next(known(event.argument) for event in plan.events if isinstance(event, DeviceEntered)) == "/gpu:1"
