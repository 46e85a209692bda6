"""`gpulint config`."""

from __future__ import annotations

import difflib
import json
from importlib import import_module

import click

from gpulint.cli import completing
from gpulint.cli.options import UserError
from gpulint.linting import pack
from gpulint.output import formats, settings_schema
from gpulint.output.findings_schema import SCHEMAS as FINDINGS
from gpulint.output.settings_text import written
from gpulint.probe.expectations import levels
from gpulint.settings import OPTIONS, Option, Settings

SCHEMAS = {
    **{form: f"gpulint.output.findings_schema:{of.__name__}" for form, of in FINDINGS.items()},
    "doctor": "gpulint.doctor.report.schema:of_doctor",
    "estimate": "gpulint.estimate.report.schema:of_estimate",
    "plan": "gpulint.output.plan_schema:of_plan",
    "probe": "gpulint.probe.report.schema:of_probe",
}
"""The function that returns the schema of each format of `check`, and of each other command's JSON."""

EXAMPLES = {
    "exclude": '["build", "notebooks/old"]',
    "extend-exclude": '["third_party", "*_pb2.py"]',
    "extension": '{ md = "markdown" }',
    "rule-paths": '["lint"]',
    "target-tensorflow": '"2.16"',
    "required-version": '">=0.1"',
    "output-format": '"concise"',
    "baseline": '"gpulint-baseline.json"',
    "max-warnings": "10",
    "lint.select": '["GPU1", "GPU2", "sequential-input"]',
    "lint.ignore": '["GPU101"]',
    "lint.extend-select": '["GPU002"]',
    "lint.per-file-ignores": '{ "benchmarks/*" = ["GPU101"] }',
    "lint.fixable": '["GPU4"]',
    "lint.unfixable": '["GPU901"]',
    "lint.severity": '{ GPU101 = "error", retrace-risk = "off" }',
    "probe.expect": '["ops.on_gpu >= 90%", "traces.max <= 3"]',
    "probe.level": '{ retrace = "off" }',
    "probe.timeout": "600",
    "probe.steps": "20",
    "probe.without-gpu": '"skip"',
}
"""Values that show more than the default does."""


@click.command("config")
@click.argument("key", required=False, shell_complete=completing.setting)
@click.option(
    "--schema",
    type=click.Choice(["gpulint.toml", "pyproject.toml", *SCHEMAS]),
    help="Print the JSON schema of the settings in such a file, of what `check` prints in such a format, or of another "
    "command's JSON.",
)
def command(key: str | None, schema: str | None) -> None:
    """List all settings, or explain one of them."""
    if schema is not None:
        if key is not None:
            raise UserError("--schema covers all settings: name no setting")
        if schema in SCHEMAS:
            module, _, function = SCHEMAS[schema].partition(":")
            click.echo(json.dumps(getattr(import_module(module), function)(), indent=2))
            return
        table = settings_schema.schema(pack.load(installed=False), levels.IDS, levels.IGNORABLE)
        printed = settings_schema.of_pyproject(table) if schema == "pyproject.toml" else table
        click.echo(json.dumps(printed, indent=2))
        return
    if key is None:
        click.echo("\n".join(option.full for option in OPTIONS))
        return
    for option in OPTIONS:
        if key in (option.full, option.key):
            default = written(option, Settings())
            shown = f"{option.full}\n\n{meaning(option)}\n\nType: {option.kind}\nDefault: {default}"
            click.echo(
                f"{shown}\nExample, in a pyproject.toml:\n\n{example(option)}" if option.full in EXAMPLES else shown
            )
            return
    near = difflib.get_close_matches(key, [option.full for option in OPTIONS], 1)
    raise UserError(f"there is no setting `{key}`" + (f"; did you mean `{near[0]}`?" if near else ""))


def meaning(option: Option) -> str:
    """Purpose of a setting, with its possible values if they are few."""
    if option.kind == "format":
        return f"{option.help} One of {', '.join(formats.NAMES)}."
    return option.help


def example(option: Option) -> str:
    """A setting as it is written in a pyproject.toml."""
    table = f"tool.gpulint.{option.table}" if option.table else "tool.gpulint"
    return f"[{table}]\n{option.key} = {EXAMPLES.get(option.full) or written(option, Settings())}"
