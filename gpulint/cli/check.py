"""`gpulint check`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TextIO

import click

from gpulint.cli import fixes, options
from gpulint.cli.gates import Gates, gatekeeping
from gpulint.cli.options import UserError
from gpulint.fixing.rounds import Checked, Fixed, Fixer
from gpulint.linting import pack
from gpulint.linting.engine import Checker, CheckResult
from gpulint.linting.selection import Catalogue, Selection
from gpulint.linting.workers import FORKS, Workers, is_small, processors
from gpulint.output.escapes import printable, printable_rows
from gpulint.output.formats import NAMES as FORMATS
from gpulint.output.summary import statistics
from gpulint.output.view import View, counts, render
from gpulint.settings import SettingsError, shown
from gpulint.sources.discovery import MissingPath, discover
from gpulint.sources.language import BY_EXTENSION, LANGUAGES


class _Check(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`--add-ignore` without a reason takes none, and not the next word for one."""
        return super().parse_args(ctx, [f"{word}=" if word == "--add-ignore" else word for word in args])

    def invoke(self, ctx: click.Context) -> Any:
        if not ctx.params.pop("watch"):
            return super().invoke(ctx)
        from gpulint.cli.watching import repeat

        return repeat(ctx.params["paths"], lambda: super(_Check, self).invoke(ctx))


def _jobs(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """A number of processes; `auto` is that of the processors."""
    if value == "auto":
        return processors()
    if not (value.isascii() and value.isdigit() and int(value)):
        raise click.BadParameter(f"{value!r} is neither a number of processes nor auto", ctx, param)
    return int(value)


@click.command("check", cls=_Check)
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--select", multiple=True, metavar="RULE,…", help="Rules to turn on: codes, prefixes, names or ALL.")
@click.option("--ignore", multiple=True, metavar="RULE,…", help="Rules to turn off.")
@click.option("--extend-select", multiple=True, metavar="RULE,…", help="Rules to turn on besides the others.")
@click.option("--per-file-ignores", multiple=True, metavar="GLOB:RULE,…", help="Rules to turn off in some files.")
@click.option("--output-format", type=click.Choice(FORMATS), envvar="GPULINT_OUTPUT_FORMAT", help="Form of the output.")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), envvar="GPULINT_OUTPUT_FILE", help="Write there.")
@click.option("--jobs", "-j", default="auto", callback=_jobs, metavar="N|auto", help="How many processes check.")
@click.option("--fix/--no-fix", default=None, help="Fix what can be fixed without changing what the program does.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Fix what changes the program's behaviour, too.")
@click.option("--diff", is_flag=True, help="Show what would be fixed instead of doing it.")
@gatekeeping
@click.option("--watch", "-w", is_flag=True, help="Check again whenever a file changes.")
@click.option("--statistics", "show_statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option("--exit-zero", "-e", is_flag=True, help="Exit with 0 even where there are findings.")
@click.option("--max-warnings", type=int, default=None, metavar="N", help="Accept up to N warnings.")
@click.option("--show-files", is_flag=True, help="List the files that would be checked.")
@click.option("--show-settings", is_flag=True, help="Show the settings of the first file.")
@click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Leave out what git ignores.")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Exclude files that are named, too.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Patterns to leave out.")
@click.option(
    "--extension", multiple=True, metavar="EXT[:LANGUAGE],…", help="Check these files, too: md, qmd:markdown, nb:ipynb."
)
@click.option("--stdin-filename", metavar="PATH", help="The name of what comes from standard input (path -).")
@click.option("--quiet", "-q", is_flag=True, help="Print findings only.")
@click.option("--verbose", "-v", is_flag=True, help="Show tracebacks of internal errors and what was analysed.")
@options.configuration
@options.color
def command(
    paths: tuple[str, ...],
    output_format: str | None,
    output_file: str | None,
    diff: bool,
    show_statistics: bool,
    exit_zero: bool,
    max_warnings: int | None,
    show_files: bool,
    show_settings: bool,
    stdin_filename: str | None,
    quiet: bool,
    verbose: bool,
    configs: tuple[str, ...],
    isolated: bool,
    target_tensorflow: str | None,
    color: str,
    jobs: int,
    **choices: Any,
) -> None:
    """Find GPU misuse in TensorFlow code.

    PATHS are files, directories or glob patterns (default: the current directory); - reads standard input, and with
    --fix prints it, fixed.

    Exit status: 0 nothing found, 1 findings or unreadable input (with --diff: something would be fixed), 2 wrong usage
    or configuration or an internal error.
    """
    finder = options.finder(configs, isolated, _overrides(choices), target_tensorflow)
    settings = finder.of_directory(".")
    form = output_format or settings.output_format
    if form not in FORMATS:
        raise UserError(f"output-format: there is no format `{form}`; there are {', '.join(FORMATS)}")
    try:
        rule_paths = [os.path.join(settings.root, path) for path in settings.rule_paths]
        catalogue = Catalogue(pack.load(rule_paths, installed=not isolated))
        Selection(catalogue, settings)
        given = {stdin_filename or "-": sys.stdin.buffer.read()} if "-" in paths else {}
        files = list(given) or discover(paths or (".",), finder)
        if show_files:
            click.echo("".join(f"{printable(path)}\n" for path in files), nl=False)
            return
        if show_settings:
            click.echo(shown(finder.of_file(files[0]) if files else settings))
            return
        gates = Gates.of(choices, settings)
        if given and gates.reason is not None:
            raise UserError("--add-ignore: standard input is no file that comments can be written to")
        jobs = 1 if given or is_small(files) else jobs

        def check(paths: Sequence[str], contents: Mapping[str, bytes]) -> Checked:
            checker, texts = Checker(finder, catalogue), {**given, **contents}
            workers = None
            if FORKS or (jobs > 1 and not texts):
                elsewhere = {os.path.abspath(path): text for path, text in texts.items()}
                processes = 1 if texts else jobs
                workers = Workers(processes, finder, catalogue, tuple(rule_paths), not isolated, elsewhere)
            return Checked(checker.check(paths, texts, workers), checker)

        outcome = Fixed(check(files, {}))
        if diff or settings.fix:
            counts = gates.lets_pass(outcome.checked.result, outcome.checked.checker.in_file)
            outcome = Fixer(check, lambda path: finder.of_file(path).unsafe_fixes, counts).run(outcome.checked, files)
    except MissingPath as error:
        options.say(f"{error}: no such file or directory")
        sys.exit(1)
    except (SettingsError, pack.PackError) as error:
        raise UserError(str(error)) from None
    if diff:
        status = fixes.show(outcome)
        _tell_faults(outcome.checked.result, verbose)
        sys.exit(2 if outcome.checked.result.errors else status)
    if given and settings.fix:
        fixes.pass_on(outcome, given)
    elif outcome.after:
        written = fixes.write(outcome)
        if written.after != outcome.after:
            written = replace(written, checked=check(files, {}))
        outcome = written
        gates = Gates.of(choices, settings)  # what changed since a revision is more now
    result, checker = _passed(gates, outcome.checked, files), outcome.checked.checker
    if not given and gates.ignore(result, finder):
        again = check(files, {})
        result, checker = _passed(gates, again, files), again.checker
    limit = max_warnings if max_warnings is not None else settings.max_warnings
    status = _status(result, limit, exit_zero)
    if show_statistics:
        text = statistics(result, form)
    else:
        view = View(
            output_file is None and options.use_color(color),
            checker.line,
            checker.selected().rules,
            status,
            checker.in_file,
            settings.unsafe_fixes,
            len(outcome.fixed) if settings.fix else None,
        )
        text = render(form, result, view)
    stream = sys.stderr if given and settings.fix else sys.stdout
    _write(text, output_file, quiet and not result.findings, stream)
    _tell_faults(result, verbose)
    if verbose:
        options.say(f"{result.files} files, {result.analysed} that speak of TensorFlow")
    sys.exit(status)


def _passed(gates: Gates, checked: Checked, files: Sequence[str]) -> CheckResult:
    return gates.passed(checked.result, files, checked.checker.in_file)


def _overrides(choices: dict[str, Any]) -> dict[str, Any]:
    """The settings that options give, in the form of the configuration file."""
    table: dict[str, Any] = {}
    lint: dict[str, Any] = {}
    for key in ("respect_gitignore", "force_exclude", "fix", "unsafe_fixes"):
        if choices[key] is not None:
            table[key.replace("_", "-")] = choices[key]
    if choices["exclude"]:
        table["exclude"] = _split(choices["exclude"])
    if choices["extension"]:
        table["extension"] = {}
        for part in _split(choices["extension"]):
            extension, _, language = part.removeprefix(".").partition(":")
            if (language := language or BY_EXTENSION.get(extension, "")) not in LANGUAGES:
                raise UserError(f"--extension: `{part}` is not of the form EXT:{'|'.join(LANGUAGES)}")
            table["extension"][extension] = language
    for key in ("select", "ignore", "extend_select"):
        if choices[key]:
            lint[key.replace("_", "-")] = _split(choices[key])
    if choices["per_file_ignores"]:
        ignores: dict[str, list[str]] = {}
        pattern = ""
        for part in _split(choices["per_file_ignores"]):
            if ":" in part:
                pattern, _, part = part.rpartition(":")
            if not pattern:
                raise UserError(f"--per-file-ignores: `{part}` is not of the form GLOB:RULE")
            ignores.setdefault(pattern, []).append(part)
        lint["per-file-ignores"] = ignores
    return {**table, "lint": lint} if lint else table


def _split(values: tuple[str, ...]) -> list[str]:
    """A repeated option with comma-separated values: the last one counts."""
    return [part.strip() for part in values[-1].split(",") if part.strip()]


def _write(text: str, output_file: str | None, silent: bool, stream: TextIO) -> None:
    if output_file is not None:
        try:
            with open(output_file, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UserError(f"{output_file}: {error.strerror or error}") from None
    elif not silent:
        stream.write(text.encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8"))


def _tell_faults(result: CheckResult, verbose: bool) -> None:
    for message, trace in result.errors:
        options.say(message)
        if verbose:
            click.echo(printable_rows(trace), err=True)


def _status(result: CheckResult, max_warnings: int, exit_zero: bool) -> int:
    if result.errors:
        return 2
    errors, warnings, _ = counts(result)
    if exit_zero:
        return 0
    return 1 if errors or warnings > max(max_warnings, 0) else 0
