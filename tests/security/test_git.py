"""`--since` starts no program that a repository names, and reports a damaged repository in one line."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
from gpulint.sources.changes import NoChanges, changes_since
from gpulint.sources.git import Limits

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the traps are shell scripts, pipes and links")

OLD = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
NEW = OLD + '\nwith tf.device("/gpu:1"):\n    y = tf.zeros(4)\n'
FOUND = ["train.py:6:6: warning[GPU101]"]
SECONDS = 60


class Trap(NamedTuple):
    """Settings of a repository in which {trap} is a program, attributes of its files, and the git command that triggers
    it."""

    settings: tuple[str, ...]
    attributes: str = ""
    command: tuple[str, ...] = ("diff", "HEAD")


TRAPS = {
    "fsmonitor": Trap(("core.fsmonitor={trap}",)),
    "hooks": Trap(("core.hooksPath={hooks}",), command=("status",)),
    "clean filter": Trap(("filter.x.clean={trap}", "filter.x.required=true"), "filter=x"),
    "process filter": Trap(("filter.x.process={trap}",), "filter=x"),
    "external diff": Trap(("diff.external={trap}",)),
    "diff driver": Trap(("diff.x.command={trap}",), "diff=x"),
    "textconv": Trap(("diff.x.textconv={trap}",), "diff=x"),
    "included settings": Trap(("include.path={included}",)),
    "pager": Trap(("core.pager={trap}",), command=("log",)),
    "pager of a command": Trap(("pager.diff-index={trap}",), command=("diff-index", "HEAD")),
}


@pytest.fixture(autouse=True)
def _guarded() -> Iterator[None]:
    """Fail instead of hanging."""

    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with the marker that a trap leaves."""
    home = tmp_path / "home"
    home.mkdir()
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


@pytest.fixture
def fired(tmp_path: Path) -> Path:
    """The mark of a triggered trap."""
    return tmp_path / "fired"


@pytest.fixture
def trap(tmp_path: Path, fired: Path) -> Path:
    """A program that no run of gpulint may start."""
    return program(tmp_path / "trap", fired)


@pytest.fixture
def repository(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a new finding, but unchanged size and time."""
    repository = tmp_path / "repository"
    make_repository(repository)
    monkeypatch.chdir(repository)
    return repository


def program(path: Path, fired: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho fired >> {shlex.quote(str(fired))}\nexit 1\n")
    path.chmod(0o755)
    return path


def make_repository(path: Path) -> None:
    path.mkdir()
    (path / "train.py").write_text(OLD)
    (path / "other.py").write_text(OLD)
    git(path, "init", "-q")
    git(path, "add", ".")
    git(path, "commit", "-qm", "first")
    (path / "train.py").write_text(NEW)
    os.utime(path / "other.py", (1, 1))


def git(directory: Path, *arguments: str, given: str = "") -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    line = ["git", *identity, *arguments]
    done = subprocess.run(line, cwd=directory, check=True, capture_output=True, text=True, input=given)
    return done.stdout.strip()


def set_off(directory: Path, *command: str) -> None:
    """Run git as a user at a terminal would."""
    controller, terminal = os.openpty()
    environment = {**os.environ, "PAGER": "cat"}
    line = ["git", *command]
    subprocess.run(line, cwd=directory, stdin=subprocess.DEVNULL, stdout=terminal, env=environment, check=False)
    os.close(terminal)
    os.close(controller)


def check(*arguments: str) -> tuple[list[str], str]:
    """Findings that are new since HEAD, and standard error."""
    line = ["check", "--since", "HEAD", "--no-cache", "--isolated", "--output-format", "concise", *arguments]
    result = CliRunner().invoke(main, line)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return [" ".join(line.split()[:2]) for line in result.stdout.splitlines() if ": warning[GPU" in line], result.stderr


def outcome(limits: Limits) -> str:
    """The error of a query for the changes of a file, or `answered`."""
    try:
        changes_since("HEAD", limits=limits).has_rows("train.py", 6, 6)
    except NoChanges as error:
        return str(error)
    return "answered"


def contents(*directories: Path) -> Mapping[Path, object]:
    paths = [path for directory in directories for path in directory.rglob("*")]
    return {path: path.read_bytes() if path.is_file() else path.lstat().st_mode for path in paths}


# ---------------------------------------------------------------------- programs in the settings


@pytest.mark.parametrize("name", TRAPS)
def test_no_configured_program_is_started(name: str, repository: Path, home: Path, trap: Path, fired: Path) -> None:
    settings, attributes, command = TRAPS[name]
    hooks = program(trap.parent / "hooks" / "post-index-change", fired).parent
    included = trap.parent / "included"
    included.write_text(f"[core]\n\tfsmonitor = {trap}\n")
    for setting in settings:
        git(repository, "config", *setting.format(trap=trap, hooks=hooks, included=included).split("=", 1))
    (repository / ".gitattributes").write_text(f"*.py {attributes}\n")
    before = contents(repository, home)
    assert check() == (FOUND, "")
    assert not fired.exists()
    assert contents(repository, home) == before
    set_off(repository, *command)
    assert fired.exists(), "this trap does not work"


def test_no_hook_of_the_repository_is_started(repository: Path, trap: Path, fired: Path) -> None:
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    program(repository / ".git" / "hooks" / "post-index-change", fired)
    assert check() == (FOUND, "")
    assert not fired.exists()
    set_off(repository, "status")
    assert fired.exists(), "this trap does not work"


def test_no_program_of_a_submodule_is_started(repository: Path, trap: Path, fired: Path) -> None:
    make_repository(repository / "sub")
    git(repository, "add", "sub")
    git(repository, "commit", "-qm", "second", "sub")
    git(repository / "sub", "config", "core.fsmonitor", str(trap))
    assert check("train.py") == (FOUND, "")
    assert not fired.exists()
    set_off(repository, "status")
    assert fired.exists(), "this trap does not work"


def test_an_embedded_bare_repository_is_not_used(
    repository: Path, trap: Path, fired: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded = repository / "docs"
    git(repository, "clone", "-q", "--bare", ".", "docs")
    git(embedded, "config", "core.fsmonitor", str(trap))
    git(embedded, "config", "core.worktree", str(embedded))
    git(embedded, "config", "core.bare", "false")
    (embedded / "train.py").write_text(NEW)
    monkeypatch.chdir(embedded)
    check()
    assert not fired.exists()
    set_off(embedded, "diff", "HEAD", "--")
    assert fired.exists(), "this trap does not work"


def test_a_working_tree_elsewhere_is_refused(repository: Path, home: Path) -> None:
    git(repository, "config", "core.worktree", str(home))
    message = f"gpulint: --since: the working tree of this repository is elsewhere: {home}\n"
    assert check() == ([], message)


# -------------------------------------------------------------------- programs in the environment


@pytest.mark.parametrize("entry", ["", ".", "bin", "{repository}", "{repository}/bin", "{link}"])
def test_git_is_not_taken_from_the_checked_folder(
    entry: str, repository: Path, trap: Path, fired: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for directory in (repository, repository / "bin"):
        directory.mkdir(exist_ok=True)
        (directory / "git").symlink_to(trap)
        (directory / "git-remote-none").symlink_to(trap)
    link = trap.parent / "tools"
    link.mkdir()
    (repository / "bin" / "real").write_bytes(trap.read_bytes())
    (repository / "bin" / "real").chmod(0o755)
    (link / "git").symlink_to(repository / "bin" / "real")
    entry = entry.format(repository=repository, link=link)
    monkeypatch.setenv("PATH", os.pathsep.join([entry, os.environ["PATH"]]))
    assert check() == (FOUND, "")
    monkeypatch.setenv("PATH", entry)
    found, said = check()
    assert (found, said.count("\n")) == ([], 1)
    assert said.startswith("gpulint: --since: git cannot be run: ")
    assert not fired.exists()


def test_variables_of_git_do_not_start_programs_or_write_files(
    repository: Path, home: Path, trap: Path, fired: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EXTERNAL_DIFF", "PAGER", "SSH_COMMAND", "ASKPASS", "PROXY_COMMAND", "EDITOR"):
        monkeypatch.setenv(f"GIT_{name}", str(trap))
    for name in ("TRACE", "TRACE2", "TRACE_SETUP", "TRACE_PACKET"):
        monkeypatch.setenv(f"GIT_{name}", str(fired))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap))
    assert check() == (FOUND, "")
    assert not fired.exists()
    set_off(repository, "diff", "HEAD")
    assert fired.exists(), "this trap does not work"


# ------------------------------------------------------------------------------ missing objects


REMOTES = {
    "ext": ("remote.evil.url=ext::sh -c {trap}", "protocol.ext.allow=always"),
    "upload-pack": ("remote.evil.url={repository}", "remote.evil.uploadpack={trap}"),
    "ssh": ("remote.evil.url=ssh://localhost/x", "core.sshCommand={trap}"),
    "proxy": ("remote.evil.url=git://localhost/x", "core.gitProxy={trap}"),
}


@pytest.mark.parametrize("name", REMOTES)
def test_nothing_is_fetched(name: str, repository: Path, home: Path, trap: Path, fired: Path) -> None:
    settings = (*REMOTES[name], "remote.evil.promisor=true", "extensions.partialClone=evil")
    git(repository, "config", "core.repositoryFormatVersion", "1")
    for setting in settings:
        git(repository, "config", *setting.format(trap=trap, repository=repository).split("=", 1))
    missing = git(repository, "rev-parse", "HEAD:train.py")
    (repository / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    before = contents(repository, home)
    message = "this partial clone lacks contents of the revision; `git diff --stat REV` fetches them"
    assert check() == ([], f"gpulint: --since: train.py: {message}\n")
    assert not fired.exists()
    assert contents(repository, home) == before
    set_off(repository, "diff", "HEAD")
    assert fired.exists(), "this trap does not work"


# ------------------------------------------------------------------------- special and huge files


@pytest.mark.parametrize(
    "name", ["config", "HEAD", "index", "packed-refs", "info/attributes", "refs/heads/main", "pipe"]
)
def test_a_pipe_in_the_repository_does_not_hang_git(name: str, repository: Path) -> None:
    git(repository, "branch", "-M", "x")
    git(repository, "config", "include.path", "pipe")
    pipe = repository / ".git" / name
    pipe.parent.mkdir(exist_ok=True)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    assert outcome(Limits(seconds=0.5)) in {"git did not answer within 0.5 s", "answered"}


@pytest.mark.parametrize("name", [".gitattributes", ".gitmodules", ".mailmap", "train.py", "other.py"])
def test_a_pipe_in_the_working_tree_does_not_hang_git(name: str, repository: Path) -> None:
    (repository / name).unlink(missing_ok=True)
    os.mkfifo(repository / name)
    git(repository, "config", "core.attributesFile", str(repository / name))
    assert outcome(Limits(seconds=10)) == "answered"


@pytest.mark.parametrize("name", ["commondir", "objects/info/alternates", "refs/heads/x"])
def test_an_endless_file_does_not_fill_the_memory(name: str, repository: Path) -> None:
    git(repository, "branch", "-M", "x")
    endless = repository / ".git" / name
    endless.unlink(missing_ok=True)
    endless.symlink_to("/dev/zero")
    assert outcome(Limits(memory=200_000_000)) == "git took more than 0.2 GB of memory"


def test_a_tree_that_holds_itself_many_times_does_not_fill_the_memory(repository: Path) -> None:
    kind, name = "blob", git(repository, "rev-parse", "HEAD:train.py")
    for _ in range(10):
        mode = "100644" if kind == "blob" else "040000"
        entries = "".join(f"{mode} {kind} {name}\t{letter}.py\n" for letter in "abcdefghij")
        kind, name = "tree", git(repository, "mktree", given=entries)
    git(repository, "update-ref", "HEAD", git(repository, "commit-tree", "-m", "bomb", name))
    assert outcome(Limits(output=5_000_000)) == "git's answer is larger than 5 MB"


def test_an_old_version_beyond_all_limits_makes_all_of_a_file_new(repository: Path) -> None:
    (repository / "train.py").write_bytes(bytes(100_000_001))
    git(repository, "commit", "-qam", "second")
    (repository / "train.py").write_text(NEW)
    assert check() == (["train.py:3:6: warning[GPU101]", *FOUND], "")
