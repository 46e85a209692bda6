"""The pytest plug-in: `pytest --gpulint-probe` checks the device expectations of marked tests.

    @pytest.mark.gpulint(on="GPU", max_traces=1, limit_memory="2 GiB", expect=["copies.in_graphs == 0"])
    def test_step(): ...

Every pytest run in an environment with gpulint imports this module. The work is done in
`gpulint.probe.watching.marked_tests`, which is imported only with the option.
"""

from __future__ import annotations

from importlib import import_module

import pytest

MARKER = (
    "gpulint(on, max_traces, limit_memory, expect): what the test's operations must do on the devices, "
    "with --gpulint-probe"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("gpulint").addoption(
        "--gpulint-probe",
        action="store_true",
        help="Hold tests with the marker `gpulint` to what they say of devices.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if config.getoption("gpulint_probe"):
        watching = import_module("gpulint.probe.watching.marked_tests").of_directory(str(config.rootpath))
        config.pluginmanager.register(watching, "gpulint-probe")
