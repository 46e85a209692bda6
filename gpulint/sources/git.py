"""Reading a repository's objects and index through git without running programs that the repository names.

A repository's configuration can name filters, monitors, hooks, diff drivers, pagers and transports. git starts none of
them without a working tree to compare, a terminal and a remote, so it gets none of these.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from gpulint.sources.containment import is_below

_SETTINGS = (
    "safe.bareRepository=explicit",
    "core.fsmonitor=",  # git before 2.36 reads `false` as the name of a program
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.sshCommand=false",
    "protocol.allow=never",
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_KEPT = ("GIT_CEILING_DIRECTORIES", "GIT_CONFIG", "GIT_DIR", "GIT_DISCOVERY_", "GIT_INDEX_FILE", "GIT_WORK_TREE")
"""Prefixes of git's variables that select a repository or mark its owner as trusted: set by hooks and CI."""

_OBJECT = re.compile(rb"[0-9a-f]{40,64}")
_MESSAGE_BYTES = 1_000_000
_CONTENT_BYTES = 100_000_000
_POLL_SECONDS = 0.05


class GitError(Exception):
    """git failed. The message is one line."""


class GitRefused(GitError):
    """git exited with an error."""


class TooLarge(GitError):
    """git's output exceeds the limit."""


class Blob(NamedTuple):
    """A file in git's object database: name of its blob in hexadecimal, and whether it is a symbolic link."""

    name: str
    is_link: bool


class Limits(NamedTuple):
    """Limits for one call of git: `seconds` of wall time, bytes of `memory`, bytes of `output`."""

    seconds: float = 30
    memory: int = 2_000_000_000
    output: int = 250_000_000


LIMITS = Limits()


class Repository:
    """Objects and index of the repository around a directory. Every method raises GitError.

    `top` is the real path of its working tree, which is not passed to git.
    """

    def __init__(self, directory: str, limits: Limits = LIMITS) -> None:
        directory = os.path.realpath(directory)
        checked = _checked_folder(directory)
        entries = list(_search_path(checked))
        self._limits = limits
        self._program = _program(entries, checked)
        self._environment = {key: value for key, value in os.environ.items() if _is_harmless(key)}
        self._environment.update(_ENVIRONMENT, PATH=os.pathsep.join(entries))
        self.top = os.path.realpath(self._path(directory, "--show-toplevel"))
        if not is_below(directory, self.top):
            raise GitError(f"the working tree of this repository is elsewhere: {self.top}")
        self._environment["GIT_DIR"] = self._path(directory, "--absolute-git-dir")
        self._environment["GIT_WORK_TREE"] = os.path.dirname(self._program)
        if index := self._environment.get("GIT_INDEX_FILE"):
            self._environment["GIT_INDEX_FILE"] = os.path.join(self.top, index)

    def commit(self, revision: str) -> str:
        """Name of the commit of a revision."""
        if not revision.startswith("-"):  # git before 2.30 has no --end-of-options here
            try:
                name = self._run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
            except GitRefused:
                name = b""
            if _OBJECT.fullmatch(name):
                return name.decode()
        raise GitError(f"git knows no commit `{revision}`")

    def files(self, commit: str) -> dict[str, Blob]:
        """Content of each file of a commit, keyed by path from the top."""
        found = {}
        for record in self._run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            entry, _, path = record.partition(b"\t")
            mode, _, entry = entry.partition(b" ")
            kind, _, name = entry.partition(b" ")
            if kind == b"blob":
                found[os.fsdecode(path)] = _blob(mode, name)
        return found

    def renamed(self, commit: str) -> dict[str, Blob]:
        """For files that the index records as renamed, their content in a commit, keyed by new path from the top."""
        found = {}
        options = ("--cached", "--raw", "-z", "--no-abbrev", "--find-renames", "-l1000", "--diff-filter=R")
        silent = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
        fields = iter(self._contents("diff-index", *options, *silent, commit).split(b"\0"))
        for entry in fields:
            if entry:
                mode, _, name, *_ = entry[1:].split(b" ")
                next(fields)
                found[os.fsdecode(next(fields))] = _blob(mode, name)
        return found

    def content(self, blob: Blob) -> bytes:
        """Raises TooLarge for more than 100 MB."""
        return self._contents("cat-file", "blob", blob.name, output=_CONTENT_BYTES)

    def _contents(self, *arguments: str, output: int | None = None) -> bytes:
        """Output of a command that reads file contents, which a partial clone can lack."""
        try:
            return self._run(*arguments, output=output)
        except GitRefused:
            if not self._is_partial():
                raise
        raise GitError("this partial clone lacks contents of the revision; `git diff --stat REV` fetches them")

    def _is_partial(self) -> bool:
        try:
            return bool(self._run("config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$"))
        except GitRefused:
            return False

    def _path(self, directory: str, question: str) -> str:
        return os.fsdecode(self._run("-C", directory, "rev-parse", question).removesuffix(b"\n"))

    def _run(self, *arguments: str, output: int | None = None) -> bytes:
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        try:
            process = subprocess.Popen(
                [self._program, "--no-pager", *settings, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=os.path.dirname(self._program),  # Windows searches the working directory for libraries
                env=self._environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise GitError(f"git cannot be run: {getattr(error, 'strerror', None) or error}") from None
        limits = self._limits if output is None else self._limits._replace(output=output)
        try:
            return _answer(process, limits)
        finally:
            _end(process)


def _blob(mode: bytes, name: bytes) -> Blob:
    return Blob(name.decode(), mode == b"120000")


def _is_harmless(variable: str) -> bool:
    return not variable.startswith("GIT_") or variable.startswith(_KEPT)


# ------------------------------------------------------------------------------- the program


def _checked_folder(directory: str) -> str:
    """The directory, or the nearest one above it that is the top of a working tree."""
    above = (directory, *map(str, Path(directory).parents))
    return next((one for one in above if os.path.lexists(os.path.join(one, ".git"))), directory)


def _search_path(checked: str) -> Iterator[str]:
    """Absolute directories of PATH, except those inside the checked folder."""
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(entry) and not is_below(os.path.realpath(entry), checked):
            yield entry


def _program(entries: list[str], checked: str) -> str:
    """Path of git. Not by shutil.which, which on Windows also searches the current directory."""
    for entry in entries:
        path = os.path.join(entry, "git.exe" if sys.platform == "win32" else "git")
        if os.path.isfile(path) and os.access(path, os.X_OK) and not is_below(os.path.realpath(path), checked):
            return path
    raise GitError(f"git cannot be run: no PATH entry outside {checked} has it")


# --------------------------------------------------------------------------------- the answer


class _Reader(threading.Thread):
    """Reads a pipe to its end, or until a limit is exceeded."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        super().__init__(daemon=True)
        self._pipe, self._limit, self._parts = pipe, limit, list[bytes]()
        self.size = 0
        self.start()

    def run(self) -> None:
        with self._pipe:
            while self.size <= self._limit and (part := os.read(self._pipe.fileno(), 1 << 16)):
                self._parts.append(part)
                self.size += len(part)

    @property
    def data(self) -> bytes:
        return b"".join(self._parts)


def _answer(process: subprocess.Popen[bytes], limits: Limits) -> bytes:
    assert process.stdout is not None and process.stderr is not None
    deadline = time.monotonic() + limits.seconds
    output, messages = _Reader(process.stdout, limits.output), _Reader(process.stderr, _MESSAGE_BYTES)
    for reader in (output, messages):
        reader.join(_POLL_SECONDS)
        while reader.is_alive():
            if time.monotonic() > deadline:
                raise _late(limits)
            if _memory(process) > limits.memory:
                raise GitError(f"git took more than {limits.memory / 1e9:g} GB of memory")
            reader.join(_POLL_SECONDS)
    if output.size > limits.output:
        raise TooLarge(f"git's answer is larger than {limits.output / 1e6:g} MB")
    try:
        status = process.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise _late(limits) from None
    if status:
        raise GitRefused(_message(messages.data) or f"git ended with status {status}")
    return output.data


def _late(limits: Limits) -> GitError:
    return GitError(f"git did not answer within {limits.seconds:g} s")


def _memory(process: subprocess.Popen[bytes]) -> int:
    """Resident memory of a process, in bytes."""
    import psutil

    try:
        return int(psutil.Process(process.pid).memory_info().rss)
    except psutil.Error:
        return 0


def _message(text: bytes) -> str:
    """The error message of git, without warnings before it and advice after it."""
    lines = text.decode(errors="replace").splitlines() or [""]
    return next((line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")), lines[0])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill git and its children if they are still running."""
    if process.returncode is None:
        if sys.platform == "win32":
            process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):  # macOS raises for a group whose processes have ended
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
