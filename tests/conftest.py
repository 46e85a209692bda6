"""Fixtures that tests of several folders share."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.claims import runner

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run, so that a failure is a change's. `--hypothesis-profile=explore` draws others.
settings.register_profile("explore", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("explore"), derandomize=True)
settings.load_profile("gate")


TEMPORARY = Path(tempfile.gettempdir())
"""The system's folder for temporary files."""
BEFORE = pytest.StashKey[tuple[set[Path], set[Path]]]()
OF_TOOLS = frozenset(
    {".cache", ".git", ".gpulint_cache", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv"}
    | {"__pycache__", "build"}
)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set directories of pytest for temporary files, the user's cache and the user's configuration before any module of
    tests may copy the environment. Subprocesses use them, too."""
    # pytest rewrites the assertions of distributions with a plugin: all of gpulint, three seconds for each process.
    rewritten = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", set())
    rewritten.discard("gpulint")
    folders: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    temporary = str(folders.mktemp("t"))
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    for name in ("TMPDIR", "TEMP", "TMP"):
        patch.setenv(name, temporary)
    patch.setattr(tempfile, "tempdir", temporary)
    for name in ("cache", "config"):
        patch.setenv(f"XDG_{name.upper()}_HOME", str(folders.mktemp(name)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import the test modules, in each process of pytest-xdist from another one on. All processes collect in the same
    order, and each would rewrite the assertions of every module; so they find most of them in the others' byte code."""
    config = session.config
    if not hasattr(config, "workerinput") or config.args_source != pytest.Config.ArgsSource.TESTPATHS:
        return
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted((ROOT / "tests").rglob("test_*.py"))
    ]
    first = int(config.workerinput["workerid"].lstrip("gw")) * len(modules) // config.workerinput["workercount"]
    for name in modules[first:] + modules[:first]:
        with contextlib.suppress(pytest.skip.Exception):
            importlib.import_module(name)


def in_repository() -> set[Path]:
    """Files of the repository, except caches of tools."""
    found = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in OF_TOOLS]
        found.update(Path(folder, name) for name in files)
    return found


def in_temporary_folder() -> set[Path]:
    """Entries of the system's temporary folder, except pytest's own."""
    return {path for path in TEMPORARY.iterdir() if not path.name.startswith("pytest-of-")}


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
