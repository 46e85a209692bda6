"""Hostile repositories by seed, and what must hold for a check of each."""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.caching.key import secret
from gpulint.caching.store import Store
from gpulint.cli.main import main
from tests.caching.projects import CALLERS, HELPERS, NOTEBOOKS
from tests.fuzzing import json_mutated, mutated
from tests.security.test_git import TRAPS, program
from tests.security.test_special_files import DESCRIBING, KINDS, terabyte

FORMATS = ("text", "json", "concise", "sarif")


@contextmanager
def stage() -> Iterator[Path]:
    """A project as working directory, beside a home directory that must not change."""
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        home, project = Path(directory, "home"), Path(directory, "project")
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "id_rsa").write_text("secret")
        (home / "thesis.py").write_text(CALLERS[0])
        project.mkdir()
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CACHE_HOME", str(Path(directory, "cache")))
        patch.setenv("XDG_CONFIG_HOME", str(Path(directory, "config")))
        patch.delenv("GPULINT_CACHE_DIR", raising=False)
        patch.chdir(project)
        before = contents(home)
        yield project
        assert contents(home) == before, "the home directory was changed"


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a command that must not raise."""
    done = CliRunner().invoke(main, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
    return done.exit_code, done.stdout, done.stderr


def _programs(rng: random.Random, project: Path) -> None:
    (project / "helpers.py").write_bytes(rng.choice(HELPERS).encode("latin-1"))
    (project / "main.py").write_text(rng.choice(CALLERS))
    (project / "notes.ipynb").write_text(rng.choice(NOTEBOOKS))


def judge_cache(rng: random.Random) -> None:
    """Damaged records, signed with the user's own key or not, change no finding and break nothing."""
    with stage() as project:
        _programs(rng, project)
        form = rng.choice(FORMATS)
        expected = run("check", "--output-format", form, "-n")
        assert run("check", "--output-format", form)[:2] == expected[:2]
        records = {path: path.read_bytes() for path in sorted(project.rglob(".gpulint_cache/*/*.z"))}
        for path in records:
            _spoil(rng, path, rng.choice(list(records.values())))
        is_signed = rng.random() < 0.5
        for path in sorted(project.rglob(".gpulint_cache/*/*.z")) if is_signed else ():
            store = Store(str(path.parent.parent), path.parent.name, secret())
            if path.is_file() and (found := store.get(path.stem)) is not None:
                store.put(path.stem, json_mutated(rng, found))
        status, output, _ = run("check", "--output-format", form)
        assert status in (0, 1, 2) and (is_signed or (status, output) == expected[:2])
        run("check", "--fix")
        run("clean")


def _spoil(rng: random.Random, path: Path, other: bytes) -> None:
    kind = rng.randrange(8)
    if kind == 0:
        path.write_bytes(mutated(rng, path.read_bytes()))
    elif kind == 1:
        path.write_bytes(other)
    elif kind == 2:
        path.unlink()
        path.symlink_to(rng.choice(["/dev/zero", "../../main.py", "../../../home/thesis.py", path.name]))
    elif kind == 3:
        path.unlink()
        rng.choice(KINDS)(path)
    elif kind == 4:
        digest, _, content = path.read_bytes().partition(b"\n")
        path.write_bytes(
            digest + b"\n" + zlib.compress(json.dumps(json_mutated(rng, json.loads(zlib.decompress(content)))).encode())
        )


def judge_special_files(rng: random.Random) -> None:
    """A tree with pipes, devices, cycles and links in place of files is checked completely."""
    with stage() as project:
        _programs(rng, project)
        folder = project
        for _ in range(rng.randrange(3)):
            folder = folder / rng.choice(["src", "pkg", "a b", "é"])
        folder.mkdir(parents=True, exist_ok=True)
        names = [*DESCRIBING, "z.py", "z.ipynb", ".gpulint_cache", "conf/x.yml", "requirements/dev.txt", "conftest.py"]
        for name in rng.sample(names, rng.randrange(1, 6)):
            path = rng.choice([project, folder]) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            make = rng.choice(KINDS)
            if os.path.lexists(path) or (make is terabyte and name.endswith(".toml")):
                continue
            if rng.random() < 0.3:
                path.symlink_to(rng.choice(["..", "../home", "/", "/dev/zero", "/proc/self/mem", "main.py", "gone"]))
            else:
                make(path)
                (path.parent / "pipe").unlink(missing_ok=True)
        for arguments in (["check"], ["check", "--fix", "--unsafe-fixes", "-n"], ["check", "--show-files"], ["clean"]):
            status, _, errors = run(*arguments)
            assert status in (0, 1, 2) and (status != 2 or errors.count("\n") >= 1)


def judge_git(rng: random.Random) -> None:
    """`--since` in a repository with traps starts no program, whatever else is wrong with it."""
    with stage() as project, pytest.MonkeyPatch.context() as patch:
        for variable in [name for name in os.environ if name.startswith("GIT_")]:
            patch.delenv(variable)
        fired = project.parent / "fired"
        trap = program(project.parent / "hooks" / "trap", fired)
        for name in ("post-index-change", "pre-commit", "fsmonitor-watchman", "reference-transaction"):
            program(project.parent / "hooks" / name, fired)
        _programs(rng, project)
        _git(project, "init", "-q")
        _git(project, "add", ".")
        _git(project, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "first")
        _programs(rng, project)
        settings = {"trap": trap, "hooks": trap.parent, "included": project / ".git" / "included"}
        chosen = rng.sample(sorted(TRAPS), rng.randrange(1, 5))
        Path(settings["included"]).write_text(f"[core]\n\tfsmonitor = {trap}\n")
        for name in chosen:
            for one in TRAPS[name].settings:
                key, _, value = one.format(**settings).partition("=")
                _git(project, "config", key, value)
        attributes = [TRAPS[name].attributes for name in chosen if TRAPS[name].attributes]
        (project / ".gitattributes").write_text("".join(f"* {one}\n" for one in attributes))
        if rng.random() < 0.4:
            path = rng.choice(sorted(path for path in (project / ".git").rglob("*") if path.is_file()))
            data = path.read_bytes()
            path.chmod(0o644)
            path.write_bytes(mutated(rng, data))
        fired.unlink(missing_ok=True)
        for arguments in ([], ["--fix", "--unsafe-fixes"], ["--output-format", "json"]):
            status, _, errors = run("check", "-n", "--since", "HEAD", *arguments)
            assert status in (0, 1, 2) and (status != 2 or errors.count("\n") == 1), errors
        assert not fired.exists(), f"git ran a program: {chosen}"


def _git(project: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True)


JUDGES: dict[str, Callable[[random.Random], None]] = {
    "cache": judge_cache,
    "special-files": judge_special_files,
    "git": judge_git,
}
