"""Emacs with eglot, if both are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.server.programs import environment_with_gpulint

DOCUMENT = Path(__file__).parents[2] / "docs" / "editors.md"

SESSION = """\
(load-file "init.el")
(require 'eglot)
(require 'flymake)
(defun until (holds)
  (with-timeout (60 nil)
    (while (not (funcall holds)) (accept-process-output nil 0.05) (sit-for 0.05))
    t))
(find-file "train.py")
(run-hooks 'post-command-hook)
(flymake-start)
(until #'flymake-diagnostics)
(defun told (one)
  (list (flymake-diagnostic-text one)
        (line-number-at-pos (flymake-diagnostic-beg one))
        (buffer-substring (flymake-diagnostic-beg one) (flymake-diagnostic-end one))))
(let ((found (mapcar #'told (flymake-diagnostics)))
      (place (flymake-diagnostic-beg (car (flymake-diagnostics))))
      (last-nonmenu-event ?x))
  (goto-char place)
  (cl-letf (((symbol-function 'completing-read) (lambda (_ choices &rest _) (caar choices))))
    (eglot-code-actions place nil "quickfix" t))
  (save-buffer)
  (prin1 (list found (until (lambda () (null (flymake-diagnostics)))))))
(kill-emacs)
"""


@cache
def has_eglot() -> bool:
    if shutil.which("emacs") is None:
        return False
    return subprocess.run(["emacs", "--batch", "--eval", "(require 'eglot)"], capture_output=True).returncode == 0


@pytest.mark.skipif(not has_eglot(), reason="there is no Emacs with eglot")
def test_with_the_documented_set_up_a_finding_is_shown_at_its_place_and_nothing_after_its_fix(tmp_path: Path) -> None:
    part = DOCUMENT.read_text("utf-8").partition("## Emacs")[2].partition("\n## ")[0]
    (tmp_path / "init.el").write_text("\n".join(re.findall(r"```elisp\n(.*?)```", part, re.DOTALL)))
    program = 'import os\n\nos.environ["TF_GPU_THREAD_COUNT"] = 2\nimport tensorflow as tf\n'
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "session.el").write_text(SESSION)
    done = subprocess.run(
        ["emacs", "--batch", "-l", "session.el"],
        cwd=tmp_path,
        env=environment_with_gpulint(tmp_path),
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert "GPU304" in done.stdout and r'3 "os.environ[\"TF_GPU_THREAD_COUNT\"]"' in done.stdout
    assert done.stdout.endswith(" t)"), done.stdout
    assert (tmp_path / "train.py").read_text() == program.replace("= 2", '= "2"')
