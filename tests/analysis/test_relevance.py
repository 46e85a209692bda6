"""Which programs are worth running for a subject."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.analysis import Project
from gpulint.analysis.relevance import Subject, calls_at_import, relevant_words
from gpulint.sources.decoding import decode
from gpulint.sources.source import Source

STRATEGY = Subject(frozenset({"MirroredStrategy"}))
DEVICE = Subject(frozenset({"device("}), r"gpu")

MODULES = {
    "main.py": "import parts\nparts.train(3)\n",
    "other.py": "from parts import count\ncount([])\n",
    "deep.py": "import shell\nshell.go()\n",
    "shell.py": "from parts import train as start\nimport parts\ndef go():\n    parts.train(1)\n",
    "parts.py": "def train(x):\n    return make(x)\ndef make(x):\n    return MirroredStrategy()\ndef count(x): pass\n",
    "at_import.py": "import side\n",
    "side.py": "strategy = MirroredStrategy()\n",
    "round_a.py": "import round_b\n",
    "round_b.py": "import round_a\n",
    "pinned.py": "with tf.device('/gpu:0'): pass\n",
    "read.py": "x.device; gpu\n",
    "handed.py": "with tf.device(name): pass\n",
    "broken.py": "print 1\n",
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
    ],
)
def test_a_program_is_relevant_where_it_or_what_it_uses_has_a_word(
    project: Project, tmp_path: Path, name: str, subject: Subject, relevant: bool
) -> None:
    source = read(str(tmp_path / name))
    assert source is not None
    words = relevant_words(project, source, [subject])
    assert words == (frozenset({word.rstrip("(") for word in subject.words}) if relevant else frozenset())


def test_importing_calls_what_the_imported_calls(project: Project, tmp_path: Path) -> None:
    assert calls_at_import(project, str(tmp_path / "at_import.py"), 2)
    assert not calls_at_import(project, str(tmp_path / "at_import.py"), 1)
    assert not calls_at_import(project, str(tmp_path / "parts.py"), 2)
    assert not calls_at_import(project, str(tmp_path / "round_a.py"), 5)
