"""Baselines, `--since`, `--add-ignore`, `--watch`."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint.cli.main import main

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
UNSILENCEABLE = ("GPU001", "GPU002", "GPU003")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pinned.py").write_text(PINNED)
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "--output-format", "concise", *arguments])


def found(result: Result) -> list[str]:
    return [" ".join(line.split(" ")[:2]) for line in result.stdout.splitlines() if ".py:" in line]


# ------------------------------------------------------------------------------- baseline


def functions(*names: str) -> str:
    return "import tensorflow as tf\n" + "".join(
        f"\n\ndef {name}():\n    with tf.device('/gpu:0'):\n        return tf.zeros(4)\n\n\n{name}()\n"
        for name in names
    )


def test_what_a_baseline_has_is_not_reported(project: Path) -> None:
    written = check("--baseline", "known.json", "--write-baseline")
    assert (written.exit_code, written.stderr) == (0, "gpulint: known.json: 1 added, 0 removed, 1 in all\n")
    assert check("--baseline", "known.json").exit_code == 0
    assert check().exit_code == 1


def test_a_baseline_survives_moved_lines_and_finds_what_is_new(project: Path) -> None:
    (project / "pinned.py").write_text(functions("first"))
    check("--baseline", "known.json", "--write-baseline")
    (project / "pinned.py").write_text("# one\n# two\n" + functions("zero", "first"))
    assert found(check("--baseline", "known.json")) == ["pinned.py:7:10: warning[GPU101]"]


def test_one_fix_hides_no_regression_elsewhere(project: Path) -> None:
    (project / "pinned.py").write_text(functions("first", "second"))
    check("--baseline", "known.json", "--write-baseline")
    (project / "pinned.py").write_text(functions("second", "third"))
    result = check("--baseline", "known.json")
    assert [line.split(":")[1] for line in found(result)] == ["13"]
    assert "known.json: 1 stale entry (pinned.py GPU101); remove it with --prune-baseline" in result.stderr


def test_a_second_equal_place_in_one_function_is_another_finding(project: Path) -> None:
    text = functions("first")
    (project / "pinned.py").write_text(text)
    check("--baseline", "known.json", "--write-baseline")
    body = "    with tf.device('/gpu:0'):\n        return tf.zeros(4)\n"
    (project / "pinned.py").write_text(text.replace(body, body.replace("return", "tf.print(1);") + body))
    result = check("--baseline", "known.json")
    assert (result.exit_code, len(found(result))) == (1, 1)


def test_a_known_place_that_is_silenced_makes_no_room_for_an_equal_one(project: Path) -> None:
    text = functions("first")
    (project / "pinned.py").write_text(text)
    check("--baseline", "known.json", "--write-baseline")
    body = "    with tf.device('/gpu:0'):\n        return tf.zeros(4)\n"
    silenced = body.replace("return", "tf.print(1);").replace(":\n", ":  # gpulint: ignore[GPU101] meant\n", 1)
    (project / "pinned.py").write_text(text.replace(body, silenced + body))
    result = check("--baseline", "known.json")
    assert [line.split(":")[1] for line in result.stdout.splitlines()[:-1]] == ["7"]
    (sarif,) = json.loads(check("--output-format", "sarif").stdout)["runs"]
    assert len({one["partialFingerprints"]["gpulint/v1"] for one in sarif["results"]}) == 2


def test_the_last_line_counts_what_is_in_the_baseline(project: Path) -> None:
    (project / "pinned.py").write_text(functions("first", "second"))
    assert check("--baseline", "known.json", "--write-baseline").stdout.endswith("2 findings are in the baseline.\n")
    (project / "pinned.py").write_text(functions("second", "third"))
    assert check("--baseline", "known.json").stdout.splitlines()[1:] == [
        "Found 1 warning in 1 file. Up to 1 fixable with `--fix --unsafe-fixes`.",
        "1 finding is in the baseline.",
    ]


def test_pruning_takes_out_what_no_longer_exists_and_only_that(project: Path) -> None:
    (project / "other.py").write_text(PINNED)
    check("--baseline", "known.json", "--write-baseline")
    (project / "pinned.py").write_text("import tensorflow\n")
    partial = check("--baseline", "known.json", "--prune-baseline", "other.py")
    assert (partial.exit_code, partial.stderr) == (0, "")
    whole = check("--baseline", "known.json", "--prune-baseline")
    assert whole.stderr == "gpulint: known.json: 0 added, 1 removed, 1 in all\n"
    assert [one["path"] for one in json.loads((project / "known.json").read_text())["findings"]] == ["other.py"]
    (project / "other.py").unlink()
    assert "other.py GPU101" in check("--baseline", "known.json").stderr


def test_writing_for_some_files_keeps_what_is_known_of_others(project: Path) -> None:
    (project / "other.py").write_text(PINNED)
    check("--baseline", "known.json", "--write-baseline")
    check("--baseline", "known.json", "--write-baseline", "other.py")
    assert len(json.loads((project / "known.json").read_text())["findings"]) == 2


def test_what_an_importer_causes_is_not_stale_in_a_run_without_it(project: Path) -> None:
    (project / "pinned.py").unlink()
    (project / "build.py").write_text(
        "import tensorflow as tf\n\n\ndef build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    )
    (project / "nets.py").write_text("from build import build\n\n\ndef net():\n    return build()\n")
    train = "import tensorflow as tf\nfrom nets import net\n\nstrategy = tf.distribute.MirroredStrategy()\n"
    scope = "with strategy.scope():\n    model.compile(loss='mse')\n"
    (project / "train.py").write_text(f"{train}model = net()\n{scope}")
    named = ("--baseline", "known.json")
    assert "1 added" in check(*named, "--write-baseline").stderr
    before = (project / "known.json").read_text()
    for option in (("--prune-baseline",), ("--write-baseline",), ()):
        for path in ("nets.py", "build.py", "train.py"):
            result = check(*named, *option, path)
            assert result.exit_code == 0 and "stale" not in result.stderr
    assert (project / "known.json").read_text() == before
    (project / "train.py").write_text(train + scope.replace("    model", "    model = net()\n    model"))
    assert "1 stale entry" in check(*named).stderr
    assert "1 stale entry" in check(*named, *map(str, project.glob("*.py"))).stderr


def test_a_file_that_does_not_parse_is_never_known(project: Path) -> None:
    (project / "pinned.py").write_text("import tensorflow\nx = (\n")
    assert check("--baseline", "known.json", "--write-baseline").exit_code == 1
    assert check("--baseline", "known.json").exit_code == 1


def test_a_baseline_has_an_entry_a_line_and_is_the_same_when_written_again(project: Path) -> None:
    (project / "other.py").write_text(functions("a", "b"))
    check("--baseline", "known.json", "--write-baseline")
    text = (project / "known.json").read_text()
    entries = [line.rstrip(",") for line in text.splitlines()[3:-2]]
    assert len(entries) == 3 and all('"fingerprint"' in line for line in entries) and entries == sorted(entries)
    check("--baseline", "known.json", "--write-baseline")
    assert (project / "known.json").read_text() == text


def test_the_settings_can_name_the_baseline(project: Path) -> None:
    (project / "gpulint.toml").write_text("baseline = 'known.json'\n")
    check("--write-baseline")
    assert check().exit_code == 0
    (project / "deeper").mkdir()
    os.chdir(project / "deeper")
    assert check("..").exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "known.json: does not exist yet: `gpulint check --write-baseline` creates it"),
        ("{", "known.json:1:2: is not a baseline"),
        ("[]", "known.json: is not a baseline: it has no list"),
        ('{"version": 9, "findings": []}', "has version 9, this gpulint reads 1"),
        ('{"version": 1, "findings": [{"path": 3}]}', "findings[0]: needs the strings"),
        ("\xff\xfe", "known.json"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_an_error(project: Path, text: str | None, message: str) -> None:
    if text is not None:
        (project / "known.json").write_text(text, encoding="latin-1")
    result = check("--baseline", "known.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_a_baseline_must_be_named(project: Path) -> None:
    assert check("--write-baseline").exit_code == 2
    assert check("--baseline", str(project / "no" / "where.json"), "--write-baseline").exit_code == 2


# ---------------------------------------------------------------------------------- since


def git(directory: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def repository(project: Path) -> Path:
    (project / "pinned.py").write_text(functions("first", "second"))
    (project / "moved.py").write_text(functions("third") + "# a\n" * 40)
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    return project


def test_since_reports_only_rows_that_changed(repository: Path) -> None:
    assert check("--since", "HEAD").exit_code == 0
    text = (
        (repository / "pinned.py")
        .read_text()
        .replace("    return tf.zeros(4)\n\n\nsecond", "    return tf.zeros(5)\n\n\nsecond")
    )
    (repository / "pinned.py").write_text(text)
    assert check("--since", "HEAD").exit_code == 0
    (repository / "pinned.py").write_text(
        text.replace("def second():\n    with tf.device('/gpu:0')", "def second():\n    with tf.device('/gpu:1')")
    )
    assert found(check("--since", "HEAD")) == ["pinned.py:13:10: warning[GPU101]"]
    git(repository, "commit", "-qam", "second")
    assert check("--since", "HEAD").exit_code == 0
    assert found(check("--since", "HEAD~1")) == ["pinned.py:13:10: warning[GPU101]"]


def test_since_reports_all_of_files_that_git_does_not_know(repository: Path) -> None:
    (repository / "new.py").write_text(PINNED)
    assert found(check("--since", "HEAD")) == ["new.py:3:6: warning[GPU101]"]
    git(repository, "add", "new.py")
    assert found(check("--since", "HEAD")) == ["new.py:3:6: warning[GPU101]"]


def test_since_knows_a_renamed_file(repository: Path) -> None:
    git(repository, "mv", "moved.py", "renamed.py")
    assert check("--since", "HEAD").exit_code == 0
    with open(repository / "renamed.py", "a") as file:
        file.write("with tf.device('/gpu:1'):\n    tf.zeros(3)\n")
    assert [line.split(":")[0] for line in found(check("--since", "HEAD"))] == ["renamed.py"]


def test_since_sees_what_a_deletion_did_to_a_statement(repository: Path) -> None:
    broad = PINNED.replace('"/gpu:0"', '\n    # first\n    "/gpu:0"\n')
    (repository / "pinned.py").write_text(broad)
    git(repository, "commit", "-qam", "second")
    (repository / "pinned.py").write_text(broad.replace("    # first\n", ""))
    assert [line.split(":")[0] for line in found(check("--since", "HEAD"))] == ["pinned.py"]


def test_since_works_from_a_directory_below_and_with_any_name(repository: Path) -> None:
    name = 'a "b"\n\\é.py' if sys.platform != "win32" else "a b.py"
    (repository / "below").mkdir()
    (repository / "below" / name).write_text("import tensorflow as tf\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    (repository / "below" / name).write_text(PINNED)
    os.chdir(repository / "below")
    result = json.loads(CliRunner().invoke(main, ["check", "--output-format", "json", "--since", "HEAD", ".."]).stdout)
    assert [one["filename"] for one in result] == [os.path.join(os.pardir, "below", name)]


def test_since_reports_a_file_that_stopped_parsing(repository: Path) -> None:
    (repository / "pinned.py").write_text(functions("first", "second") + "x = (\n")
    assert [line.split(" ")[1] for line in found(check("--since", "HEAD"))] == ["error[GPU001]"]


def test_since_ignores_line_ends(repository: Path) -> None:
    text = (repository / "pinned.py").read_bytes()
    (repository / "pinned.py").write_bytes(text.replace(b"\n", b"\r\n"))
    assert check("--since", "HEAD").exit_code == 0
    (repository / "pinned.py").write_bytes(
        text.replace(b"\n", b"\r\n") + b"with tf.device('/gpu:1'):\r\n    tf.zeros(3)\r\n"
    )
    assert found(check("--since", "HEAD")) == ["pinned.py:18:6: warning[GPU101]"]


def test_since_compares_the_file_whatever_the_index_has(repository: Path) -> None:
    git(repository, "rm", "-q", "--cached", "pinned.py")
    assert check("--since", "HEAD").exit_code == 0
    (repository / "moved.py").write_text(PINNED)
    git(repository, "add", "moved.py")
    (repository / "moved.py").write_text(functions("third") + "# a\n" * 40 + PINNED)
    assert found(check("--since", "HEAD")) == ["moved.py:52:6: warning[GPU101]"]


def test_since_works_during_a_merge(repository: Path) -> None:
    git(repository, "checkout", "-qb", "other")
    (repository / "pinned.py").write_text(functions("other", "second"))
    git(repository, "commit", "-qam", "other")
    git(repository, "checkout", "-q", "-")
    (repository / "pinned.py").write_text(functions("ours", "second"))
    git(repository, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "merge", "other")
    (repository / "pinned.py").write_text(functions("both", "second"))
    assert found(check("--since", "HEAD")) == []
    assert found(check("--since", "HEAD~1")) == []
    (repository / "pinned.py").write_text(functions("both", "second") + PINNED)
    assert found(check("--since", "HEAD")) == ["pinned.py:20:6: warning[GPU101]"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need privileges on Windows")
def test_since_compares_where_a_link_leads(repository: Path) -> None:
    (repository / "link.py").symlink_to("pinned.py")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    assert check("--since", "HEAD", "link.py").exit_code == 0
    (repository / "link.py").unlink()
    (repository / "link.py").symlink_to("moved.py")
    assert found(check("--since", "HEAD", "link.py")) == ["link.py:5:10: warning[GPU101]"]


def test_since_works_in_a_hook_and_in_a_linked_working_tree(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repository, "mv", "moved.py", "renamed.py")
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert check("--since", "HEAD").exit_code == 0
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    git(repository, "worktree", "add", "-q", "linked")
    monkeypatch.chdir(repository / "linked")
    assert check("--since", "HEAD").exit_code == 0
    (repository / "linked" / "new.py").write_text(PINNED)
    assert found(check("--since", "HEAD")) == ["new.py:3:6: warning[GPU101]"]


def test_since_says_what_a_partial_clone_lacks(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "pinned.py").write_text(functions("first", "third"))
    git(repository, "commit", "-qam", "second")
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(repository, "clone", "-q", "--filter=blob:none", repository.as_uri(), "partial")
    monkeypatch.chdir(repository / "partial")
    assert check("--since", "HEAD").exit_code == 0
    lacking = check("--since", "HEAD~1")
    assert (lacking.exit_code, lacking.stderr.count("\n")) == (2, 1)
    assert "`git diff --stat REV` fetches them" in lacking.stderr
    git(repository / "partial", "diff", "--stat", "HEAD~1")
    assert found(check("--since", "HEAD~1")) == []


@pytest.mark.parametrize("revision", ["nothing", "--help", "HEAD..HEAD", "^HEAD", "HEAD:pinned.py", ""])
def test_since_an_unknown_revision_is_an_error(repository: Path, revision: str) -> None:
    result = check(f"--since={revision}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"gpulint: --since: git knows no commit `{revision}`\n"


def test_since_outside_of_a_repository_is_an_error(project: Path) -> None:
    result = check("--since", "HEAD")
    assert result.exit_code == 2
    assert "not a git repository" in result.stderr and result.stderr.count("\n") == 1


def test_since_without_git_is_an_error(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))
    assert "git cannot be run" in check("--since", "HEAD").stderr


# ----------------------------------------------------------------------------- add-ignore


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('with tf.device("/gpu:0"):\n', 'with tf.device("/gpu:0"):  # gpulint: ignore[GPU101] old\n'),
        (
            'with tf.device("/gpu:0"):  # pinned   \n',
            'with tf.device("/gpu:0"):  # pinned  # gpulint: ignore[GPU101] old\n',
        ),
        (
            'with tf.device("/gpu:0"):  # gpulint: ignore[GPU201] it is\n',
            'with tf.device("/gpu:0"):  # gpulint: ignore[GPU201, GPU101] it is\n',
        ),
        (
            '# gpulint: ignore[GPU201]\nwith tf.device("/gpu:0"):\n',
            '# gpulint: ignore[GPU201, GPU101]\nwith tf.device("/gpu:0"):\n',
        ),
        (
            'with tf.device("/gpu:0"):  # gpulint: disable[GPU201]\n',
            '# gpulint: ignore[GPU101] old\nwith tf.device("/gpu:0"):  # gpulint: disable[GPU201]\n',
        ),
        (
            'with tf.device("/gpu:0"):  # noqa: E501\n',
            'with tf.device("/gpu:0"):  # noqa: E501  # gpulint: ignore[GPU101] old\n',
        ),
        (
            'with tf.device(  # first\n    "/gpu:0"\n):\n',
            'with tf.device(  # first\n    "/gpu:0"\n):  # gpulint: ignore[GPU101] old\n',
        ),
        (
            'with tf.device( \\\n    "/gpu:0") \\\n    :\n',
            'with tf.device( \\\n    "/gpu:0") \\\n    :  # gpulint: ignore[GPU101] old\n',
        ),
        (
            'with tf.device("""/gpu:0"""), open("""\n# not a comment\n"""):\n',
            'with tf.device("""/gpu:0"""), open("""\n# not a comment\n"""):  # gpulint: ignore[GPU101] old\n',
        ),
    ],
)
def test_a_comment_goes_to_the_end_of_its_statement(project: Path, before: str, after: str) -> None:
    head, body = "import tensorflow as tf\n", "    x = tf.zeros(4)\n"
    (project / "pinned.py").write_text(head + before + body)
    assert found(check()) != []
    result = check("--add-ignore=old")
    assert (result.exit_code, result.stderr) == (0, "gpulint: 1 finding ignored in 1 file\n")
    assert (project / "pinned.py").read_text() == head + after + body


def test_a_reason_is_optional_and_the_next_word_is_a_path(project: Path) -> None:
    assert check("--add-ignore", "pinned.py").exit_code == 0
    assert (project / "pinned.py").read_text() == PINNED.replace("):", "):  # gpulint: ignore[GPU101]")


@pytest.mark.parametrize("reason", ["two\nlines", "a\x1b[31m"])
def test_a_reason_is_one_line_of_text(project: Path, reason: str) -> None:
    assert check(f"--add-ignore={reason}").exit_code == 2
    assert (project / "pinned.py").read_text() == PINNED


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encoding_line_ends_and_mode_stay(project: Path, encoding: str, end: str) -> None:
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else ""
    text = (cookie + PINNED + "name = 'é'").replace("\n", end)
    path = project / "pinned.py"
    path.write_bytes(text.encode(encoding))
    path.chmod(0o640)
    assert check("--add-ignore=nötig").exit_code == 0
    expected = text.replace("):", "):  # gpulint: ignore[GPU101] nötig")
    assert path.read_bytes() == expected.encode(encoding)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (("# coding: latin-1\n" + PINNED).encode("latin-1"), "cannot represent"),
        (PINNED.replace("\n\n", "\n\n\r").encode(), "line ends"),
    ],
)
def test_a_file_that_cannot_be_written_stays_and_is_reported(project: Path, data: bytes, message: str) -> None:
    (project / "pinned.py").write_bytes(data)
    result = check("--add-ignore=日本")
    assert result.exit_code == 1 and message in result.stderr
    assert (project / "pinned.py").read_bytes() == data


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_left_alone(project: Path) -> None:
    (project / "pinned.py").chmod(0o400)
    assert "read-only" in check("--add-ignore").stderr


@pytest.fixture(scope="module")
def ignored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All fixtures, with a suppression comment for every finding of every rule."""
    copy = tmp_path_factory.mktemp("ignored") / "fixtures"
    shutil.copytree(FIXTURES, copy)
    result = CliRunner().invoke(main, ["check", "--isolated", "--select", "ALL", "--add-ignore=known", str(copy)])
    assert " findings ignored in " in result.stderr
    return copy


def test_after_ignoring_everything_nothing_is_left(ignored: Path) -> None:
    arguments = ["check", "--isolated", "--select", "ALL", "--output-format", "json", str(ignored)]
    left = json.loads(CliRunner().invoke(main, arguments).stdout)
    left = [one for one in left if one["cell"] is None]  # comments are not written to notebooks
    assert [(one["filename"], one["code"]) for one in left if one["code"] not in UNSILENCEABLE] == []


def test_ignoring_changes_no_program(ignored: Path) -> None:
    changed = 0
    for path in sorted(ignored.rglob("*.py")):
        before = FIXTURES / path.relative_to(ignored)
        changed += path.read_bytes() != before.read_bytes()
        try:
            tree = ast.parse(before.read_bytes())
        except (SyntaxError, ValueError):
            assert path.read_bytes() == before.read_bytes()
            continue
        assert ast.dump(ast.parse(path.read_bytes())) == ast.dump(tree), path
    assert changed > 50


# ---------------------------------------------------------------------------------- watch


def test_watching_checks_again_when_a_file_changes(project: Path) -> None:
    pytest.importorskip("watchfiles")
    (project / "pinned.py").write_text("import tensorflow\n")
    command = [sys.executable, "-u", "-m", "gpulint", "check", "--watch", "--output-format", "concise", "."]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "All checks passed!\n"
        assert "watching" in process.stderr.readline()
        lines = []
        for attempt in range(50):  # the watch may start a moment after it is announced
            (project / "pinned.py").write_text(PINNED + f"# {attempt}\n")
            if "changed" in (line := _line_within(process, 2.0)):
                lines = [line, process.stdout.readline(), process.stdout.readline()]
                break
        process.terminate()
    assert lines[0] == "gpulint: pinned.py changed\n"
    assert lines[1].startswith("pinned.py:3:6: warning[GPU101]")


def _line_within(process: subprocess.Popen[str], seconds: float) -> str:
    import select

    assert process.stderr is not None
    ready, _, _ = select.select([process.stderr], [], [], seconds)
    return process.stderr.readline() if ready else ""


def test_watching_without_its_package_says_how_to_get_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    result = check("--watch")
    assert (result.exit_code, result.stderr) == (
        2,
        "gpulint: --watch needs the package watchfiles: pip install watchfiles\n",
    )
