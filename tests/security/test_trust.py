"""A configuration file runs code and raises limits only if the user trusts its folder."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

import gpulint
from gpulint.cli.main import main
from gpulint.linting.pack import Sources
from gpulint.linting.selection import Catalogue
from gpulint.settings import LIMITS, Settings, SettingsFinder, load, parse_override
from gpulint.settings.trust import CannotTrust, Trust, list_path, remember
from tests.checking import findings_of

PROGRAM = "import tensorflow as tf\n\ndata = tf.data.Dataset.range(1000).batch(8)\n"

RULE = '''
from gpulint.plugin import Report, Rule, Severity

open({marker!r}, "a").close()


class SmallBatch(Rule):
    """Batch too small."""

    code, name, severity = "ACM001", "small-batch", Severity.WARNING
    why = instead = "x"

    def on_dataset_batched(self, event, plan):
        yield Report(event.site, "a small batch")
'''


class Repository:
    """A repository whose rules leave a marker when their code runs."""

    def __init__(self, folder: Path, marker: Path, configuration: str = 'rule-paths = ["lint"]\n') -> None:
        self.folder = folder
        self.marker = marker
        self.configuration = folder / "gpulint.toml"
        (folder / "lint").mkdir(parents=True)
        (folder / "lint" / "small.py").write_text(RULE.format(marker=str(marker)))
        (folder / "train.py").write_text(PROGRAM)
        (folder / "placed.log").write_text("MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0\n")
        self.configuration.write_text(configuration)

    @property
    def ran(self) -> bool:
        """Whether the code of the rules has run since the last call."""
        ran = self.marker.exists()
        self.marker.unlink(missing_ok=True)
        return ran


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A freshly cloned repository as working directory, with a home directory beside it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / ".cache"))
    monkeypatch.delenv("GPULINT_TRUST", raising=False)
    made = Repository(tmp_path / "repository", tmp_path / "ran")
    monkeypatch.chdir(made.folder)
    return made


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


def trust_in_list(*lines: str) -> None:
    os.makedirs(os.path.dirname(list_path()), exist_ok=True)
    Path(list_path()).write_text("".join(f"{line}\n" for line in lines))


# --------------------------------------------------------------------------------- commands


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "--no-cache", "--jobs", "2"],
        ["check", "--fix", "--unsafe-fixes"],
        ["check", "--diff"],
        ["check", "--show-files"],
        ["check", "--show-settings"],
        ["check", "--config", "gpulint.toml"],
        ["check", "--config", "lint.select=['GPU1']"],
        ["check", "--statistics"],
        ["check", "--write-baseline", "--baseline", "b.json"],
        ["rule", "--all"],
        ["rule", "GPU101"],
        ["plan", "train.py"],
        ["clean"],
        ["probe", "--log", "placed.log"],
    ],
)
def test_no_command_runs_the_rules_of_a_repository(repository: Repository, arguments: list[str]) -> None:
    result = run(*arguments)
    assert (result.exit_code, repository.ran) == (0, False), result.output


def test_a_check_since_a_revision_does_not_run_them_either(repository: Repository) -> None:
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "--message", "All"]):
        subprocess.run(["git", *command], check=True, timeout=60)
    result = run("check", "--since", "HEAD")
    assert (result.exit_code, repository.ran) == (0, False), result.output


def test_one_line_says_which_rules_are_not_loaded_and_what_to_do(repository: Repository) -> None:
    result = run("check")
    (line,) = result.stderr.splitlines()
    assert line == (
        f"gpulint: {repository.configuration}: rule-paths not loaded: {repository.folder} is not a trusted folder; "
        f"run with --trust, or add it to {list_path()}"
    )
    assert result.stdout.startswith("All checks passed!\n")


def test_watching_does_not_run_them_either(repository: Repository) -> None:
    pytest.importorskip("watchfiles")
    command = [sys.executable, "-u", "-m", "gpulint", "check", "--watch", "."]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert "rule-paths not loaded" in process.stderr.readline()
        assert "watching" in process.stderr.readline()
    finally:
        process.kill()
        process.communicate()
    assert not repository.ran


def completed(*words: str) -> list[str]:
    *before, last = words
    return [one.value for one in ShellComplete(main, {}, "gpulint", "_GPULINT_COMPLETE").get_completions(before, last)]


def test_completion_does_not_run_them(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ACM001" not in completed("rule", "") + completed("check", "--select", "ACM")
    assert not repository.ran
    monkeypatch.setenv("GPULINT_TRUST", str(repository.folder))
    assert completed("rule", "ACM") == ["ACM001"]


def test_the_library_does_not_run_them(repository: Repository) -> None:
    with pytest.warns(UserWarning, match="rule-paths not loaded"):
        assert findings_of(gpulint.check_paths(["."])) == []
    assert not repository.ran
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for jobs in (1, 2):
            assert [one.code for one in findings_of(gpulint.check_paths(["."], trust=True, jobs=jobs))] == ["ACM001"]
        own = Settings(root=str(repository.folder), rule_paths=("lint",))
        assert [one.code for one in findings_of(gpulint.check_paths(["."], own))] == ["ACM001"]
        assert [one.code for one in findings_of(gpulint.check_source(PROGRAM, settings=own))] == ["ACM001"]


def test_settings_that_were_read_from_a_file_are_not_the_users_own(repository: Repository) -> None:
    with pytest.warns(UserWarning, match="rule-paths not loaded"):
        gpulint.check_paths(["."], load("gpulint.toml"))
    assert not repository.ran


# ------------------------------------------------------------------------ what makes trust


def ways_to_trust(repository: Repository) -> Iterable[tuple[str, ...]]:
    yield "check", "--trust"
    yield "check", "--trust", "--config", "gpulint.toml"
    yield "check", "--config", "rule-paths=['lint']"
    yield "check", "--isolated", "--config", "rule-paths=['lint']"


def test_what_the_user_says_on_the_command_line_is_trusted(repository: Repository) -> None:
    for arguments in ways_to_trust(repository):
        result = run(*arguments)
        assert (result.exit_code, repository.ran, result.stderr) == (1, True, ""), arguments
        assert "ACM001" in result.stdout
    for command in (["rule", "--trust", "ACM001"], ["probe", "--trust", "--log", "placed.log"]):
        assert run(*command).exit_code == 0 and repository.ran


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_variable_and_a_list_name_trusted_folders(
    repository: Repository, jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("check", "--no-cache", "--jobs", jobs)
    for folder in (repository.folder, repository.folder.parent, Path("/")):
        monkeypatch.setenv("GPULINT_TRUST", os.pathsep.join(["/nowhere", str(folder)]))
        assert (run(*arguments).exit_code, repository.ran) == (1, True)
        monkeypatch.delenv("GPULINT_TRUST")
        trust_in_list("# the projects of the team", "", "/nowhere", f"  {folder}  ")
        assert (run(*arguments).exit_code, repository.ran) == (1, True)
        Path(list_path()).unlink()


@pytest.mark.parametrize(
    "entry",
    [
        "",
        ".",
        "..",
        "repository",
        "./",
        " ",
        "# {folder}",
        "{folder}/lint",
        "{folder}s",
        "{most}",
        "{folder}/../other",
        "{folder}\0",
        "file://{folder}",
        "{folder}*",
        "~root{folder}",
    ],
)
def test_other_entries_trust_nothing(repository: Repository, entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = entry.format(folder=repository.folder, most=str(repository.folder)[:-1])
    trust_in_list(entry)
    if "\0" not in entry and os.pathsep not in entry:
        monkeypatch.setenv("GPULINT_TRUST", os.pathsep.join(["", entry, ""]))
    assert (run("check").exit_code, repository.ran) == (0, False)


def test_a_list_inside_the_repository_is_not_the_users(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = repository.folder / "config" / "gpulint" / "trusted"
    listed.parent.mkdir(parents=True)
    listed.write_text("/\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    assert (run("check").exit_code, repository.ran) == (0, False)
    monkeypatch.setattr("platformdirs.user_config_dir", lambda *_, **__: os.path.join("config", "gpulint"))
    assert (run("check").exit_code, repository.ran) == (0, False), "old releases of platformdirs give relative paths"
    with pytest.raises(CannotTrust, match="not an absolute path"):
        remember(str(repository.folder))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in the file system")
def test_a_list_that_cannot_be_read_trusts_nothing(repository: Repository) -> None:
    trust_in_list("/")
    os.unlink(list_path())
    os.mkfifo(list_path())
    assert (run("check").exit_code, repository.ran) == (0, False)


# ------------------------------------------------------------------------- ways around it


def in_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Another repository, which the user trusts."""
    monkeypatch.setenv("GPULINT_TRUST", str(tmp_path / "trusted"))
    return Repository(tmp_path / "trusted", tmp_path / "ran")


def test_a_repository_does_not_run_the_rules_of_a_trusted_one(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = in_trusted(tmp_path, monkeypatch)
    for text in (
        f'rule-paths = ["{trusted.folder}/lint"]\n',
        'rule-paths = ["../trusted/lint"]\n',
        'extend = "../trusted/gpulint.toml"\n',
        f'extend = "../trusted/gpulint.toml"\nrule-paths = ["{trusted.folder}/lint"]\n',
    ):
        repository.configuration.write_text(text)
        assert (run("check").exit_code, repository.ran) == (0, False), text
    trusted.configuration.write_text(f'rule-paths = ["{trusted.folder}/lint"]\n')
    repository.configuration.write_text('extend = "../trusted/gpulint.toml"\n')
    assert (run("check").exit_code, repository.ran) == (0, False)
    repository.configuration.unlink()
    repository.configuration.symlink_to(trusted.configuration)
    assert (run("check").exit_code, repository.ran) == (0, False)


def test_a_trusted_repository_does_not_run_the_rules_of_others(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = in_trusted(tmp_path, monkeypatch)
    monkeypatch.chdir(trusted.folder)
    (trusted.folder / "link").symlink_to(repository.folder / "lint")
    repository.configuration.write_text(f'rule-paths = ["{trusted.folder}/lint"]\n')
    for text in (
        'rule-paths = ["link"]\n',
        'rule-paths = ["lint", "link"]\n',
        'rule-paths = ["../repository/lint"]\n',
        'rule-paths = ["lint/../../repository/lint"]\n',
        'extend = "../repository/gpulint.toml"\n',
    ):
        trusted.configuration.write_text(text)
        assert (run("check").exit_code, repository.ran) == (0, False), text
    trusted.configuration.unlink()
    trusted.configuration.symlink_to(repository.configuration)
    assert (run("check").exit_code, repository.ran) == (0, False)


def test_a_folder_with_a_trusted_one_inside_is_not_trusted(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = Repository(repository.folder / "inner", repository.marker)
    monkeypatch.setenv("GPULINT_TRUST", str(inner.folder))
    repository.configuration.write_text('rule-paths = ["inner/lint"]\n')
    assert (run("check").exit_code, repository.ran) == (0, False)
    monkeypatch.chdir(inner.folder)
    assert (run("check").exit_code, repository.ran) == (1, True)


def test_a_folder_is_trusted_by_its_real_path(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(repository.folder)
    monkeypatch.setenv("GPULINT_TRUST", str(tmp_path / "link"))
    assert (run("check").exit_code, repository.ran) == (1, True)


def test_a_folder_of_rules_is_not_even_looked_at(repository: Repository) -> None:
    for path in ("/nowhere", "gpulint.toml", "~", "x" * 5000):
        repository.configuration.write_text(f'rule-paths = ["{path}"]\n')
        result = run("check")
        assert (result.exit_code, len(result.stderr.splitlines())) == (0, 1), result.stderr


# -------------------------------------------------------------- names of rules that are not loaded


def test_configurations_and_comments_may_name_rules_that_are_not_loaded(repository: Repository) -> None:
    repository.configuration.write_text(
        'rule-paths = ["lint"]\n[lint]\nextend-select = ["ACM001"]\nignore = ["small"]\nunfixable = ["ACM"]\n'
        'per-file-ignores = { "*" = ["small-batch"] }\nseverity = { ACM001 = "error" }\n'
    )
    program = PROGRAM.replace("batch(8)\n", "batch(8)  # gpulint: ignore[GPU101, ACM001] few cards\n")
    Path("train.py").write_text(program)
    (repository.folder / "inner").mkdir()
    (repository.folder / "inner" / "gpulint.toml").write_text('[lint]\nselect = ["GPU", "ACM001"]\n')
    (repository.folder / "inner" / "train.py").write_text(program)
    for arguments in (["check", "--fix"], ["check", "--jobs", "2"], ["check"]):
        result = run(*arguments)
        assert (result.exit_code, result.stdout.splitlines()[-2]) == (0, "All checks passed!")
        assert {Path(name).read_text() for name in ("train.py", "inner/train.py")} == {program}, "the comment stays"
    assert run("check", "--trust").exit_code == 2, "all rules are loaded: `small` is none"


def test_a_rule_on_the_command_line_that_is_not_loaded_is_exit_status_2(repository: Repository) -> None:
    Path("pinned.py").write_text("import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(4)\n")
    for option in ("--select", "--extend-select"):
        for more in ([], ["--exit-zero"], ["--show-files"], ["--show-settings"], ["--diff"]):
            result = run("check", option, "GPU101,ACM001", *more)
            assert (result.exit_code, repository.ran) == (2, False), (option, more)
            assert result.stderr.count("there is no rule `ACM001`") == 1
    assert "GPU101" in run("check", "--select", "GPU101,ACM001").stdout, "the run goes on"
    assert run("check", "--config", "lint.select=['ACM001']").exit_code == 2
    assert run("check", "--select", "GPU101").exit_code == 1


def test_a_rule_that_is_not_loaded_can_be_turned_off(repository: Repository) -> None:
    Path("pinned.py").write_text("import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(4)\n")
    for option, value, status in (("--ignore", "GPU101,ACM001", 0), ("--per-file-ignores", "*.py:ACM001", 1)):
        result = run("check", option, value)
        assert (result.exit_code, repository.ran) == (status, False), option
        assert result.stderr.count("`ACM001`") == 1


def test_the_page_of_a_rule_that_is_not_loaded_is_one_line_and_status_2(repository: Repository) -> None:
    result = run("rule", "ACM001")
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    assert "`ACM001`" in result.stderr and "run with --trust" in result.stderr


def test_a_cache_does_not_answer_for_other_rules(repository: Repository) -> None:
    Path("train.py").write_text(PROGRAM.replace("batch(8)", "batch(8)  # gpulint: ignore[ACM002]"))
    for _ in range(2):
        assert run("check").stdout.startswith("All checks passed!\n")
        with_rules = run("check", "--trust").stdout
        assert "ACM001" in with_rules and "GPU003" in with_rules
    repository.configuration.write_text("")
    assert "GPU003" in run("check").stdout


# ---------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("limit", [one.replace("_", "-") for one in LIMITS])
def test_a_configuration_that_is_not_trusted_lowers_limits_and_does_not_lift_them(
    repository: Repository, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = getattr(Settings(), limit.replace("-", "_"))

    def in_force(*arguments: str) -> tuple[int, str]:
        result = run("check", "--show-settings", *arguments)
        (row,) = [row for row in result.stdout.splitlines() if row.startswith(f"{limit} = ")]
        return int(row.partition(" = ")[2]), result.stderr

    for value, wanted in ((default - 1, default - 1), (default, default), (default + 1, default), (0, default)):
        repository.configuration.write_text(f"{limit} = {value}\n")
        found, said = in_force()
        assert found == wanted
        assert said.count(f"{limit} = {value} not applied") == (value != wanted)
    for value in (0, default + 1):
        repository.configuration.write_text(f"{limit} = {value}\n")
        assert in_force("--config", f"{limit}={value}") == (value, in_force()[1])
        assert in_force("--trust") == (value, "")
    (repository.folder / "top").mkdir()
    (repository.folder / "top" / "gpulint.toml").write_text('extend = "../gpulint.toml"\n')
    monkeypatch.chdir("top")
    assert in_force()[0] == default
    monkeypatch.setenv("GPULINT_TRUST", str(repository.folder / "top"))
    assert in_force()[0] == default, "the file that says so is not trusted"
    monkeypatch.setenv("GPULINT_TRUST", str(repository.folder))
    assert in_force() == (default + 1, "")


def test_a_repository_does_not_lift_limits_by_extending_a_trusted_one(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_trusted(tmp_path, monkeypatch).configuration.write_text("max-file-seconds = 0\n")
    repository.configuration.write_text('extend = "../trusted/gpulint.toml"\n')
    assert SettingsFinder().of_directory(".").max_file_seconds == Settings().max_file_seconds


@pytest.mark.parametrize("command", [["check"], ["plan", "train.py"], ["probe", "--log", "placed.log"]])
def test_every_command_says_which_limits_are_kept(repository: Repository, command: list[str]) -> None:
    repository.configuration.write_text("max-file-size = 0\n")
    assert "max-file-size = 0 not applied, it stays 50" in run(*command).stderr


def test_a_limit_with_thousands_of_digits_is_a_wrong_value(repository: Repository) -> None:
    repository.configuration.write_text(f"max-file-seconds = 0x{'f' * 9000}\n")
    result = run("check")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)


# ----------------------------------------------------------------------------------- fixes


UNFIXED = """import os
import tensorflow as tf

os.environ["CUDA_VISIBLE_DEVICES"] = 0
with tf.device("/gpu:0"):
    x = tf.zeros(4)
"""
SAFE = UNFIXED.replace("= 0", '= "0"')
UNSAFE = SAFE.replace('with tf.device("/gpu:0"):\n    ', "")


@pytest.mark.parametrize("key", ["fix", "fix-only"])
def test_a_check_of_a_repository_that_asks_for_fixes_writes_only_if_it_is_trusted(
    repository: Repository, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.configuration.write_text(f"{key} = true\nunsafe-fixes = true\n")
    program = Path("train.py")
    for arguments, text in (
        ([], UNFIXED),
        (["--config", "gpulint.toml"], UNFIXED),
        (["--fix"], SAFE),
        (["--fix", "--unsafe-fixes"], UNSAFE),
        (["--trust"], UNSAFE),
        (["--config", "fix=true"], SAFE),
    ):
        program.write_text(UNFIXED)
        result = run("check", *arguments)
        assert program.read_text() == text, arguments
        assert (f"{key} = true not applied: {repository.folder} is not a trusted folder" in result.stderr) == (
            arguments != ["--trust"]
        )
    program.write_text(UNFIXED)
    monkeypatch.setenv("GPULINT_TRUST", str(repository.folder))
    run("check")
    assert program.read_text() == UNSAFE


def test_an_editors_settings_leave_those_of_a_trusted_file_alone(repository: Repository) -> None:
    inner = repository.folder / "inner"
    inner.mkdir()
    (inner / "gpulint.toml").write_text("fix = true\n")
    finder = SettingsFinder(trust=Trust(accepted=(str(inner),)))
    opened = finder.within(str(repository.folder), None, {"max-file-size": 1})
    assert opened.of_directory(str(inner)).fix and not opened.of_directory(str(repository.folder)).fix


# ------------------------------------------------------------------------------ as a value


def test_other_processes_take_over_what_is_trusted(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULINT_TRUST", str(repository.folder))
    trust = pickle.loads(pickle.dumps(Trust()))
    monkeypatch.delenv("GPULINT_TRUST")
    assert trust.uncovered([str(repository.folder), "/"]) == "/"


def test_an_editors_settings_are_those_of_the_folder(repository: Repository, tmp_path: Path) -> None:
    repository.configuration.unlink()
    root = str(repository.folder)
    table = {"rule-paths": ["lint"], "max-file-size": 0}
    given = SettingsFinder().within(root, None, table).of_directory(root)
    assert (given.rule_paths, given.max_file_size, given.withheld is not None) == ((), 50, True)
    for trust in (Trust(True), Trust(accepted=(root,))):
        given = SettingsFinder(trust=trust).within(root, None, table).of_directory(root)
        assert (given.rule_paths, given.max_file_size, given.withheld) == (("lint",), 0, None)
    own = SettingsFinder(overrides=(parse_override("max-file-size = 0"),)).within(root, None, {"max-file-size": 9})
    assert own.of_directory(root).max_file_size == 0, "the command line wins"


def test_a_file_that_an_editor_names_is_that_of_the_folder(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = in_trusted(tmp_path, monkeypatch)
    finder = SettingsFinder()
    fixed = load(str(trusted.configuration))
    assert finder.within(str(trusted.folder), fixed, {}).of_directory(".").rule_paths == ("lint",)
    assert finder.within(str(repository.folder), fixed, {}).of_directory(".").rule_paths == ()


def test_a_catalogue_knows_whether_rules_were_left_out(repository: Repository) -> None:
    settings = SettingsFinder().of_directory(".")
    assert Sources.of(settings) == Sources(withheld=True)
    assert not Catalogue.load(Sources.of(settings)).is_complete
    assert Catalogue.load(Sources()).is_complete


# -------------------------------------------------------------------------------- the list


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_folder_is_added_to_a_list_that_only_the_user_can_read(tmp_path: Path, repository: Repository) -> None:
    remember("/work/one")
    with open(list_path(), "ab") as file:
        file.write(b"# by hand\n/work/two")
    remember("/work/three \N{SNOWMAN}")
    assert Path(list_path()).read_text() == "/work/one\n# by hand\n/work/two\n/work/three \N{SNOWMAN}\n"
    assert os.stat(list_path()).st_mode & 0o777 == 0o600
    assert os.listdir(os.path.dirname(list_path())) == ["trusted"]
    folders = ["/work/one/x", "/work/two", "/work/three \N{SNOWMAN}", "/work/threes"]
    assert Trust().uncovered(folders) == "/work/threes"


@pytest.mark.parametrize("folder", ["/work\n/", "/work\r/", "/work ", "/work\u2028/"])
def test_a_folder_with_a_name_for_several_lines_is_not_added(repository: Repository, folder: str) -> None:
    with pytest.raises(CannotTrust, match="cannot hold the name"):
        remember(folder)
    assert not os.path.exists(list_path())


def test_a_list_that_cannot_be_written_is_one_line(repository: Repository) -> None:
    os.makedirs(list_path())
    with pytest.raises(CannotTrust, match="trusted: Is a directory"):
        remember("/work")
