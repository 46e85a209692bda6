"""`gpulint doctor`."""

from __future__ import annotations

import sys

import click

from gpulint.cli import options
from gpulint.cli.options import UserError
from gpulint.doctor.causes import diagnose
from gpulint.doctor.gather import NoInterpreter, gather
from gpulint.doctor.report import FORMATS, MachineReport, render
from gpulint.sources.writing import NotWritten, write_output

_TIMEOUT = 60.0


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
@click.option("--output-format", type=click.Choice(FORMATS), default="text", help="Output format.")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write the report to this file.")
@options.color
def command(
    python: str | None, timeout: float, no_compute: bool, output_format: str, output_file: str | None, color: str
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
    report = MachineReport(evidence, diagnose(evidence))
    text = render(output_format, report, not output_file and options.use_color(color))
    if output_file:
        try:
            write_output(output_file, text)
        except NotWritten as error:
            raise UserError(str(error)) from None
    else:
        click.echo(text, nl=False)
    sys.exit(report.status)
