"""`import gpulint`: the promised names with their signatures, and no effects on the process."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import threading
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path

import pytest

import gpulint

SNAPSHOT = Path(__file__).with_name("public_api.txt")

PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'


def described(name: str, value: object) -> list[str]:
    """A public name, with what its users can rely on."""
    if is_dataclass(value) and isinstance(value, type):
        return [f"class {name}", *(f"    {one.name}: {one.type}" for one in fields(value))]
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        kinds = value.__annotations__
        return [f"class {name}", *(f"    {one}: {getattr(kinds[one], '__forward_arg__', kinds[one])}" for one in kinds)]
    if isinstance(value, type) and issubclass(value, Enum):
        return [f"class {name}", *(f"    {one.name} = {one.value!r}" for one in value)]
    if isinstance(value, type) and issubclass(value, Exception):
        return [f"class {name}({value.__base__.__name__})"]
    if isinstance(value, type):
        public = (one for one in sorted(vars(value)) if not one.startswith("_") and callable(vars(value)[one]))
        return [f"class {name}", *(f"    def {one}" for one in public)]
    if inspect.isfunction(value):
        return [f"def {name}{inspect.signature(value)}"]
    return [f"{name}: {type(value).__name__}"]


def test_the_public_api_is_as_promised() -> None:
    """A change here affects every program that uses gpulint: add it to CHANGELOG.md."""
    names = [name for name in gpulint.__all__ if name != "KerasCallback"]  # its base is Keras's
    lines = [line for name in names for line in described(name, getattr(gpulint, name))]
    assert "\n".join(lines) + "\n" == SNAPSHOT.read_text("utf-8")


def test_only_public_names_are_listed() -> None:
    assert dir(gpulint) == sorted(gpulint.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        gpulint.nothing  # noqa: B018


def test_a_package_that_is_run_as_a_module_can_import_gpulint_first(tmp_path: Path) -> None:
    package = tmp_path / "train"
    package.mkdir()
    (package / "__init__.py").write_text("import gpulint\n")
    (package / "__main__.py").write_text("import train.steps, helpers\n\nprint('trained')\n")
    (package / "steps.py").write_text("import gpulint\n")
    (tmp_path / "helpers.py").touch()
    done = subprocess.run([sys.executable, "-m", "train"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("trained\n", "")


@pytest.mark.parametrize("name", ["__future__", "typing", "click", "traceback", "gpulint_rules"])
def test_the_command_runs_no_module_of_the_working_directory(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("open('ran', 'w').close()\n")
    command = [sys.executable, "-m", "gpulint", "version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and not (tmp_path / "ran").exists()


def test_nothing_of_the_process_is_changed_after_a_call(tmp_path: Path) -> None:
    def present() -> tuple[object, ...]:
        limits = sys.getrecursionlimit(), threading.stack_size(), gc.get_threshold(), gc.isenabled()
        return *limits, gc.get_freeze_count(), list(gc.callbacks), list(sys.path), threading.active_count()

    (tmp_path / "train.py").write_text(PINNED)
    before = present()
    gpulint.check_source(PINNED)
    gpulint.plan(PINNED)
    gpulint.check_paths([tmp_path], jobs=2)
    assert present() == before


THREADED = """\
import sys
import threading
import warnings

warnings.simplefilter("error")
import gpulint

if __name__ == "__main__":
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    forks = []
    if hasattr(__import__("os"), "register_at_fork"):
        __import__("os").register_at_fork(before=lambda: forks.append(1))
    result = gpulint.check_paths(sys.argv[1:], jobs=2)
    print([finding.code for finding in result.findings], result.errors, forks)
    end.set()
"""


def test_a_process_with_threads_is_not_forked(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PINNED)
    (tmp_path / "main.py").write_text(THREADED)
    command = [sys.executable, "main.py", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("['GPU101'] [] []\n", "")


def test_processes_that_cannot_start_are_replaced_by_this_one(tmp_path: Path) -> None:
    """Without `if __name__ == "__main__"` each process would run the script again."""
    (tmp_path / "program.py").write_text(PINNED)
    text = THREADED.replace('if __name__ == "__main__":', "if True:").replace("thread.start()", "thread.daemon = True")
    (tmp_path / "main.py").write_text(text.replace("thread.daemon = True", "thread.daemon = True; thread.start()"))
    command = [sys.executable, "main.py", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.stdout == "['GPU101'] [] []\n"


def test_every_function_reads_the_configuration_of_the_path_unless_it_is_given_settings(tmp_path: Path) -> None:
    (tmp_path / "gpulint.toml").write_text('[lint]\nignore = ["GPU101"]\n')
    path = tmp_path / "train.py"
    path.write_text(PINNED)
    defaults = gpulint.Settings(root=str(tmp_path))
    assert gpulint.check_paths([path]).findings == gpulint.check_source(PINNED, str(path)).findings == []
    for result in (gpulint.check_paths([path], defaults), gpulint.check_source(PINNED, str(path), defaults)):
        assert [one.code for one in result.findings] == ["GPU101"]
    (tmp_path / "gpulint.toml").write_text("[lint]\nignor = []\n")
    for call in (gpulint.check_source, gpulint.plan):
        with pytest.raises(gpulint.SettingsError, match="ignor"):
            call(PINNED, str(path))


def test_a_plan_has_notes_and_bounds_with_rows() -> None:
    text = "import tensorflow as tf\n\ndef f():\n    with tf.device('/gpu:0'):\n        tf.ones(2)\n\nf()\n"
    made = gpulint.plan(text, "train.py")
    (note,) = [one for one in made.notes if one.kind == "device"]
    assert (note.span.path, note.span.row, note.span.column) == ("train.py", 4, 10)
    assert "GPU:0" in note.text and note.certainty == "must" and note.via[0].span.row == 7
    loops = "import tensorflow as tf\n\ndef f(n):\n    return f(n - 1) if n else tf.ones(1)\n\nf(1000)\n"
    (bound,) = gpulint.plan(loops, "train.py").bounds
    assert bound.path == "train.py" and bound.span is not None and bound.span.path == "train.py" and bound.why
