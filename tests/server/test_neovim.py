"""Neovim with the set-up that docs/editors.md gives, where there is a Neovim."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.skipif(shutil.which("nvim") is None, reason="there is no nvim")
def test_the_documented_set_up_shows_findings_and_hints_and_fixes_on_saving(tmp_path: Path) -> None:
    text = DOCUMENT.read_text("utf-8")
    part = text[text.index("## Neovim") : text.index("## Emacs")]
    (tmp_path / "init.lua").write_text("\n".join(re.findall(r"```lua\n(.*?)```", part, re.DOTALL)))
    (tmp_path / "session.lua").write_text(SESSION)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "gpulint.toml").touch()
    command = tmp_path / "bin" / "gpulint"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpulint "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    subprocess.run(
        ["nvim", "--headless", "-u", "init.lua", "train.py", "-c", "luafile session.lua"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=200,
        check=True,
    )
    assert json.loads((tmp_path / "told.json").read_text()) == [["GPU304", "GPU101"], [" on /GPU:0"]]
    assert (tmp_path / "train.py").read_text() == PROGRAM.replace("= 2", '= "2"') + "y = x\n"
