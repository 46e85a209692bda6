"""`gpulint probe`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

import click

from gpulint.cli import options, sizes
from gpulint.cli.comparing import FORMATS as COMPARED
from gpulint.cli.comparing import comparison_of, damaged, page_of, rendered
from gpulint.cli.estimating import Wanted, named_cards
from gpulint.cli.estimating import report as estimate
from gpulint.cli.extras import install
from gpulint.cli.grouped import Grouped
from gpulint.cli.options import UserError
from gpulint.cli.probing import probed, target_of
from gpulint.estimate.cards import Card
from gpulint.estimate.report import FORMATS as ESTIMATED
from gpulint.linting import pack
from gpulint.linting.selection import Catalogue, Selection
from gpulint.probe.capture.reader import CaptureError, read
from gpulint.probe.checks.verify import exit_status, status_of_program, verify
from gpulint.probe.checks.verify_workers import verify_all
from gpulint.probe.cluster.folder import read_members
from gpulint.probe.cluster.joined import joined
from gpulint.probe.expectations import levels
from gpulint.probe.expectations.expectation import Run, UserExpectation
from gpulint.probe.expectations.findings import findings_of
from gpulint.probe.expectations.requested import requested_expectations
from gpulint.probe.launch.command import Simulated
from gpulint.probe.placement_log.log_file import capture_of_log
from gpulint.probe.report import FORMATS, RunReport, render, tensorboard
from gpulint.probe.report.file import check_writable, write
from gpulint.probe.report.layout import DEFAULT, columns_of
from gpulint.settings import Settings, SettingsError, SettingsFinder


class _Probe(Grouped):
    groups: ClassVar = {
        "What to report on": ("--module", "--replay", "--compare", "--merge", "--log"),
        "Running the program": (
            *("--timeout", "--hang-after", "--steps", "--warmup", "--no-jit", "--profile-steps"),
            *("--simulate-gpus", "--simulate-memory", "--local-workers"),
        ),
        "Checks": ("--expect", "--ignore", "--strict", "--fail-on-regression", "--exit-zero", "--exit-status"),
        "Output": (
            *("--output-format", "--output-file", "--html", "--trace", "--tensorboard", "--capture", "--color"),
            "--verbose",
        ),
        "Configuration": ("--config", "--isolated", "--trust", "--target-tensorflow"),
    }


@click.command("probe", cls=_Probe, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", required=False, type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "--module", metavar="MODULE", help="Run a module, as `python -m` does.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="S", help="Stop the program after S seconds.")
@click.option(
    "--hang-after",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Stop it after S seconds without progress (0: only report that, after 600).  [default: 0]",
)
@click.option("--steps", type=click.IntRange(min=0), metavar="N", help="Stop it after N training steps.")
@click.option(
    "--warmup", type=click.IntRange(min=0), metavar="N", help="Training steps to skip before measuring.  [default: 3]"
)
@click.option(
    "--expect",
    multiple=True,
    metavar="METRIC>=VALUE",
    help="Expectation to check, such as 'ops.on_gpu>=90%'; can be repeated.",
)
@click.option("--ignore", metavar="ID,…", help="Checks and causes of advice to leave out, such as retrace,input-bound.")
@click.option("--no-jit", is_flag=True, help="Turn XLA off, so that single operations are visible.")
@click.option(
    "--simulate-gpus",
    type=click.IntRange(min=1, max=sizes.MAX_GPUS),
    metavar="N",
    help="Rehearse the program on N simulated GPUs; the machine needs none.",
)
@click.option(
    "--simulate-memory",
    callback=sizes.size,
    metavar="SIZE",
    help="Memory of each simulated GPU, such as 16GiB.",
)
@click.option(
    "--gpu",
    "on_cards",
    callback=named_cards,
    metavar="NAME[,NAME…]",
    help="With --simulate-gpus: estimate the training step on these cards, as `gpulint estimate`; do not run it.",
)
@click.option("--output-format", type=click.Choice(FORMATS), default="text", help="Output format.")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write the report to this file.")
@click.option("--html", "html_path", metavar="FILE", help="Also write the report as an HTML page to this file.")
@click.option("--trace", "trace_path", metavar="FILE", help="Write a timeline of the run to this file, for Perfetto.")
@click.option("--tensorboard", "log_directory", metavar="DIR", help="Write the run to this TensorBoard log directory.")
@click.option(
    "--profile-steps",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    help="Trace N training steps after the warm-up with TensorFlow's profiler (0: none).  [default: 20]",
)
@click.option(
    "--capture",
    "capture_path",
    type=click.Path(),
    metavar="PATH",
    help="Save the capture to this file, or in a directory (DIR/) as capture-JOB-INDEX.jsonl of this worker.",
)
@click.option(
    "--local-workers",
    type=click.IntRange(min=1, max=sizes.MAX_LOCAL_WORKERS),
    metavar="N",
    help="Run the program as a cluster of N workers on this machine.",
)
@click.option(
    "--merge", type=click.Path(), metavar="DIR", help="Report on all workers whose captures are in this directory."
)
@click.option("--replay", type=click.Path(), metavar="CAPTURE", help="Report on a saved capture.")
@click.option(
    "--compare",
    "pair",
    nargs=2,
    type=click.Path(),
    metavar="BEFORE AFTER",
    help="Compare two captures: what became faster, slower or larger.",
)
@click.option(
    "--fail-on-regression",
    "most_growth",
    type=click.FloatRange(min=0),
    metavar="PCT",
    help="With --compare: exit with 1 if step time or device memory grew by more than PCT percent.",
)
@click.option("--log", "log_path", type=click.Path(), metavar="FILE", help="Report on a placement log of TensorFlow.")
@click.option("-v", "--verbose", is_flag=True, help="Show every check, and tables by device.")
@click.option("--strict/--no-strict", default=None, help="Exit with 3 if a check is inconclusive.")
@click.option("--exit-zero", "-e", is_flag=True, help="Exit with 0 if the program itself succeeded.")
@click.option(
    "--exit-status",
    "whose",
    type=click.Choice(("report", "program")),
    default="report",
    help="Exit with the status of the report or of the program.  [default: report]",
)
@options.configuration
@options.color
def command(
    script: str | None,
    arguments: tuple[str, ...],
    module: str | None,
    timeout: float | None,
    hang_after: float | None,
    steps: int | None,
    warmup: int | None,
    expect: tuple[str, ...],
    ignore: str | None,
    no_jit: bool,
    simulate_gpus: int | None,
    simulate_memory: int | None,
    on_cards: tuple[Card, ...] | None,
    output_format: str,
    output_file: str | None,
    html_path: str | None,
    trace_path: str | None,
    log_directory: str | None,
    profile_steps: int,
    capture_path: str | None,
    local_workers: int | None,
    merge: str | None,
    replay: str | None,
    pair: tuple[str, str] | None,
    most_growth: float | None,
    log_path: str | None,
    verbose: bool,
    strict: bool | None,
    exit_zero: bool,
    whose: str,
    configs: tuple[str, ...],
    isolated: bool,
    target_tensorflow: str | None,
    trust: bool,
    color: str,
) -> None:
    """Run a program, report where its time went and what to change first, and check its devices against its code.

    SCRIPT runs as with `python SCRIPT ARGUMENTS…`, a notebook (.ipynb) as with `jupyter execute`. Options of gpulint
    come before it.

    Exit status: 0 no violation, or only warnings; 1 a violation; 2 wrong usage or an internal error; 3 an expectation
    of yours is inconclusive, or with --strict any check; 4 the program itself failed; 124 it hung or took too long. If
    several apply, the first of 124, 1, 4, 2 and 3 counts. `--exit-status program` exits with the program's own status,
    or with 124 if it was stopped.
    """
    left_out = [one.strip() for one in ignore.split(",")] if ignore is not None else None
    chosen: dict[str, object] = {
        "timeout": timeout,
        "hang-after": hang_after,
        "steps": steps,
        "warmup": warmup,
        "strict": strict,
        "ignore": left_out,
    }
    overrides = {"probe": {key: value for key, value in chosen.items() if value is not None}}
    finder = options.finder(configs, isolated, overrides, target_tensorflow, trust)
    settings = finder.of_directory(".")
    catalogue = _catalogue(finder, isolated)
    expected = _expected(settings, expect)
    if sum(source is not None for source in (replay, merge, log_path, pair, module or script)) != 1:
        raise UserError("name one program, --replay CAPTURE, --compare BEFORE AFTER, --merge DIR or --log FILE")
    if most_growth is not None and pair is None:
        raise UserError("--fail-on-regression needs --compare BEFORE AFTER")
    if simulate_memory is not None and simulate_gpus is None:
        raise UserError("--simulate-memory needs --simulate-gpus N")
    for option, value in (("--simulate-gpus", simulate_gpus), ("--local-workers", local_workers)):
        if value is not None and not (module or script):
            raise UserError(f"{option} needs a program to run")
    if on_cards is not None:
        if simulate_gpus is None or output_format not in ESTIMATED:
            raise UserError(f"--gpu needs --simulate-gpus N, and reports as {' or '.join(ESTIMATED)}")
        wanted = Wanted(on_cards, simulate_gpus, timeout=settings.probe.timeout or None)
        target = target_of(script, module, arguments)
        sys.exit(estimate(target, wanted, output_format, output_file, html_path, color))
    for path in filter(None, (output_file, html_path, trace_path)):
        options.on_file(check_writable, path)
    columns = DEFAULT if output_file else columns_of(shutil.get_terminal_size((DEFAULT, 24)).columns)
    in_color = not output_file and options.use_color(color)
    output = _Output(output_format, output_file, html_path, trace_path, in_color, columns, verbose)
    if pair is not None:
        if log_directory:
            raise UserError(_COMPARE_WITH)
        is_worse = _compare(pair, settings, expected, output, most_growth)
        sys.exit(1 if is_worse and not exit_zero else 0)
    traces = _traces(log_directory, profile_steps and not (simulate_gpus or local_workers)) if log_directory else ""
    saved = replay or merge or log_path
    with _errors_in_one_line(saved):
        if replay is not None:
            capture = read(replay)
        elif merge is not None:
            capture = joined(read_members(merge))
        elif log_path is not None:
            capture = capture_of_log(log_path)
        else:
            target = target_of(script, module, arguments)
            simulated = Simulated(simulate_gpus or 0, simulate_memory or 0)
            capture = probed(
                target, finder, capture_path, settings, no_jit, simulated, profile_steps, traces, local_workers
            )
    if capture.refused:
        raise UserError(f"GPUs cannot be simulated: {capture.refused}")
    with _errors_in_one_line(saved):
        findings = findings_of(capture, finder, catalogue)
        if capture.members:
            expectations = verify_all(capture, findings, expected, settings)
        else:
            expectations = verify(Run(capture, findings, expected, settings))
        end: dict[str, object] = {"status": 0} if log_path else capture.end
        status = exit_status(expectations, end, settings.probe.strict, capture.faults)
        report = RunReport.of(capture, expectations, status, findings, settings.probe.ignore)
        documents = [*output.documents(report)]
        if whose == "program":
            status = status_of_program(capture.end, status)
        elif exit_zero:
            status = exit_status([], end, False)
    _write(documents)
    if log_directory:
        with _errors_in_one_line(saved):
            options.on_file(lambda path: tensorboard.write(path, report, traces), log_directory)
    sys.exit(status)


class _Output(NamedTuple):
    """The form of the report, the files that it is written to (None for standard output, or for no such document), and
    how it looks."""

    form: str
    file: str | None
    html: str | None
    trace: str | None
    in_color: bool
    columns: int
    verbose: bool

    def documents(self, report: RunReport) -> Iterator[_Document]:
        """The documents about a run."""
        yield self.file, render(self.form, report, self.in_color, width=self.columns, verbose=self.verbose)
        if self.html:
            yield self.html, _page(report)
        if self.trace:
            yield self.trace, _trace(report)


_Document = tuple[str | None, str]
"""The path of a file, None for standard output, and its text."""


def _write(documents: Iterable[_Document]) -> None:
    for path, text in documents:
        if path:
            options.on_file(write, path, text)
        else:
            click.echo(text.encode("utf-8", "backslashreplace").decode(), nl=False)


_COMPARE_WITH = f"--compare reports as {' or '.join(COMPARED)}, and with --html"


def _compare(
    pair: tuple[str, str],
    settings: Settings,
    expected: Sequence[UserExpectation],
    output: _Output,
    most_growth: float | None,
) -> bool:
    """Report on two captures. Returns whether anything grew by more than `most_growth` percent. Raises UserError."""
    if output.form not in COMPARED or output.trace:
        raise UserError(_COMPARE_WITH)
    with _errors_in_one_line(" or ".join(pair)):
        comparison = comparison_of(pair, settings, expected)
        documents: list[_Document] = [(output.file, rendered(comparison, output.form, output.in_color, output.columns))]
        if output.html:
            documents.append((output.html, page_of(comparison)))
        is_worse = most_growth is not None and bool(comparison.regressions(most_growth / 100))
    _write(documents)
    return is_worse


@contextmanager
def _errors_in_one_line(saved: str | None) -> Iterator[None]:
    """Report an error as one line: a saved file may be malformed. For a program that was just run (None), anything but
    an error of the system is an internal error."""
    try:
        yield
    except click.ClickException:
        raise
    except CaptureError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        path = error.filename or saved
        raise UserError(f"{path}: {error.strerror or error}" if path else str(error)) from None
    except Exception as error:
        if saved is None:
            raise
        raise UserError(damaged(saved, error)) from None


def _page(report: RunReport) -> str:
    from gpulint.probe.report import page

    return page.render(report)


def _trace(report: RunReport) -> str:
    from gpulint.probe.report import trace

    return trace.render(report)


def _expected(settings: Settings, given: tuple[str, ...]) -> list[UserExpectation]:
    try:
        levels.validate(settings)
        return requested_expectations(settings, given)
    except SettingsError as error:
        raise UserError(str(error)) from None


def _traces(log_directory: str, is_kept: object) -> str:
    """Temporary directory for traces until they are moved to a log directory, "" if none are kept. Raises UserError if
    the log directory cannot be written."""
    if not tensorboard.is_available():
        raise UserError(f"--tensorboard needs TensorBoard: {install('tensorboard')}")
    options.on_file(tensorboard.check_directory, log_directory)
    if not is_kept:
        return ""
    return click.get_current_context().with_resource(tempfile.TemporaryDirectory(prefix="gpulint-"))


def _catalogue(finder: SettingsFinder, isolated: bool) -> Catalogue:
    settings = finder.of_directory(".")
    if settings.withheld is not None:
        options.say(str(settings.withheld))
    options.say_each(finder.notes)
    try:
        catalogue = Catalogue.load(pack.Sources.of(settings, installed=not isolated))
        Selection(catalogue, settings)
    except (SettingsError, pack.PackError) as error:
        raise UserError(str(error)) from None
    return catalogue
