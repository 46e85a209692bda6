"""The analysis runs in a separate process: a file that breaks it gets a finding, and the editor does not wait."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from gpulint.linting.worker import Limits
from gpulint.server.analyst import Analyst
from gpulint.server.folders import Folders
from gpulint.server.messages import At, Returned
from gpulint.server.options import Options
from gpulint.server.process import AnalysisProcess
from gpulint.settings import SettingsFinder
from tests.server.editor import PATIENCE, Editor, edit
from tests.server.programs import FREE, PINNED, written

RULE = '''
import os
import signal
import time

from gpulint.plugin import Rule, Severity


class Deadly(Rule):
    """Does what a program's names say."""

    code, name, severity = "DIE001", "deadly", Severity.WARNING
    why = instead = "none"

    def on_end(self, plan):
        if "dies" in plan.referenced:
            os.kill(os.getpid(), signal.SIGTERM)
        if "dies_once" in plan.referenced and not os.path.exists(MARK):
            open(MARK, "w").close()
            os.kill(os.getpid(), signal.SIGTERM)
        while "hangs" in plan.referenced:
            time.sleep(1)
        return ()
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    rule = RULE.replace("MARK", repr(str(tmp_path / "died")))
    return written(tmp_path, {"rules/deadly.py": rule, "a.py": PINNED, "gpulint.toml": 'rule-paths = ["rules"]\n'})


@pytest.mark.skipif(sys.platform == "win32", reason="how a process died is said by its signal")
def test_a_file_that_kills_the_analysis_is_not_checked_until_it_changes(project: Path) -> None:
    async def test(editor: Editor) -> None:
        uri = editor.open(project / "a.py", PINNED + "dies\n")
        (found,) = await editor.diagnostics(uri)
        assert found.code == "GPU001" and "died of SIGTERM; it was not checked" in found.message
        other = editor.open(project / "b.py", PINNED)
        assert [one.code for one in await editor.diagnostics(other)] == ["GPU101"]
        editor.type(uri, PINNED)
        assert [one.code for one in await editor.diagnostics(uri)] == ["GPU101"]

    edit(test, project, arguments=("--trust",), is_fresh=True)


def test_a_process_that_dies_once_is_restarted(project: Path) -> None:
    async def test(editor: Editor) -> None:
        uri = editor.open(project / "a.py", PINNED + "dies_once\n")
        assert [one.code for one in await editor.diagnostics(uri)] == ["GPU101"]
        assert (project / "died").exists()

    edit(test, project, arguments=("--trust",), is_fresh=True)


def test_the_process_is_ended_though_it_answers_at_that_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        loop, waits = asyncio.get_running_loop(), asyncio.Event()
        began, answer = loop.create_future(), loop.create_future()
        began.set_result(At("a.py", Limits(60, 0)))
        messages = [began, answer]

        def received(process: asyncio.subprocess.Process) -> asyncio.Future[At | Returned]:
            if len(messages) == 1:
                waits.set()
            return messages.pop(0)

        monkeypatch.setattr(AnalysisProcess, "_received", staticmethod(received))
        process = AnalysisProcess(Folders(SettingsFinder(), False, [], Options()))
        call = asyncio.create_task(process.call(Analyst.tidy))
        await waits.wait()
        answer.set_result(Returned(None))
        closing = asyncio.create_task(process.close())
        ended, _ = await asyncio.wait([closing], timeout=PATIENCE)
        await call
        assert ended

    asyncio.run(test())


def test_while_a_check_hangs_hovering_answers_and_the_next_edit_ends_it(project: Path) -> None:
    async def test(editor: Editor) -> None:
        uri = editor.open(project / "a.py")
        await editor.diagnostics(uri)
        before = await editor.hover(uri, "tf.ones", 3)
        assert before is not None and "runs on `/GPU:0`" in before
        hanging = editor.type(uri, f"# a row\n{PINNED}hangs\n")
        assert await editor.hover(uri, "tf.ones", 3) == before
        assert editor.published[uri].version != hanging
        version = editor.type(uri, FREE)
        assert await editor.diagnostics(uri, version) == []

    edit(test, project, arguments=("--trust",), is_fresh=True)


def test_a_process_with_much_memory_is_replaced_while_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpulint.server.process.CALLS", 2)
    monkeypatch.setattr("gpulint.server.process.LARGEST", 0 if sys.platform == "linux" else -1)

    async def test() -> None:
        process = AnalysisProcess(Folders(SettingsFinder(), False, [], Options()))
        numbers = []
        for _ in range(5):
            await process.call(Analyst.tidy)
            while process._process is None or process._job is not None:
                await asyncio.sleep(0.01)
            numbers.append(process._process.pid)
        await process.close()
        assert numbers[0] != numbers[1] == numbers[2] != numbers[3] == numbers[4]

    asyncio.run(test())
