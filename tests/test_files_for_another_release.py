"""Files that the other files of a project import only for another TensorFlow release."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.selection import Catalogue
from gpulint.settings import Settings, SettingsFinder
from tests.checking import PACK, findings_of

OLD = """
import tensorflow as tf


def gathered(model, data):
    model.fit_generator(data)
    with tf.compat.v1.variable_scope("a", reuse=tf.AUTO_REUSE):
        return tf.keras.backend.learning_phase()
"""

NEW = """
import tensorflow as tf


def gathered(model, data):
    model.fit(data)
    return tf.zeros(1)
"""


def reported(directory: Path, files: dict[str, str]) -> set[str]:
    """The files with findings about removed names."""
    for name, text in files.items():
        path = directory / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    paths = sorted(str(path) for path in directory.rglob("*.py"))
    finder = SettingsFinder(Settings(root=str(directory), target_origin="requirements.txt"))
    found = findings_of(Checker(finder, Catalogue(PACK)).check(paths))
    return {Path(one.span.path).stem for one in found if one.code == "GPU901"}


@pytest.mark.parametrize(
    ("check", "is_silent"),
    [
        ("if tf.__version__ < '2':\n    from old import gathered\nelse:\n    from new import gathered", True),
        ("if tf.__version__ >= '2.0.0':\n    from new import gathered\nelse:\n    from old import gathered", True),
        (
            "if int(tf.__version__.split('.')[0]) == 2:\n    from new import gathered\n"
            "else:\n    from old import gathered",
            True,
        ),
        ("if tf.__version__.startswith('1.'):\n    import old as ways\nelse:\n    import new as ways", True),
        ("if not IS_TF_1:\n    from new import gathered\nelse:\n    from old import gathered", True),
        ("try:\n    from new import gathered\nexcept ImportError:\n    from old import gathered", True),
        ("def ways():\n    if tf.__version__ < '2':\n        import old\n        return old\n    import new", True),
        ("if tf.__version__ >= '2.0.0':\n    from old import gathered\nelse:\n    from new import gathered", False),
        ("if not tf.__version__ < '2':\n    from old import gathered", False),
        ("if len(sys.argv) > 2:\n    from old import gathered\nelse:\n    from new import gathered", False),
        ("try:\n    from .old import gathered\nexcept ImportError:\n    from old import gathered", False),
        ("try:\n    from old import gathered\nexcept ImportError:\n    gathered = None", False),
        ("from old import gathered", False),
    ],
)
def test_a_file_that_is_imported_on_a_check(check: str, is_silent: bool, tmp_path: Path) -> None:
    main = f"import sys\n\nimport tensorflow as tf\n\nIS_TF_1 = tf.__version__ < '2'\n{check}\n"
    assert reported(tmp_path, {"old": OLD, "new": NEW, "main": main}) == (set() if is_silent else {"old"})


CHECKED = "import tensorflow as tf\n\nif tf.__version__ < '2':\n    from old import gathered\n"


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("", set()),
        ("from old import gathered\n", {"old"}),
        ("def later():\n    import old\n    return old.gathered\n", {"old"}),
    ],
)
def test_another_file_that_imports_it_on_no_condition(other: str, expected: set[str], tmp_path: Path) -> None:
    assert reported(tmp_path, {"old": OLD, "main": CHECKED, "other": other}) == expected


def test_what_such_a_file_imports_is_for_that_release_too(tmp_path: Path) -> None:
    files = {"old": "from deeper import gathered\n", "deeper": OLD, "main": CHECKED}
    assert reported(tmp_path, files) == set()
    assert reported(tmp_path, {**files, "other": "import deeper\n"}) == {"deeper"}


def test_a_package_that_is_imported_on_a_check(tmp_path: Path) -> None:
    main = "import tensorflow as tf\n\nif tf.__version__ < '2':\n    from old.ways import gathered\n"
    files = {"old/__init__": OLD, "old/ways": "from . import gathered\n", "main": main}
    assert reported(tmp_path, files) == set()


@pytest.mark.parametrize("end", ["\nif __name__ == '__main__':\n    gathered(tf.keras.Sequential(), read())\n", ""])
def test_a_program_of_its_own_is_no_such_file(end: str, tmp_path: Path) -> None:
    assert reported(tmp_path, {"old": OLD + end, "main": CHECKED}) == ({"old"} if end else set())


def test_a_file_that_nobody_imports_is_read_as_it_is(tmp_path: Path) -> None:
    assert reported(tmp_path, {"old": OLD, "main": "import tensorflow as tf\n"}) == {"old"}
