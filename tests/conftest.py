"""Fixtures that tests of several folders share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.claims import runner

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run, so that a failure is a change's. `--hypothesis-profile=explore` draws others.
settings.register_profile("explore", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("explore"), derandomize=True)
settings.load_profile("gate")


BEFORE = pytest.StashKey[tuple[set[Path], set[Path]]]()
OF_TOOLS = frozenset(
    {".cache", ".git", ".gpulint_cache", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv"}
    | {"__pycache__", "build"}
)


@pytest.fixture(scope="session", autouse=True)
def places_to_write(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Directories of pytest for temporary files, the user's cache and the user's configuration; subprocesses use them,
    too."""
    temporary = str(tmp_path_factory.mktemp("t"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TMPDIR", "TEMP", "TMP"):
            patch.setenv(name, temporary)
        patch.setattr(tempfile, "tempdir", temporary)
        for name in ("cache", "config"):
            patch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path_factory.mktemp(name)))
        yield


def in_repository() -> set[Path]:
    """Files of the repository, except caches of tools."""
    found = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in OF_TOOLS]
        found.update(Path(folder, name) for name in files)
    return found


def in_temporary_folder() -> set[Path]:
    """Entries of the system's temporary folder, except pytest's own."""
    return {path for path in Path(tempfile.gettempdir()).iterdir() if not path.name.startswith("pytest-of-")}


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.config.stash[BEFORE] = (in_repository(), in_temporary_folder())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if files were left behind. Outside CI, other programs may have put new ones into the system's folder."""
    if (before := session.config.stash.get(BEFORE, None)) is None:
        return
    repository, temporary = in_repository() - before[0], in_temporary_folder() - before[1]
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and repository | temporary:
        reporter.section("left behind")
        for path in sorted(repository | temporary):
            reporter.line(str(path))
    if session.exitstatus == pytest.ExitCode.OK and (repository or (temporary and "CI" in os.environ)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def stage() -> runner.Stage:
    """Runs programs on logical CPUs in place of GPUs."""
    return runner.Stage()
