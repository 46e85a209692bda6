"""`gpulint rule`."""

from __future__ import annotations

from typing import Any

import click

from gpulint.cli import completing, options
from gpulint.cli.options import UserError
from gpulint.linting import pack
from gpulint.linting.rule import Rule
from gpulint.linting.selection import Catalogue
from gpulint.output.escapes import json_text, printable, printable_block
from gpulint.output.rule_page import fixes, page, summary


@click.command("rule")
@click.argument("word", metavar="CODE|NAME", required=False, shell_complete=completing.rule)
@click.option("--all", "everything", is_flag=True, help="List every rule.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@options.configuration
def command(
    word: str | None,
    everything: bool,
    output_format: str,
    configs: tuple[str, ...],
    isolated: bool,
    target_tensorflow: str | None,
    trust: bool,
) -> None:
    """Explain a rule, by its code or name."""
    settings = options.finder(configs, isolated, {}, target_tensorflow, trust).of_directory(".")
    try:
        catalogue = Catalogue.load(pack.Sources.of(settings, installed=not isolated))
    except pack.PackError as error:
        raise UserError(str(error)) from None
    withheld = f"; {settings.withheld}" if settings.withheld is not None else ""
    if everything:
        click.echo(_all(catalogue, output_format))
        if withheld:
            options.say(str(settings.withheld))
        return
    if word is None:
        raise UserError("name a rule, or list them with --all")
    rule = catalogue.rule(word)
    if rule is None:
        near = catalogue.nearest(word)
        hint = f"; did you mean `{near}`?" if near else ""
        if (beginning := [one.code for one in catalogue.pack if one.code.startswith(word.upper())]) and not withheld:
            hint = f"; with this prefix there are {', '.join(beginning)}"
        raise UserError(f"there is no rule `{word}`{withheld or hint}")
    click.echo(json_text(_data(rule)) if output_format == "json" else printable_block(page(rule)))


def _data(rule: type[Rule]) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "summary": summary(rule),
        "why": rule.why,
        "instead": rule.instead,
        "fix": [*fixes(rule)],
        "on_by_default": rule.on_by_default,
        "since": rule.since,
        "explanation": page(rule),
    }


def _all(catalogue: Catalogue, output_format: str) -> str:
    if output_format == "json":
        return json_text([_data(rule) for rule in catalogue.pack])
    width = max(len(rule.name) for rule in catalogue.pack)
    lines = []
    for rule in catalogue.pack:
        off = "" if rule.on_by_default else " (off by default)"
        lines.append(f"{rule.code}  {rule.name:<{width}}  {rule.severity.value:<7}  {printable(summary(rule))}{off}")
    return "\n".join(lines)
