"""Which programs can lead to events that a rule asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.analysis import Project
from gpulint.analysis.project.slicing import Relevance, Subject, calls_at_import, runs_at_import
from gpulint.analysis.project.tensorflow_imports import may_have_tensorflow
from gpulint.knowledge.words import HOST_RANDOM_WORDS
from gpulint.sources.decoding import decode
from gpulint.sources.source import Source

STRATEGY = Subject(frozenset({"MirroredStrategy"}))
DEVICE = Subject(frozenset({"device("}), r"gpu")
FIT = Subject(frozenset({"fit("}))
ENVIRONMENT = Subject(frozenset({"environ"}))

MODULES = {
    "main.py": "import parts\nparts.train(3)\n",
    "other.py": "from parts import count\ncount([])\n",
    "deep.py": "import shell\nshell.go()\n",
    "shell.py": "from parts import train as start\nimport parts\ndef go():\n    parts.train(1)\n",
    "parts.py": "import tensorflow as tf\ndef train(x):\n    return make(x)\n"
    "def make(x):\n    return MirroredStrategy()\ndef count(x): pass\n",
    "at_import.py": "import side\n",
    "side.py": "import tensorflow as tf\nstrategy = MirroredStrategy()\n",
    "round_a.py": "import round_b\n",
    "round_b.py": "import round_a\n",
    "pinned.py": "with tf.device('/gpu:0'): pass\n",
    "read.py": "x.device; gpu\n",
    "handed.py": "with tf.device(name): pass\n",
    "broken.py": "print 1\n",
    "torch_only.py": "import torch\nx = torch.device('gpu')\n",
    "passed_on.py": "from backend import api\nwith api.device('/gpu:0'): pass\n",
    "backend.py": "import tensorflow as api\n",
    "methods.py": "from loops import Loop, Other\ndef go():\n    Other().run()\n    Loop()\n",
    "another.py": "from loops import Other\ndef go():\n    Other().run()\n",
    "loops.py": "import tensorflow as tf\nclass Loop:\n    def run(self):\n        return MirroredStrategy()\n"
    "class Other:\n    pass\n",
    "picks.py": "import loops\ndef go(name):\n    return getattr(loops, name)().run()\n",
    "by_globals.py": "from table_of import go\ngo('make')\n",
    "beside_globals.py": "from table_of import stay\nstay('make')\n",
    "table_of.py": "from parts import make\nimport parts\ndef go(x):\n    return globals()[x]()\ndef stay(x): pass\n",
    "through_globals.py": "from table_of_tables import go\ngo('make')\n",
    "table_of_tables.py": "import table_of\ndef go(x):\n    return globals()['table_of'].go(x)\n",
    "by_self.py": "from tasks import Task\nTask().go('make')\n",
    "beside_self.py": "from tasks import Other\nOther().go('make')\n",
    "tasks.py": "import tensorflow as tf\nclass Task:\n    def go(self, x):\n        return getattr(self, x)()\n"
    "    def make(self):\n        return MirroredStrategy()\nclass Other:\n    def go(self, x):\n        return x\n",
    "inherits.py": "from loops import Loop\nclass Mine(Loop):\n    def go(self):\n        self.step()\n",
    "net.py": "import loops, keras\nclass Net(keras.Model):\n    def call(self):\n        loops.Loop().run()\n",
    "makes.py": "from net import Net\ndef make():\n    return Net()\n",
    "registers.py": "from registry import build\nbuild('a')\n",
    "registry.py": "import kinds\nKINDS = {}\ndef build(name):\n    return KINDS[name]()\n",
    "kinds.py": "import tensorflow as tf\n@register\ndef make():\n    return MirroredStrategy()\n",
    "exported.py": "from exports import export, export_as\n@export\nclass A: pass\n@export_as('b')\ndef b(): pass\n",
    "exports.py": "def export(x):\n    return x\nif 1:\n    class export_as:\n        def __call__(self, x): return\n",
    "command.py": "import click\n@click.command()\ndef main(): pass\n",
    "kept.py": "from keeps import keep\n@keep\nclass A: pass\n",
    "keeps.py": "KINDS = []\ndef keep(x):\n    return put(x)\ndef put(x):\n    KINDS.append(x)\n    return x\n",
    "marks.py": "import marked\nimport tensorflow as tf\ndef mark(x):\n    return lambda f: f\n"
    "def go():\n    return marked.make()\n",
    "marked.py": "import marks\n@marks.mark('a')\ndef make():\n    return MirroredStrategy()\n",
    "asks.py": "from parts import is_torch_available\nif is_torch_available(): x = 1\n",
    "fits.py": "import math\ndef go(model):\n    model.fit(1)\n",
    "fits_with.py": "import math\ndef go(model):\n    model.fit(1, use_multiprocessing=True)\n",
    "fits_its_own.py": "def fit(x): pass\nfit(1)\nclass Model: pass\n",
    "speaks_of_fit.py": "import re\nx = 'model.fit(1)'\ndef fit(x): pass\n",
    "devices.py": "import torch\ndef go(x):\n    return x.device('gpu'), torch.device('gpu')\n",
    "sets_variable.py": "from os import environ\nenviron['A'] = 1\n",
    "speaks_of_variable.py": "x = 'os.environ'\nx.upper()\n",
    "names.py": "import tables\ndef go():\n    return tables.kind('x')\n",
    "tables.py": "import os, numpy as np\ndef kind(x):\n    return {'x': 'MirroredStrategy'}[x]\n",
    "inside.py": "def go():\n    from tables import kind\n    import keras\n    return kind('x')\n",
    "outside.py": "import tables, somebodys_trainer\ndef go():\n    return tables.kind(somebodys_trainer.x)\n",
    "in_turn.py": "import inside\n",
    "typed.py": "import typing\nif typing.TYPE_CHECKING:\n    import keras\ndef go(model: 'keras.Model'): pass\n",
    "calls_typed.py": "import typed\n",
    "twice.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import keras\nelse:\n    import keras\n",
    "calls_twice.py": "import twice\n",
    "skips.py": "import pytest\ntf = pytest.importorskip('tensorflow')\n",
    "skips_another.py": "import pytest\npytest.importorskip('pygls')\nX = 'tf.device('\n",
    "names_the_call.py": "CALLS = ('importorskip(', '.importorskip(')\n",
    "writes_events.py": "from tensorboard.compat.proto.event_pb2 import Event\n",
    "unreadable.py": "import broken\n",
    "relative.py": "from . import missing\n",
    "defines.py": "import outside_call, sets\nfrom defines_too import x\ndef f(): pass\n",
    "defines_too.py": "import defines, sets\nx = 1\n",
    "sets.py": "import os\nos.environ['A'] = '1'\n",
    "outside_call.py": "import tensorflow as tf\nx = tf.zeros(3)\n",
    "on_condition.py": "import sys\nif sys.platform == 'linux':\n    import sets\n",
    "for_types.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sets\n",
    "draws.py": "import keras, numpy as np, random\ndef a(): np.random.normal()\ndef b(): random.random()\n"
    "def c(tf): tf.random.normal(())\n",
    "draws_too.py": "import keras\nfrom random import choice\ndef go(x): return choice(x)\n",
    "asks_for_gpu.py": "import tensorflow as tf\nx = tf.test.is_gpu_available()\n",
}


def read(path: str) -> Source | None:
    try:
        return decode(path, Path(path).read_bytes())
    except OSError:
        return None


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return Project([tmp_path], read)


@pytest.mark.parametrize(
    ("name", "subject", "relevant"),
    [
        ("parts.py", STRATEGY, True),
        ("main.py", STRATEGY, True),
        ("other.py", STRATEGY, False),
        ("deep.py", STRATEGY, True),
        ("at_import.py", STRATEGY, True),
        ("round_a.py", STRATEGY, False),
        ("pinned.py", STRATEGY, False),
        ("pinned.py", DEVICE, True),
        ("read.py", DEVICE, False),
        ("handed.py", DEVICE, False),
        ("broken.py", STRATEGY, True),
        ("torch_only.py", DEVICE, False),
        ("passed_on.py", DEVICE, True),
        ("methods.py", STRATEGY, True),
        ("another.py", STRATEGY, False),
        ("picks.py", STRATEGY, True),
        ("by_globals.py", STRATEGY, True),
        ("beside_globals.py", STRATEGY, False),
        ("through_globals.py", STRATEGY, True),
        ("by_self.py", STRATEGY, True),
        ("beside_self.py", STRATEGY, False),
        ("inherits.py", STRATEGY, True),
        ("makes.py", STRATEGY, True),
        ("registers.py", STRATEGY, True),
        ("names.py", STRATEGY, False),
        ("tables.py", STRATEGY, False),
        ("fits.py", FIT, True),
        ("fits_with.py", Subject(frozenset({"use_multiprocessing"})), True),
        ("fits_its_own.py", FIT, False),
        ("speaks_of_fit.py", FIT, False),
        ("devices.py", DEVICE, False),
        ("sets_variable.py", ENVIRONMENT, True),
        ("speaks_of_variable.py", ENVIRONMENT, False),
        ("outside.py", STRATEGY, True),
    ],
)
def test_a_program_is_relevant_where_it_or_what_it_uses_has_a_word(
    project: Project, tmp_path: Path, name: str, subject: Subject, relevant: bool
) -> None:
    source = read(str(tmp_path / name))
    assert source is not None
    words = Relevance(project, source, [subject]).of().words
    assert words == (frozenset({word.rstrip("(") for word in subject.words}) if relevant else frozenset())


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("backend.py", True),
        ("main.py", True),
        ("tables.py", False),
        ("names.py", False),
        ("inside.py", True),
        ("in_turn.py", True),
        ("outside.py", True),
        ("typed.py", True),
        ("calls_typed.py", False),
        ("calls_twice.py", True),
        ("skips.py", True),
        ("skips_another.py", False),
        ("names_the_call.py", False),
        ("writes_events.py", False),
        ("unreadable.py", True),
        ("relative.py", True),
        ("round_a.py", False),
        ("torch_only.py", False),
    ],
)
def test_a_program_may_have_tensorflow_if_something_that_it_imports_is_built_on_it(
    project: Project, tmp_path: Path, name: str, may: bool
) -> None:
    assert may_have_tensorflow(project, str(tmp_path / name)) is may


def test_importing_calls_what_the_imported_calls(project: Project, tmp_path: Path) -> None:
    assert calls_at_import(project, str(tmp_path / "at_import.py"), 2)
    assert not calls_at_import(project, str(tmp_path / "at_import.py"), 1)
    assert not calls_at_import(project, str(tmp_path / "parts.py"), 2)
    assert not calls_at_import(project, str(tmp_path / "round_a.py"), 5)


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("sets.py", [("sets.py", 0)]),
        ("defines.py", [("outside_call.py", 1), ("sets.py", 1)]),
        ("defines_too.py", [("outside_call.py", 2), ("sets.py", 2)]),
        ("on_condition.py", [("on_condition.py", 0)]),
        ("for_types.py", []),
        ("parts.py", []),
    ],
)
def test_of_what_an_import_leads_to_only_what_calls_something_is_run(
    project: Project, tmp_path: Path, name: str, runs: list[tuple[str, int]]
) -> None:
    found = runs_at_import(project, str(tmp_path / name), name[:-3], 3)
    assert [(Path(one.path).name, one.hops) for one in found] == runs


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("exported.py", False),
        ("command.py", False),
        ("kept.py", True),
        ("kinds.py", True),
        ("asks.py", False),
        ("asks_for_gpu.py", True),
    ],
)
def test_decorators_matter_where_they_may_keep_something(
    project: Project, tmp_path: Path, name: str, calls: bool
) -> None:
    assert calls_at_import(project, str(tmp_path / name), 1) is calls


@pytest.mark.parametrize(
    ("name", "node", "leads"),
    [
        ("methods.py", ("methods.py", "go"), True),
        ("inherits.py", ("inherits.py", "Mine.go"), False),
        ("inherits.py", ("loops.py", "Loop.run"), True),
        ("makes.py", ("makes.py", "make"), True),
        ("net.py", ("net.py", "Net"), True),
        ("parts.py", ("parts.py", "train"), True),
        ("parts.py", ("parts.py", "count"), False),
        ("marks.py", ("marks.py", "go"), True),
        ("marks.py", ("marks.py", "mark"), False),
    ],
)
def test_of_a_program_only_what_leads_to_a_word_need_be_run(
    project: Project, tmp_path: Path, name: str, node: tuple[str, str], leads: bool
) -> None:
    source = read(str(tmp_path / name))
    assert source is not None
    relevant = Relevance(project, source, [STRATEGY]).of()
    assert relevant.has((str(tmp_path / node[0]), node[1])) is leads


def test_a_graph_mode_file_is_run_for_those_who_speak_of_such_files(project: Project, tmp_path: Path) -> None:
    source = read(str(tmp_path / "parts.py"))
    assert source is not None
    subjects = [STRATEGY._replace(in_graph_mode=False), Subject(frozenset({"make("}))]
    assert Relevance(project, source, subjects).of().words == {"MirroredStrategy", "make"}
    assert Relevance(project, source, subjects).of(graph_mode=True).words == {"make"}


def test_words_can_count_in_the_file_itself_alone(project: Project, tmp_path: Path) -> None:
    own = STRATEGY._replace(in_own_file=True)
    for name, relevant in (("parts.py", True), ("main.py", False)):
        source = read(str(tmp_path / name))
        assert source is not None
        assert bool(Relevance(project, source, [own]).of().words) is relevant
        assert Relevance(project, source, [STRATEGY]).of().words


@pytest.mark.parametrize(
    ("name", "function", "leads"),
    [
        ("draws.py", "a", True),
        ("draws.py", "b", True),
        ("draws.py", "c", False),
        ("draws_too.py", "go", True),
    ],
)
def test_random_numbers_of_the_host_differ_from_those_of_tensorflow(
    project: Project, tmp_path: Path, name: str, function: str, leads: bool
) -> None:
    source = read(str(tmp_path / name))
    assert source is not None
    relevant = Relevance(project, source, [Subject(HOST_RANDOM_WORDS)]).of()
    assert relevant.has((str(tmp_path / name), function)) is leads
