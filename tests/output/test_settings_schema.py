"""The JSON schema of the settings accepts exactly what the loader accepts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulint.cli.main import main
from gpulint.linting import pack
from gpulint.output import formats
from gpulint.output.settings_schema import of_pyproject, schema
from gpulint.probe.expectations import levels
from gpulint.settings import OPTIONS, Option, Settings, SettingsError, apply

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = schema(pack.load(installed=False), levels.IDS, levels.IGNORABLE)
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def loads(table: dict[str, Any]) -> bool:
    """Whether gpulint accepts these settings: the loader, and the code that knows formats and checks."""
    try:
        loaded = apply(Settings(), table)
        levels.validate(loaded)
    except SettingsError:
        return False
    return loaded.output_format in formats.NAMES


WORDS = ("error", "warn", "warning", "info", "off", "skip", "fail", "python", "ipynb", "GPU101", "2.16", "2.x", "sarif")
TEXTS = st.sampled_from(WORDS) | st.text(max_size=3).filter(lambda text: not text.endswith("\n"))
NUMBERS = st.integers() | st.floats(allow_nan=False).filter(lambda number: not number.is_integer())
KEYS = st.sampled_from(["GPU101", "retrace", "copies", "py"]) | TEXTS
VALUES = st.recursive(
    st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=4,
)
"""Values of TOML. Floats without a fraction are left out, for JSON knows no difference between 1 and 1.0; so is nan."""


def tables(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(keys) | TEXTS, VALUES, max_size=2)


TABLES = st.fixed_dictionaries(
    {},
    optional={
        "lint": tables([option.key for option in OPTIONS if option.table == "lint"]) | VALUES,
        "probe": tables([option.key for option in OPTIONS if option.table == "probe"]) | VALUES,
    },
)
TOP = tables([option.full for option in OPTIONS])


def test_the_schema_is_one() -> None:
    of_schemas = jsonschema.Draft7Validator(jsonschema.Draft7Validator.META_SCHEMA)
    for one in (SCHEMA, of_pyproject(SCHEMA)):
        assert list(of_schemas.iter_errors(one)) == []


@settings(max_examples=200)
@given(TOP, TABLES)
def test_the_schema_takes_what_the_loader_takes(top: dict[str, Any], inner: dict[str, Any]) -> None:
    table = {**top, **inner}
    assert VALIDATOR.is_valid(table) == loads(table)


@settings(max_examples=600)
@given(option=st.sampled_from(OPTIONS), value=VALUES)
def test_each_setting_takes_the_same_values_in_both(option: Option, value: Any) -> None:
    table = {option.table: {option.key: value}} if option.table else {option.key: value}
    assert VALIDATOR.is_valid(table) == loads(table)


@pytest.mark.parametrize(
    "text",
    [
        "include = ['*.py']\nextension = {qmd = 'markdown'}\ntarget-tensorflow = '2.16'\nmax-warnings = -1",
        "extend = '../gpulint.toml'\noutput-format = 'sarif'\nfix = true",
        "[lint]\nselect = ['ALL', 'GPU2', 'hardcoded-device', 'ACM001']\nper-file-ignores = {'a.py' = ['GPU1']}",
        "[lint.severity]\nGPU101 = 'off'\n[probe.level]\nretrace = 'warn'",
        "[probe]\nexpect = ['ops.on_gpu >= 90%']\ntimeout = 1.5\nsteps = 3\nwithout-gpu = 'skip'",
        "[probe.expect]\n'ops.on_gpu' = '>= 90%'",
    ],
)
def test_right_settings_are_valid(text: str) -> None:
    table = tomllib.loads(text)
    assert list(VALIDATOR.iter_errors(table)) == []
    assert loads({key: value for key, value in table.items() if key != "extend"})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("target-tensorflow = 2.16", "target-tensorflow"),
        ("target-tensorflow = '2'", "target-tensorflow"),
        ("output-format = 'xml'", "output-format"),
        ("'lint.select' = ['GPU1']", ""),
        ("selct = ['GPU1']", ""),
        ("lint = ['GPU1']", "lint"),
        ("[lint]\nselct = ['GPU1']", "lint"),
        ("[lint.severity]\nGPU101 = 'loud'", "lint.severity.GPU101"),
        ("[probe]\ntimeout = -1", "probe.timeout"),
        ("[probe]\nleak = inf", "probe.leak"),
        ("[probe]\nsteps = 1.5", "probe.steps"),
        ("[probe.level]\nretrac = 'warn'", "probe.level"),
    ],
)
def test_wrong_settings_are_not_valid_and_their_place_is_known(text: str, place: str) -> None:
    (error,) = VALIDATOR.iter_errors(tomllib.loads(text))
    assert ".".join(map(str, error.absolute_path)) == place


def test_every_setting_has_its_meaning_and_a_default_that_is_valid() -> None:
    for option in OPTIONS:
        inside = SCHEMA["properties"][option.table] if option.table else SCHEMA
        described = inside["properties"][option.key]
        assert described["description"] == option.help
        jsonschema.validate(described["default"], described)


def test_the_schemas_that_are_printed_accept_this_repositorys_own_pyproject() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for file, part in (("pyproject.toml", document), ("gpulint.toml", document["tool"]["gpulint"])):
        printed = CliRunner().invoke(main, ["config", "--schema", file])
        assert printed.exit_code == 0, printed.output
        validator = jsonschema.Draft7Validator(json.loads(printed.stdout))
        validator.validate(part)
        table = part["tool"]["gpulint"] if file == "pyproject.toml" else part
        table["extend-exclud"] = []
        assert [error.validator for error in validator.iter_errors(part)] == ["additionalProperties"]
        del table["extend-exclud"]


def test_a_key_beside_the_schema_is_an_error() -> None:
    asked = CliRunner().invoke(main, ["config", "--schema", "gpulint.toml", "lint.select"])
    assert (asked.exit_code, asked.stderr) == (2, "gpulint: --schema covers all settings: name no setting\n")
