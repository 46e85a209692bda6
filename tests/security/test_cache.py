"""A repository cannot make the cache delete, overwrite or trust anything that gpulint did not write."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from gpulint.caching.key import secret
from gpulint.caching.records import Malformed, of_examined, of_result, to_examined, to_result
from gpulint.caching.store import Store, refusal
from gpulint.checking import Checking
from gpulint.cli.main import main
from gpulint.linting.engine import Checker
from gpulint.settings import SettingsFinder
from tests.caching.projects import CATALOGUE, MAIN, make
from tests.checking import findings_of
from tests.fuzzing import json_mutated

PROGRAM = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
LONG_AGO = time.time() - 400 * 86_400

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such links")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a project beside a home directory whose files are all old."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / "empty").mkdir()
    (home / "thesis.tex").write_text("years of work")
    (home / ".ssh" / "id_rsa").write_text("secret")
    (home / "0.1.0-" / "x.json").parent.mkdir()
    (home / "0.1.0-" / "x.json").write_text("{}")
    for path in [home, *home.rglob("*")]:
        os.utime(path, (LONG_AGO, LONG_AGO))
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(project)
    return project


def contents(directory: Path) -> Mapping[str, object]:
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else "directory"
        for path in sorted(directory.rglob("*"))
    }


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str) -> Done:
    done = CliRunner().invoke(main, arguments)
    assert isinstance(done.exception, (SystemExit, type(None))), done.exc_info
    return Done(done.exit_code, done.stdout, done.stderr)


COMMANDS = [["check", "--fix", "."], ["clean"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("named", ["../home", "~/../home", "link/cache", "link", ".", "/"])
def test_a_configured_cache_stays_in_its_project(
    project: Path, named: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = project.parent / "home"
    monkeypatch.setenv("HOME", str(home))
    (project / "link").symlink_to(home)
    (project / "gpulint.toml").write_text(f"cache-dir = {json.dumps(named)}\n")
    before = contents(home)
    done = run(*command)
    assert contents(home) == before
    assert done.stderr.count("nothing is cached there") == 1, done.stderr
    assert done.returncode == (2 if command == ["clean"] else 1), done.stderr
    assert (project / "train.py").exists() and (project / "gpulint.toml").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("target", ["..", "../home", "../home/empty", "."])
def test_a_committed_link_is_no_cache(project: Path, target: str, command: list[str]) -> None:
    (project / ".gpulint_cache").symlink_to(target)
    before = contents(project.parent / "home")
    done = run(command[0], "--isolated", *command[1:])
    assert contents(project.parent / "home") == before
    assert "nothing is cached there" in done.stderr
    assert (project / "train.py").exists()


def test_a_link_within_the_cache_is_not_followed(project: Path) -> None:
    home = project.parent / "home"
    assert run("check").returncode == 1
    cache = project / ".gpulint_cache"
    (series,) = (path for path in cache.iterdir() if path.is_dir())
    shutil.rmtree(series)
    series.symlink_to(home)
    before = contents(home)
    for command in (["check"], ["clean"]):
        assert "which is not gpulint's" in run(*command).stderr
    assert contents(home) == before


@pytest.mark.parametrize("command", [*COMMANDS, ["clean", "--cache-dir", "."]], ids=" ".join)
@pytest.mark.parametrize("named", ["..", ".", "../home"])
def test_a_directory_with_other_files_is_refused_wherever_it_is_named(
    project: Path, named: str, command: list[str]
) -> None:
    everything = contents(project.parent / "home")
    done = run(*command, "--cache-dir", named)
    assert contents(project.parent / "home") == everything
    assert "which is not gpulint's" in done.stderr and done.returncode in (0, 1, 2)
    assert (project / "train.py").exists()


def test_what_a_check_wrote_does_not_make_a_project_look_like_a_cache(project: Path) -> None:
    run("check", "--cache-dir", str(project.parent / "cache"))
    for name in (".gitignore", "CACHEDIR.TAG", "pruned"):
        (project / name).write_bytes((project.parent / "cache" / ".gitignore").read_bytes())
    assert "train.py" in refusal(str(project))
    assert run("clean", "--cache-dir", ".").returncode == 2
    assert (project / "train.py").exists()


def test_cleaning_leaves_what_is_not_a_record(project: Path) -> None:
    run("check")
    cache = project / ".gpulint_cache"
    (series,) = (path for path in cache.iterdir() if path.is_dir())
    (series / "notes.txt").write_text("mine")
    (series / ("a" * 32 + ".z")).symlink_to(project / "train.py")
    assert run("clean").returncode == 0
    assert (series / "notes.txt").read_text() == "mine" and (project / "train.py").read_text() == PROGRAM
    assert not list(series.glob("*.z.*")) and len(list(series.glob("*.z"))) == 1


@pytest.mark.parametrize("where", ["project", "elsewhere"])
def test_a_cache_that_was_committed_is_not_believed_by_another_user(
    project: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attacker has the same gpulint, the same paths, and a program without the finding."""
    arguments = ["check", *(["--cache-dir", str(project.parent / "cache")] if where == "elsewhere" else [])]
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "attacker"))
    (project / "train.py").write_text(PROGRAM.replace('"/gpu:0"', "DEVICE"))
    assert run(*arguments).returncode == 0
    (cache,) = (
        (path.parent for path in project.parent.glob("*/.gitignore") if "home" not in path.parts)
        if (where == "elsewhere")
        else (project / ".gpulint_cache",)
    )
    honest = {path: path.read_bytes() for path in cache.rglob("*.z")}
    (project / "train.py").write_text(PROGRAM)
    assert run(*arguments).returncode == 1
    for path in cache.rglob("*.z"):  # the record of the harmless program in place of this program's
        data = honest.get(path) or next(iter(honest.values()))
        path.write_bytes(data)
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "victim"))
    done = run(*arguments)
    assert done.returncode == 1 and "GPU101" in done.stdout


def test_a_record_of_another_name_is_not_believed(project: Path) -> None:
    store = Store(str(project / "cache"), "0.1.0-" + "0" * 32, secret())
    store.put("a" * 32, ["for a"])
    (written,) = (project / "cache").rglob("*.z")
    shutil.copy(written, written.with_name("b" * 32 + ".z"))
    assert store.get("a" * 32) == ["for a"] and store.get("b" * 32) is None


def test_no_record_has_the_edits_of_a_fix(project: Path) -> None:
    (project / "train.py").write_text(PROGRAM.replace("\n\n", "\n\nmodel = tf.keras.Sequential()\n"))
    for form in ("text", "json", "sarif"):
        run("check", "--output-format", form)
    files = (project / ".gpulint_cache").rglob("*.z")
    records = [zlib.decompress(path.read_bytes().partition(b"\n")[2]).decode() for path in files]
    assert any("GPU101" in one for one in records)
    assert not any('"/GPU' in one or "content" in one for one in records)


def test_fixes_after_a_remembered_run_are_those_of_the_text_at_hand(project: Path) -> None:
    (project / "train.py").write_text(
        "import tensorflow as tf\n\nmodel = tf.keras.Sequential()\nwith tf.GradientTape(persistent=True) as tape:\n"
        "    loss = model(x)\ng = tape.gradient(loss, model.trainable_variables)\n"
    )
    run("check")
    for arguments in (["--diff"], ["--output-format", "json"]):
        remembering = run("check", "--unsafe-fixes", *arguments)
        assert remembering.stdout == run("check", "--unsafe-fixes", "-n", *arguments).stdout
    run("check", "--fix")
    assert "persistent" not in (project / "train.py").read_text()


def test_a_cache_directory_without_a_key_is_not_used(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.parent / "unusable").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "unusable"))
    done = run("check", "-v")
    assert done.returncode == 1 and "nothing was cached" in done.stderr
    assert not (project / ".gpulint_cache").exists()


# ------------------------------------------------------------------------------- records with faults


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], object, list[tuple[set[str], object]]]:
    """Records of a project as lists: (files, record of the run, records of the files with their provenance)."""
    root = tmp_path_factory.mktemp("project")
    make(root, MAIN)
    files = sorted(str(path) for path in root.rglob("*.py"))
    checker = Checker(SettingsFinder(root=str(root)), CATALOGUE)
    parts = checker.examine(files, files, {})
    result = Checker(SettingsFinder(root=str(root)), CATALOGUE).check(files)
    assert findings_of(result)
    known = [(set(part.readings), json.loads(json.dumps(of_examined(part)))) for part in parts]
    return files, json.loads(json.dumps(of_result(result))), known


def test_a_record_is_read_as_it_was_written(
    plain: tuple[list[str], object, list[tuple[set[str], object]]],
) -> None:
    files, run_record, parts = plain
    assert json.loads(json.dumps(of_result(to_result(run_record, files)))) == run_record
    for known, record in parts:
        assert json.loads(json.dumps(of_examined(to_examined(record, known)))) == record


def test_a_record_with_a_fault_is_malformed_and_nothing_else(
    plain: tuple[list[str], object, list[tuple[set[str], object]]],
) -> None:
    files, run_record, parts = plain
    refused = 0
    for seed in range(1500):
        rng = random.Random(seed)
        known, record = rng.choice(parts)
        for read, value, names in ((to_result, run_record, files), (to_examined, record, known)):
            mutated = json_mutated(rng, value)
            try:
                written = of_result(read(mutated, names)) if read is to_result else of_examined(read(mutated, names))
            except (Malformed, TypeError, ValueError):
                refused += 1
            else:
                assert _normal(json.loads(json.dumps(written))) == _normal(mutated)
    assert refused > 1000


def _normal(plain: Any) -> Any:
    """A record with sorted lists, since some of them are sets."""
    if isinstance(plain, dict):
        return sorted((key, _normal(value)) for key, value in plain.items())
    return sorted(map(_normal, plain), key=repr) if isinstance(plain, list) else plain


def test_a_finding_outside_of_the_run_is_malformed(
    plain: tuple[list[str], object, list[tuple[set[str], object]]],
) -> None:
    files, run_record, _ = plain
    text = json.dumps(run_record)
    with pytest.raises(Malformed):
        to_result(json.loads(text.replace(files[0], "/etc/passwd").replace(files[1], "/etc/passwd")), files[2:])


@pytest.mark.parametrize("row", [10**6, 99])
def test_a_place_behind_the_end_of_its_file_is_not_shown(
    project: Path, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    finder = SettingsFinder(root=str(project))
    checking = Checking(finder, finder.of_directory(str(project)), cache_directory="", edits=False)
    path = str(project / "train.py")
    checking([path], {})
    cache = checking.cache
    assert cache is not None
    (store,) = cache._stores.values()
    for file in (project / ".gpulint_cache").rglob("*.z"):
        provenance, content = store.get(file.stem)
        moved = json.loads(json.dumps(content).replace(f'["{path}", 3, 6, 3, 25', f'["{path}", {row}, 6, {row}, 25'))
        store.put(file.stem, [provenance, moved])
    again = Checking(finder, finder.of_directory(str(project)), cache_directory="", edits=False)([path], {})
    assert [one.span.row for one in findings_of(again.result)] == [3]
