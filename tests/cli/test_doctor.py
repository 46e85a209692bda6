"""`gpulint doctor` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.doctor.standin import environment, tensorflow

LISTS_NONE = """
__version__ = "2.21.0"
class sysconfig:
    get_build_info = staticmethod(dict)
class config:
    list_physical_devices = staticmethod(lambda kind: [])
"""


def doctor(*arguments: str, site: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpulint", "doctor", *arguments],
        env=environment(*([site] if site else []), **variables),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_finding_can_be_left_out(tmp_path: Path) -> None:
    site = tensorflow(tmp_path, LISTS_NONE)
    codes = [one["code"] for one in json.loads(doctor("--output-format", "json", site=site).stdout)["findings"]]
    ignored = doctor("--output-format", "json", "--ignore", f"macos, {','.join(codes)}", site=site)
    assert codes and (ignored.returncode, json.loads(ignored.stdout)["findings"]) == (0, [])
    wrong = doctor("--ignore", "gpu-hiden", site=site)
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "gpulint: --ignore: there is no finding `gpu-hiden`; did you mean `gpus-hidden`?\n",
    )


def test_json_for_programs_and_the_same_status(tmp_path: Path) -> None:
    done = doctor("--output-format", "json", "--timeout", "30", site=tensorflow(tmp_path, LISTS_NONE))
    content = json.loads(done.stdout)
    assert done.returncode == content["status"] and done.stderr == ""
    assert content["tensorflow"]["version"] == "2.21.0"


def test_a_tensorflow_that_crashes_is_reported_without_a_traceback(tmp_path: Path) -> None:
    done = doctor(site=tensorflow(tmp_path, "import os\nos.abort()\n"))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "`import tensorflow` crashes with" in done.stdout


def test_the_report_goes_into_a_file(tmp_path: Path) -> None:
    site, path = tensorflow(tmp_path / "site", LISTS_NONE), tmp_path / "report.txt"
    done = doctor("--output-file", str(path), site=site)
    assert done.stdout == "" and path.read_text().startswith("Python ")
    refused = doctor("--output-file", str(tmp_path / "none" / "report.txt"), site=site)
    assert refused.returncode == 2 and refused.stderr.startswith("gpulint: ")


def test_wrong_usage(tmp_path: Path) -> None:
    assert doctor("--timeout", "0").returncode == 2
    assert doctor("--output-format", "xml").returncode == 2
    done = doctor("--python", str(tmp_path / "python"))
    assert done.returncode == 2 and done.stderr == f"gpulint: {tmp_path / 'python'}: No such file or directory\n"


def test_it_is_among_the_commands() -> None:
    done = subprocess.run([sys.executable, "-m", "gpulint", "--help"], capture_output=True, text=True, check=True)
    assert "doctor" in done.stdout
