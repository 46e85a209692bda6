"""`gpulint doctor`."""

from __future__ import annotations

import sys
from difflib import get_close_matches

import click
import psutil  # noqa: F401  (ends a child that hangs: if it is missing, say so before one is started)

from gpulint.cli import options
from gpulint.cli.options import UserError
from gpulint.doctor.causes import diagnose
from gpulint.doctor.diagnosis import CODES
from gpulint.doctor.gather import NoInterpreter, gather
from gpulint.doctor.report import FORMATS, MachineReport, render
from gpulint.sources.writing import NotWritten, write_output

_TIMEOUT = 60.0


def _codes(context: click.Context, option: click.Parameter, value: str | None) -> frozenset[str]:
    """The findings that `--ignore` names. Raises UserError for one that does not exist."""
    codes = frozenset(word.strip() for word in (value or "").split(",") if word.strip())
    for code in sorted(codes.difference(CODES)):
        near = get_close_matches(code, CODES, 1)
        raise UserError(f"--ignore: there is no finding `{code}`" + (f"; did you mean `{near[0]}`?" if near else ""))
    return codes


@click.command("doctor")
@click.option(
    "--python", metavar="PATH", help="Examine this interpreter's TensorFlow (default: the one gpulint runs in)."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=_TIMEOUT,
    show_default=True,
    metavar="S",
    help="Wait at most S seconds for TensorFlow and the driver.",
)
@click.option("--no-compute", is_flag=True, help="Only list the GPUs: create no devices and run nothing on them.")
@click.option("--ignore", callback=_codes, metavar="CODE,…", help="Leave out these findings.")
@click.option("--output-format", type=click.Choice(FORMATS), default="text", help="Output format.")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write the report to this file.")
@options.color
def command(
    python: str | None,
    timeout: float,
    no_compute: bool,
    ignore: frozenset[str],
    output_format: str,
    output_file: str | None,
    color: str,
) -> None:
    """Explain why TensorFlow does not see the GPUs of this machine.

    TensorFlow and the driver are queried in separate processes, so that a hang or a crash is a finding, too.

    Exit status: 0 nothing is in the way of a GPU that is expected here, 1 something is, 2 wrong usage or an internal
    error.
    """
    try:
        evidence = gather(python or sys.executable, timeout=timeout, compute=not no_compute)
    except NoInterpreter as error:
        raise UserError(str(error)) from None
    report = MachineReport(evidence, [one for one in diagnose(evidence) if one.id not in ignore])
    text = render(output_format, report, not output_file and options.use_color(color))
    if output_file:
        try:
            write_output(output_file, text)
        except NotWritten as error:
            raise UserError(str(error)) from None
    else:
        click.echo(text, nl=False)
    sys.exit(report.status)
