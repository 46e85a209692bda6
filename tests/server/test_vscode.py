"""The extension for VS Code: its settings match the server's, and it passes its type check if Node.js is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from gpulint._version import __version__
from gpulint.server.options import Options, read_options

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"

OWN = {"path", "arguments"}
"""Settings that the server does not see."""


def manifest() -> dict[str, object]:
    found: dict[str, object] = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    return found


def test_the_defaults_of_its_settings_are_those_of_the_server() -> None:
    properties = manifest()["contributes"]["configuration"]["properties"]  # type: ignore[index]
    defaults = {name.removeprefix("gpulint."): one["default"] for name, one in properties.items()}
    server = {name: value for name, value in defaults.items() if name not in OWN}
    assert defaults.keys() > OWN and len(server) == 6
    assert read_options(server) == Options()
    source = (EXTENSION / "src" / "extension.ts").read_text("utf-8")
    assert f"[{', '.join(json.dumps(name) for name in server)}]" in source


def test_a_folder_that_is_not_trusted_decides_nothing_that_runs_or_is_read_elsewhere() -> None:
    untrusted = manifest()["capabilities"]["untrustedWorkspaces"]  # type: ignore[index]
    assert untrusted["supported"] == "limited"
    restricted = {name.removeprefix("gpulint.") for name in untrusted["restrictedConfigurations"]}
    assert restricted == OWN | {"settings", "configuration"}


def test_it_has_the_version_of_gpulint() -> None:
    assert manifest()["version"] == __version__


@pytest.mark.skipif(
    shutil.which("npm") is None or not (EXTENSION / "node_modules").is_dir(),
    reason="the packages of the extension are not installed (npm ci in editors/vscode)",
)
def test_it_passes_its_type_check() -> None:
    done = subprocess.run(["npm", "run", "check"], cwd=EXTENSION, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
