"""How gpulint reports its release."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gpulint import __version__
from gpulint.cli.main import main


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_the_version_is_a_command_and_an_option(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.output) == (0, f"gpulint {__version__}\n")
