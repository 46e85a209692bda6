"""Programs that seem to end before a finding, because something else changes what decides it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
from tests.processes import gpulint_within

OPTIONS = """
class Options:
    stop = True

    def __init__(self, given):
        self.ends = "yes"
        {how}

options = Options(lib.load())
if {test}:
    sys.exit()
"""

WAYS = {
    "a text that is run": "stop = True\nexec(open('settings.py').read())\nif stop:\n    sys.exit()\n",
    "all variables": "stop = True\nglobals().update(lib.load())\nif stop:\n    sys.exit()\n",
    "one of the variables": "stop = True\nglobals()[lib.name] = 0\nif stop:\n    sys.exit()\n",
    "names of a module": "stop = True\nfrom settings import *\nif stop:\n    sys.exit()\n",
    "entries": "options = {'stop': True}\noptions.update(lib.load())\nif options['stop']:\n    sys.exit()\n",
    "one entry": "options = {'stop': 'yes'}\noptions[lib.name] = ''\nif options['stop'] == 'yes':\n    sys.exit()\n",
    "later entries": "options = {'stop': True, **lib.load()}\nif options['stop']:\n    sys.exit()\n",
    "an attribute": OPTIONS.format(how="setattr(self, lib.name, '')", test="options.ends == 'yes'"),
    "an attribute of the class": OPTIONS.format(how="setattr(Options, lib.name, 0)", test="Options.stop"),
    "all attributes": OPTIONS.format(how="self.__dict__.update(given)", test="options.stop or options.ends"),
    "attributes by vars": OPTIONS.format(how="vars(self).update(given)", test="options.stop"),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_may_be_overwritten_ends_no_program(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = "with tf.device('/gpu:0'):\n    x = tf.ones(2)\n"
    (tmp_path / "train.py").write_text(f"import sys\nimport lib\nimport tensorflow as tf\n{WAYS[way]}{finding}")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["check", "--no-cache", "--isolated", "train.py"])
    assert "GPU101" in done.stdout, done.output


def test_the_variables_of_a_long_program_are_overwritten_in_linear_time(tmp_path: Path) -> None:
    names = "".join(f"v{number} = True\n" for number in range(6_000))
    again = "".join(f"exec(v{number})\nglobals()[x] = v{number}\n" for number in range(3_000))
    (tmp_path / "train.py").write_text(f"import tensorflow as tf\ntf.device('/gpu:0')\n{names}{again}")
    run = gpulint_within(10, "check", "--no-cache", "--isolated", "train.py", cwd=tmp_path)
    assert run.returncode in (0, 1) and "GPU001" not in run.stdout, run.stdout + run.stderr
