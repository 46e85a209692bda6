"""The outline of a file: imports, words of definitions, calls that run on import."""

from __future__ import annotations

import pytest

from gpulint.knowledge.words import HOST_RANDOM_WORDS
from gpulint.sources.source import Source
from gpulint.syntax.outline import Imported, Outline, identifiers, in_any_form, outline


def look(text: str) -> Outline:
    found = outline(Source("a.py", text.encode(), text, "utf-8"))
    assert found is not None
    return found


PROGRAM = '''"""Speaks of MirroredStrategy."""
import os, tensorflow as tf
from .parts import (
    encoder,
    decoder as d,
)
try:
    import fast
except ImportError:
    from slow import *  # TPUStrategy
LIMIT = max(3, 4)

@register("x")
def build(units):
    """Mentions set_memory_growth."""
    return tf.device ("/gpu:0"), "CUDA_VISIBLE_DEVICES"

class Trainer(Base, nets.Base, {}, Generic[T]):
    device = None

    def train(self):
        return self.fit()
'''


def test_imports_are_those_of_the_module_itself() -> None:
    assert look(PROGRAM).imports == (
        Imported("os", 0, (), ("os",)),
        Imported("tensorflow", 0, (), ("tf",)),
        Imported("parts", 1, ("encoder", "decoder"), ("encoder", "d")),
        Imported("fast", 0, (), ("fast",)),
        Imported("slow", 0, ("*",), ("*",)),
    )


def test_a_definition_has_the_words_of_its_code_and_decorators() -> None:
    build = look(PROGRAM).definitions["build"]
    assert {"register(", ".device(", "CUDA_VISIBLE_DEVICES", "tf"} <= build.words
    assert build.words.isdisjoint({"set_memory_growth", "device", "Trainer"})
    assert (build.bases, build.registered_by) == (None, ("register",))


def test_words_have_the_names_of_what_is_imported_under_others() -> None:
    found = look(
        "from os import environ as env\nfrom tensorflow import device as on, zeros\nenv['A'] = '1'\n"
        "def pinned():\n    with on('/gpu:0'):\n        return zeros(3)\n"
        "class Net:\n    def call(self):\n        on('')\n"
    )
    assert {"env", "environ"} <= found.body
    assert "device(" not in found.body
    assert {"on(", "device("} <= found.definitions["pinned"].words
    assert "device(" in found.definitions["Net"].methods["call"]


def test_targets_of_one_assignment_do_not_each_have_the_words_of_all() -> None:
    names = [f"a{number}" for number in range(50)]
    definitions = look(" = ".join((*names, "tf.device(b)"))).definitions
    assert {"tf", ".device(", "b", *names} <= definitions["a0"].words
    assert [definitions[name].words for name in names[1:]] == [{"a0", name} for name in names[1:]]
    assert all(one.is_variable for one in definitions.values())
    assert not look(PROGRAM).definitions["build"].is_variable


def test_a_class_has_its_bases_and_the_words_of_its_methods() -> None:
    trainer = look(PROGRAM).definitions["Trainer"]
    assert trainer.bases == ("Base", "nets.Base", "", "Generic")
    assert "device" in trainer.words
    assert {"self", ".fit("} <= trainer.methods["train"]
    assert ".fit(" not in trainer.words
    assert {"device", ".fit("} <= trainer.all_words


def test_docstrings_comments_and_imports_say_nothing() -> None:
    assert look(PROGRAM).words.isdisjoint({"MirroredStrategy", "TPUStrategy", "encoder", "fast"})


def test_statements_on_the_row_of_an_import_count() -> None:
    first = look("before(); import os; os.environ['A'] = 0; import sys; after()\n")
    assert {"before(", ".environ", "after("} <= first.words
    assert not {"import", "sys"} & first.words


def test_a_pattern_that_is_compiled_is_no_model() -> None:
    words = look("import re\nPATTERN = re.compile('a')\nmodel.compile('sgd')\n").definitions["PATTERN"].words
    assert {"re", "compile("} <= words
    assert ".compile(" not in words
    assert ".compile(" in look("model.compile('sgd')\n").words


@pytest.mark.parametrize(
    ("code", "draws"),
    [
        ("np.random.normal()", True),
        ("numpy.random.default_rng(0)", True),
        ("random.choice(x)", True),
        ("tf.random.normal(())", False),
        ("self.random.x()", False),
    ],
)
def test_random_numbers_of_python_and_numpy_have_a_mark(code: str, draws: bool) -> None:
    assert look(f"{code}\n").words.isdisjoint(HOST_RANDOM_WORDS) is not draws


def test_the_rest_is_the_body() -> None:
    assert {"LIMIT", "max("} <= look(PROGRAM).body
    assert "tf" not in look(PROGRAM).body


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("import a\nX = 3\n", False),
        ("T = TypeVar('T')\nlogger = logging.getLogger(__name__)\n", False),
        ("def f():\n    return g()\n", False),
        ("x = tf.zeros(3)\n", True),
        ("if a:\n    setup()\n", True),
    ],
)
def test_calls_at_import_are_those_outside_definitions(text: str, calls: bool) -> None:
    assert look(text).calls_at_import is calls


def test_what_is_no_python_has_no_outline() -> None:
    assert outline(Source("a.py", b"print 1", "print 1", "utf-8")) is None


def test_a_word_can_be_called_and_stand_behind_a_dot_a_call_must_be_one() -> None:
    assert in_any_form(frozenset({"fit", "device("})) == {"fit", "fit(", "device(", ".fit", ".fit(", ".device("}
    assert identifiers(frozenset({".fit(", "fit", "device("})) == {"fit", "device"}


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("from .nets import cnn\nfrom ..data import load\nimport os\n", 2),
        ("from nets import cnn\n", 0),
        ("try:\n    from ..data import load\nexcept ImportError:\n    from data import load\n", 0),
        ("def f():\n    from . import nets\n", 0),
    ],
)
def test_the_packages_that_a_file_is_in(text: str, depth: int) -> None:
    assert look(text).depth == depth
