"""`gpulint check`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

import click

from gpulint.checking import Checked, Checking
from gpulint.cli import completing, options
from gpulint.cli.gates import Gates, gatekeeping
from gpulint.cli.grouped import Grouped
from gpulint.cli.options import F, UserError
from gpulint.cli.progress import Progress, is_terminal, silent
from gpulint.cli.writable import WritableFiles
from gpulint.discovery import MissingPath, discover, files_below
from gpulint.linting.own_codes import SYNTAX_ERROR
from gpulint.linting.pack import PackError
from gpulint.linting.portions import processors
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import first_on_line, printable_block
from gpulint.output.formats import NAMES as FORMATS
from gpulint.output.formats import carries_edits
from gpulint.output.settings_text import shown
from gpulint.output.style import PLAIN
from gpulint.output.summary import number, statistics
from gpulint.output.view import View, counts, render
from gpulint.settings import NEWEST_TENSORFLOW, Settings, SettingsError
from gpulint.sources.containment import relative_to
from gpulint.sources.language import BY_EXTENSION, LANGUAGES
from gpulint.sources.releases import release
from gpulint.sources.writing import NotWritten, write_output

if TYPE_CHECKING:
    from gpulint.fixing.rounds import Fixed
    from gpulint.linting.engine import Checker


class _Check(Grouped):
    groups: ClassVar = {
        "Rules": (
            *("--select", "--ignore", "--extend-select", "--extend-ignore", "--per-file-ignores", "--ignore-noqa"),
            *("--target-tensorflow", "--python", "--why-not"),
        ),
        "Fixes": ("--fix", "--unsafe-fixes", "--diff", "--fix-only", "--show-fixes", "--exit-non-zero-on-fix"),
        "Files": (
            *("--exclude", "--extend-exclude", "--force-exclude", "--respect-gitignore", "--extension"),
            *("--stdin-filename", "--show-files"),
        ),
        "Known findings": ("--baseline", "--write-baseline", "--prune-baseline", "--since", "--add-ignore"),
        "Output": (
            *("--output-format", "--output-file", "--statistics", "--exit-zero", "--max-warnings", "--color"),
            *("--quiet", "--verbose"),
        ),
        "Configuration": ("--config", "--isolated", "--trust", "--show-settings"),
        "Speed": ("--jobs", "--no-cache", "--cache-dir"),
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Lets `--add-ignore` be followed by a path without taking that as its reason."""
        return super().parse_args(ctx, [f"{word}=" if word == "--add-ignore" else word for word in args])

    def invoke(self, ctx: click.Context) -> Any:
        if not ctx.params.pop("watch"):
            return super().invoke(ctx)
        from gpulint.cli.watching import repeat

        return repeat(ctx.params["paths"], lambda: super(_Check, self).invoke(ctx))


def _jobs(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """A number of processes; `auto` stands for that of processors."""
    if value == "auto":
        return processors()
    if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value)):
        raise click.BadParameter(f"{value!r} is neither a number of processes nor auto", ctx, param)
    return int(value)


def _rules(name: str, help: str) -> Callable[[F], F]:
    """An option that takes rules."""
    return click.option(name, multiple=True, metavar="RULE,…", shell_complete=completing.rules, help=help)


@click.command("check", cls=_Check)
@click.argument("paths", nargs=-1, type=click.Path())
@_rules("--select", help="Rules to enable: codes, prefixes, names or ALL.")
@_rules("--ignore", help="Rules to disable.")
@_rules("--extend-select", help="Rules to enable in addition to those selected.")
@_rules("--extend-ignore", help="Rules to disable in addition to those ignored.")
@click.option("--per-file-ignores", multiple=True, metavar="GLOB:RULE,…", help="Rules to disable in some files.")
@click.option("--ignore-noqa", is_flag=True, default=None, help="Report findings that comments silence, too.")
@click.option("--output-format", type=click.Choice(FORMATS), envvar="GPULINT_OUTPUT_FORMAT", help="Output format.")
@click.option(
    "--output-file", "-o", type=click.Path(dir_okay=False), envvar="GPULINT_OUTPUT_FILE", help="Write to this file."
)
@click.option("--jobs", "-j", default="auto", callback=_jobs, metavar="N|auto", help="Number of processes.")
@click.option("--fix/--no-fix", default=None, help="Apply safe fixes: they keep what the program does.")
@click.option(
    "--unsafe-fixes/--no-unsafe-fixes", default=None, help="Apply fixes that change what the program does, too."
)
@click.option("--diff", is_flag=True, help="Show the fixes as a diff, and change no file.")
@click.option(
    "--fix-only/--no-fix-only", default=None, help="Apply fixes, and report no other findings. Implies --fix."
)
@click.option("--show-fixes/--no-show-fixes", default=None, help="List the findings that were fixed.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if any file was fixed.")
@gatekeeping
@click.option("--watch", "-w", is_flag=True, help="Check again whenever a file changes.")
@click.option(
    "--why-not",
    nargs=2,
    metavar="CODE FILE:ROW",
    help="Explain why a rule does not report a row of a file.",
)
@click.option("--statistics", "show_statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option("--exit-zero", "-e", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option(
    "--max-warnings", type=click.IntRange(min=0), metavar="N", help="Exit with 0 if there are at most N warnings."
)
@click.option("--show-files", is_flag=True, help="List the files that would be checked.")
@click.option("--show-settings", is_flag=True, help="Show the settings of the first file.")
@click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Skip files that git ignores.")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Exclude files named on the command line, too.")
@click.option("--exclude", multiple=True, metavar="GLOB,…", help="Patterns to skip, instead of the configured ones.")
@click.option("--extend-exclude", multiple=True, metavar="GLOB,…", help="Patterns to skip in addition.")
@click.option(
    "--extension", multiple=True, metavar="EXT[:LANGUAGE],…", help="Check these files, too: md, qmd:markdown, nb:ipynb."
)
@click.option("--stdin-filename", metavar="PATH", help="Name of the file on standard input (path -).")
@click.option("--python", metavar="PATH", help="Target the TensorFlow installed in this environment or interpreter.")
@options.cache
@click.option("--quiet", "-q", is_flag=True, help="Print findings and nothing else.")
@click.option("--verbose", "-v", is_flag=True, help="Show tracebacks of internal errors and what was analysed.")
@options.configuration
@options.color
def command(
    paths: tuple[str, ...],
    output_format: str | None,
    output_file: str | None,
    diff: bool,
    why_not: tuple[str, str] | None,
    exit_non_zero_on_fix: bool,
    show_statistics: bool,
    exit_zero: bool,
    max_warnings: int | None,
    show_files: bool,
    show_settings: bool,
    stdin_filename: str | None,
    python: str | None,
    quiet: bool,
    verbose: bool,
    configs: tuple[str, ...],
    isolated: bool,
    target_tensorflow: str | None,
    trust: bool,
    color: str,
    jobs: int,
    no_cache: bool,
    cache_dir: str,
    **choices: Any,
) -> None:
    """Find GPU misuse in TensorFlow code.

    PATHS are files, directories or glob patterns (default: the current directory); - reads standard input, and with
    --fix prints it, fixed.

    Exit status: 0 no findings; 1 findings or unreadable input (with --diff: there are fixes); 2 wrong usage, wrong
    configuration or an internal error.
    """
    if python is not None:
        target_tensorflow = _installed(python, target_tensorflow)
    finder = options.finder(configs, isolated, _overrides(choices), target_tensorflow, trust)
    settings = finder.of_directory(".")
    _say_limits(settings, quiet)
    form = _form(output_format, settings)
    is_fixing = settings.fix or settings.fix_only
    with _errors_in_one_line():
        given = {stdin_filename or "-": _standard_input(settings)} if "-" in paths else {}
        edits = diff or is_fixing or carries_edits(form)
        progress = silent if quiet or not is_terminal(sys.stderr) else Progress(sys.stderr)
        check = Checking(finder, settings, not isolated, given, jobs, None if no_cache else cache_dir, edits, progress)
        failed = 2 if settings.withheld is not None and _names_no_rule(check) else 0
        files = list(given) or discover(paths or (".",), finder)
        if show_files or show_settings:
            check.catalogue  # noqa: B018  (reports errors of the rules and their selection)
            if show_files:
                click.echo("".join(f"{first_on_line(path)}\n" for path in files), nl=False)
            else:
                click.echo(shown(finder.of_file(files[0]) if files else settings))
            options.say_each(finder.notes)
            sys.exit(failed)
        gates = Gates.of(choices, settings)
        if why_not is not None:
            from gpulint.cli.why_not import answer

            click.echo(answer(check, why_not, files, gates, is_chosen=bool(paths)))
            sys.exit(failed)
        if given and gates.reason is not None:
            raise UserError("--add-ignore: comments cannot be written to standard input")
        writable = WritableFiles.of(finder, paths, () if given else files)
        checked = check(files, {})
        outcome = _fixed(check, checked, files, gates) if diff or is_fixing else None
    if outcome is not None:
        from gpulint.cli import fixes

        checked = outcome.checked
        if diff:
            status = fixes.show(outcome)
            if settings.show_fixes:
                fixes.enumerate_fixed(outcome)
            _say_faults(checked.result, verbose)
            options.say_each(finder.notes)
            sys.exit(2 if checked.result.errors else failed or status)
        if given:
            fixes.pass_on(outcome, given)
        elif outcome.after:
            written = fixes.write(outcome, writable)
            if written.after != outcome.after:
                checked = check(files, {})
            outcome = written
            gates = Gates.of(choices, settings)  # the changes since a revision now include the fixes
    result = _passed(gates, checked, files, check)
    if settings.fix_only:
        result = replace(result, findings=[one for one in result.findings if one.code == SYNTAX_ERROR])
    if not given and gates.ignore(result, checked.texts, finder, writable):
        checked = check(files, {})
        result = _passed(gates, checked, files, check)
    status = _status(result, max_warnings if max_warnings is not None else settings.max_warnings, exit_zero)
    if exit_non_zero_on_fix and outcome is not None and outcome.after:
        status = status or 1
    if show_statistics:
        text = statistics(result, form)
    else:
        view = View(
            options.style(color) if output_file is None else PLAIN,
            checked.texts.line,
            lambda: check.selection.rules,
            status,
            checked.texts.in_file,
            settings.unsafe_fixes,
            len(outcome.fixed) if outcome is not None else None,
            settings.fix_only,
            quiet,
            isolated,
        )
        text = render(form, result, view)
    stream = sys.stderr if given and is_fixing else sys.stdout
    _write(text, output_file, quiet and not result.findings, stream)
    if settings.show_fixes and outcome is not None:
        fixes.enumerate_fixed(outcome)
    _say_faults(result, verbose)
    if not quiet:
        options.say_each(result.notes)
        options.say_each(_moved(finder.of_file(path) for path in files or ["."]))
        options.say_each((*finder.notes, *(check.cache.refusals if check.cache is not None else ())))
    if verbose:
        _say_analysed(result)
        for trouble in check.cache.troubles if check.cache is not None else ():
            options.say(f"nothing was cached: {trouble}")
    sys.exit(failed or status)


def _say_limits(settings: Settings, quiet: bool) -> None:
    """Say which rules were not loaded, and that the targeted TensorFlow is newer than the newest known."""
    if settings.withheld is not None:
        options.say(str(settings.withheld))
    if not quiet and release(settings.target_tensorflow) > release(NEWEST_TENSORFLOW):
        options.say(
            f"TensorFlow {settings.target_tensorflow} is newer than {NEWEST_TENSORFLOW}, the newest release known"
        )


def _form(name: str | None, settings: Settings) -> str:
    """The output format: that of the option, else of the settings. Raises UserError."""
    form = name or settings.output_format
    if form not in FORMATS:
        raise UserError(f"output-format: there is no format `{form}`; there are {', '.join(FORMATS)}")
    return form


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Report a missing path (exit status 1), wrong settings and rules that cannot be loaded as one line."""
    try:
        yield
    except MissingPath as error:
        options.say(f"{error}: no such file or directory")
        sys.exit(1)
    except (SettingsError, PackError) as error:
        raise UserError(str(error)) from None


def _fixed(check: Checking, checked: Checked, files: Sequence[str], gates: Gates) -> Fixed:
    """The outcome of fixing the findings of a check that the gates report. Raises SettingsError and UserError."""
    from gpulint.fixing.rounds import Fixer

    is_reported = gates.lets_pass(checked.result, checked.texts.in_file)
    return Fixer(check, lambda path: check.finder.of_file(path).unsafe_fixes, is_reported).run(checked, files)


def _say_analysed(result: CheckResult) -> None:
    """Say how many files were analysed, and in which of them the analysis stopped at a bound."""
    speaking = f"{result.using} that use TensorFlow, {result.analysed} that mention it"
    fresh = result.analysed - result.remembered
    options.say(f"{result.files} files, {speaking}, {fresh} analysed in this run")
    stopped = Counter(relative_to(site.path) for site in {site for _, site in result.stopped})
    for path, functions in sorted(stopped.items()):
        were = "was" if functions == 1 else "were"
        options.say(f"{first_on_line(path)}: {number(functions, 'function')} {were} not followed to the end")


def _moved(settings: Iterable[Settings]) -> list[str]:
    """A line for each former name of a rule in settings."""
    from gpulint.linting import moved

    return moved.notes(dict.fromkeys(settings))


def _installed(python: str, target: str | None) -> str:
    """The TensorFlow release of an environment. Raises UserError."""
    from gpulint.doctor.gather import NoInterpreter
    from gpulint.doctor.installed import installed_release

    if target is not None:
        raise UserError("--python and --target-tensorflow exclude each other")
    try:
        return installed_release(python)
    except NoInterpreter as error:
        raise UserError(f"--python: {error}") from None


def _standard_input(settings: Settings) -> bytes:
    """All of standard input. Raises UserError for more than `max-file-size` megabytes."""
    data, most = bytearray(), settings.max_file_size * 1_000_000
    while part := sys.stdin.buffer.read(1 << 20):
        data += part
        if len(data) > most > 0:
            raise UserError(f"standard input is larger than {settings.max_file_size} MB (`max-file-size`)")
    return bytes(data)


def _names_no_rule(check: Checking) -> bool:
    """Whether the command line names an unknown rule, which is reported: it can be one that was not loaded."""
    from gpulint.linting.selection import Catalogue, Selection

    try:
        Selection(Catalogue(check.catalogue.pack), check.finder.asked)
    except SettingsError as error:
        options.say(str(error))
        return True
    return False


def _passed(gates: Gates, checked: Checked, files: Sequence[str], check: Checking) -> CheckResult:
    return gates.passed(checked.result, files, checked.texts.in_file, _OtherImporters(check, files, gates.folder))


class _OtherImporters:
    """Whether a file is imported by one of a folder that is not among the checked ones."""

    def __init__(self, check: Checking, checked: Sequence[str], folder: str) -> None:
        self._check = check
        self._checked = set(map(os.path.abspath, checked))
        self._folder = folder

    def __call__(self, path: str) -> bool:
        """Raises SettingsError."""
        return bool(self._others) and not self._checked.issuperset(
            self._checker.importers(os.path.abspath(path), self._checked | self._others)
        )

    @cached_property
    def _others(self) -> set[str]:
        return set(map(os.path.abspath, files_below(self._folder, self._check.finder))) - self._checked

    @cached_property
    def _checker(self) -> Checker:
        from gpulint.linting.engine import Checker

        return Checker(self._check.finder, self._check.catalogue, edits=False)


def _overrides(choices: dict[str, Any]) -> dict[str, Any]:
    """The settings that options give, as a table of the configuration file."""
    table: dict[str, Any] = {}
    lint: dict[str, Any] = {}
    for key in ("respect_gitignore", "force_exclude", "fix", "unsafe_fixes", "fix_only", "show_fixes"):
        if choices[key] is not None:
            table[key.replace("_", "-")] = choices[key]
    for key in ("exclude", "extend_exclude"):
        if choices[key]:
            table[key.replace("_", "-")] = _split(choices[key])
    if choices["extension"]:
        table["extension"] = {}
        for part in _split(choices["extension"]):
            extension, _, language = part.removeprefix(".").partition(":")
            if (language := language or BY_EXTENSION.get(extension, "")) not in LANGUAGES:
                raise UserError(f"--extension: `{part}` is not of the form EXT:{'|'.join(LANGUAGES)}")
            table["extension"][extension] = language
    if choices["ignore_noqa"]:
        lint["ignore-noqa"] = True
    for key in ("select", "ignore", "extend_select", "extend_ignore"):
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
            write_output(output_file, text)
        except NotWritten as error:
            raise UserError(str(error)) from None
    elif not silent:
        stream.write(text.encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8"))


def _say_faults(result: CheckResult, verbose: bool) -> None:
    for message, trace in result.errors:
        options.say(message)
        if verbose:
            click.echo(printable_block(trace), err=True)


def _status(result: CheckResult, max_warnings: int, exit_zero: bool) -> int:
    if result.errors:
        return 2
    errors, warnings, _ = counts(result)
    if exit_zero:
        return 0
    return 1 if errors or warnings > max(max_warnings, 0) else 0
