"""The rules of a folder are loaded if the user agrees, never because a file of it was opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lsprotocol import types

from gpulint.server.application import NOT_NOW, TRUST
from gpulint.settings.trust import list_path
from tests.security.test_trust import PROGRAM, Repository
from tests.server.editor import Editor, capabilities, edit

ASKING = capabilities(window=types.WindowClientCapabilities(show_message=types.ShowMessageRequestClientCapabilities()))
"""The capabilities of an editor that can ask."""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GPULINT_TRUST", raising=False)
    return Repository(tmp_path / "repository", tmp_path / "ran")


def test_rules_are_loaded_once_the_folder_is_trusted(repository: Repository) -> None:
    opened = repository.folder.parent / "link"
    opened.symlink_to(repository.folder)

    async def test(editor: Editor) -> None:
        uri = editor.open(opened / "train.py")
        assert await editor.diagnostics(uri) == []
        await editor.until(lambda: bool(editor.questions))
        assert editor.questions[0].message == (
            f"gpulint.toml in {repository.folder} names rules of its own in lint. Loading them runs their code."
        )
        assert [one.title for one in editor.questions[0].actions or ()] == [TRUST, NOT_NOW]
        editor.type(uri, f"{PROGRAM}\n")
        assert await editor.diagnostics(uri) == []
        assert not repository.ran and not os.path.exists(list_path())
        editor.answers.put_nowait(TRUST)
        await editor.until_codes(uri, "ACM001")
        assert Path(list_path()).read_text() == f"{repository.folder}\n"
        assert (len(editor.questions), editor.messages) == (1, [])

    async def later(editor: Editor) -> None:
        uri = editor.open(repository.folder / "train.py")
        assert [one.code for one in await editor.diagnostics(uri)] == ["ACM001"]
        assert editor.questions == []

    edit(test, opened, client=ASKING)
    edit(later, repository.folder, client=ASKING)


@pytest.mark.parametrize("answer", [NOT_NOW, "trust this folder", ""])
def test_without_that_answer_they_are_not_loaded_and_nobody_asks_again(repository: Repository, answer: str) -> None:
    (repository.folder / "inner").mkdir()

    async def test(editor: Editor) -> None:
        uri = editor.open(repository.folder / "train.py")
        await editor.until(lambda: bool(editor.questions))
        editor.answers.put_nowait(answer)
        for number in range(2):
            repository.configuration.write_text(f'rule-paths = ["lint", "{number}"]\n')
            editor.save(editor.open(repository.configuration))
            editor.type(uri, PROGRAM + "\n" * number)
            assert await editor.diagnostics(uri) == []
        assert (len(editor.questions), editor.messages, repository.ran) == (1, [], False)

    edit(test, repository.folder, repository.folder / "inner", client=ASKING)


def test_an_editor_that_shows_no_questions_shows_a_warning(repository: Repository) -> None:
    async def test(editor: Editor) -> None:
        uri = editor.open(repository.folder / "train.py")
        for number in range(3):
            editor.type(uri, PROGRAM + "\n" * number)
            assert await editor.diagnostics(uri) == []
        await editor.until(lambda: bool(editor.messages))
        (message,) = editor.messages
        assert f"{repository.folder} is not a trusted folder" in message and list_path() in message
        assert not repository.ran

    edit(test, repository.folder)


@pytest.mark.parametrize("rules", ["../other", "..", "/", "link"])
def test_one_answer_trusts_nothing_outside_of_the_folder(repository: Repository, rules: str, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other", repository.marker)
    (repository.folder / "link").symlink_to(other.folder)
    repository.configuration.write_text(f'rule-paths = ["lint", "{rules}"]\n')

    async def test(editor: Editor) -> None:
        uri = editor.open(repository.folder / "train.py")
        assert await editor.diagnostics(uri) == []
        await editor.until(lambda: bool(editor.messages))
        assert editor.questions == [] and not repository.ran

    edit(test, repository.folder, client=ASKING)


def test_settings_of_the_editor_may_be_the_repositorys(repository: Repository) -> None:
    repository.configuration.write_text("")
    options = {"settings": {"rule-paths": ["lint"], "max-file-size": 0}}

    async def test(editor: Editor) -> None:
        uri = editor.open(repository.folder / "train.py")
        assert await editor.diagnostics(uri) == []
        await editor.until(lambda: bool(editor.questions and editor.logged))
        assert "max-file-size = 0 not applied" in editor.logged[0]
        assert not repository.ran
        editor.answers.put_nowait(TRUST)
        await editor.until_codes(uri, "ACM001")

    edit(test, repository.folder, options=options, client=ASKING)


def test_a_list_that_cannot_be_written_trusts_for_the_session(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").write_text("no directory")

    async def test(editor: Editor) -> None:
        uri = editor.open(repository.folder / "train.py")
        await editor.until(lambda: bool(editor.questions))
        editor.answers.put_nowait(TRUST)
        await editor.until_codes(uri, "ACM001")
        (message,) = editor.messages
        assert "is trusted in this session only" in message

    edit(test, repository.folder, client=ASKING)


def test_a_question_has_no_links_and_no_line_breaks(repository: Repository) -> None:
    hostile = "[lint](command:quit)\\n" * 9
    repository.configuration.write_text(f'rule-paths = ["{hostile}", "b", "c", "d"]\n')

    async def test(editor: Editor) -> None:
        editor.open(repository.folder / "train.py")
        await editor.until(lambda: bool(editor.questions))
        message = editor.questions[0].message
        assert "](" not in message and message.isprintable() and len(message) < 400
        editor.answers.put_nowait(NOT_NOW)

    edit(test, repository.folder, client=ASKING)
