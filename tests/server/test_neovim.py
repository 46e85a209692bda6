"""Neovim, if it is installed: any version as a client, 0.11 with the setup of docs/editors.md."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.server.programs import environment_with_gpulint

DOCUMENT = Path(__file__).parents[2] / "docs" / "editors.md"

PROGRAM = """\
import os

os.environ["TF_GPU_THREAD_COUNT"] = 2
import tensorflow as tf

with tf.device("/gpu:0"):
    x = tf.ones((2, 2))
"""

SESSION = """\
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 50)
local codes = vim.tbl_map(function(one) return one.code end, vim.diagnostic.get(0))
vim.wait(60000, function() return #vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0 end, 50)
local hints = vim.tbl_map(function(one) return one.inlay_hint.label end, vim.lsp.inlay_hint.get({ bufnr = 0 }))
vim.api.nvim_buf_set_lines(0, 7, 7, false, { "y = x" })
vim.cmd("write")
vim.fn.writefile({ vim.json.encode({ codes, hints }) }, "told.json")
vim.cmd("quitall!")
"""


FIXING = """\
local config = { name = "gpulint", cmd = { "gpulint", "server" }, root_dir = vim.fn.getcwd() }
if vim.lsp.start then vim.lsp.start(config) else vim.lsp.buf_attach_client(0, vim.lsp.start_client(config)) end
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 50)
local told = vim.tbl_map(function(one)
  return { one.code or one.user_data.lsp.code, one.lnum, one.col, one.end_col }
end, vim.diagnostic.get(0))
vim.ui.select = function(items, _, choose) choose(items[1]) end
vim.api.nvim_win_set_cursor(0, { told[1][2] + 1, told[1][3] })
vim.lsp.buf.code_action()
local is_fixed = vim.wait(60000, function() return #vim.diagnostic.get(0) == 0 end, 50)
vim.cmd("write")
vim.fn.writefile({ vim.json.encode({ told, is_fixed }) }, "told.json")
vim.cmd("quitall!")
"""


def version() -> tuple[int, ...]:
    """The version of the installed Neovim, () if there is none."""
    if shutil.which("nvim") is None:
        return ()
    done = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True)
    found = re.match(r"NVIM v(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found is not None else ()


def run(folder: Path, *arguments: str) -> None:
    """Run a Neovim without a screen in a folder that has `train.py`, with gpulint on its path."""
    subprocess.run(
        ["nvim", "--headless", *arguments, "train.py", "-c", "luafile session.lua"],
        cwd=folder,
        env=environment_with_gpulint(folder),
        capture_output=True,
        timeout=200,
        check=True,
    )


@pytest.mark.skipif(version() < (0, 7), reason="there is no nvim of 0.7 or newer")
def test_a_finding_is_shown_at_its_place_and_nothing_after_its_fix(tmp_path: Path) -> None:
    program = 'import os\n\nos.environ["TF_GPU_THREAD_COUNT"] = 2\nimport tensorflow as tf\n'
    (tmp_path / "session.lua").write_text(FIXING)
    (tmp_path / "train.py").write_text(program)
    run(tmp_path, "-u", "NONE")
    finding = ["GPU304", 2, 0, len(program.splitlines()[2].partition(" = ")[0])]
    assert json.loads((tmp_path / "told.json").read_text()) == [[finding], True]
    assert (tmp_path / "train.py").read_text() == program.replace("= 2", '= "2"')


@pytest.mark.skipif(version() < (0, 11), reason="there is no nvim of 0.11 or newer")
def test_the_documented_set_up_shows_findings_and_hints_and_fixes_on_saving(tmp_path: Path) -> None:
    text = DOCUMENT.read_text("utf-8")
    part = text[text.index("## Neovim") : text.index("## Emacs")]
    (tmp_path / "init.lua").write_text("\n".join(re.findall(r"```lua\n(.*?)```", part, re.DOTALL)))
    (tmp_path / "session.lua").write_text(SESSION)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "gpulint.toml").touch()
    run(tmp_path, "-u", "init.lua")
    assert json.loads((tmp_path / "told.json").read_text()) == [["GPU304", "GPU101"], [" on /GPU:0"]]
    assert (tmp_path / "train.py").read_text() == PROGRAM.replace("= 2", '= "2"') + "y = x\n"
