"""`gpulint estimate`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from gpulint.cli import options
from gpulint.cli.estimating import Wanted, named_cards, report
from gpulint.cli.options import UserError
from gpulint.cli.probing import target_of
from gpulint.cli.sizes import MAX_GPUS
from gpulint.estimate.cards import Card
from gpulint.estimate.report import FORMATS

MOST_EXAMPLES = 2**30
"""Largest batch: twice as many, which are estimated too, must be a size of `tf.shape`."""


def _shapes(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> Mapping[str, tuple[int | None, ...]]:
    """The values of `--shape`. Raises click.BadParameter."""
    found = {}
    for value in values:
        name, equals, sizes = value.partition("=")
        words = [word.strip() for word in sizes.split(",")]
        if not name or not equals or not all(word == "?" or (word.isdecimal() and int(word)) for word in words):
            raise click.BadParameter(
                f"{value!r} is not a shape: write NAME=32,128, with ? for a dimension to leave open"
            )
        found[name.strip()] = tuple(None if word == "?" else int(word) for word in words)
    return found


@click.command("estimate", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", required=False, type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does.")
@click.option(
    "--gpu",
    "chosen",
    callback=named_cards,
    metavar="NAME[,NAME…]",
    help="The cards, such as T4,A100-80GB, or memory=24GiB,tflops=80,bandwidth=1000 (TFLOP/s, GB/s) for any other."
    "  [default: this machine's, else those that clouds rent out most]",
)
@click.option(
    "--gpus",
    type=click.IntRange(min=1, max=MAX_GPUS),
    metavar="N",
    help="Number of GPUs that the program sees and that the report scales to.  [default: 1; scales to 2, 4 and 8]",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1, max=MOST_EXAMPLES),
    metavar="N",
    help="Examples per GPU and step, instead of the program's batch size.",
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    callback=_shapes,
    metavar="NAME=SIZE,SIZE…",
    help="Sizes that the program leaves open, by the name of an argument, or the key or position in an element of the "
    "dataset; ? leaves one open; can be repeated.",
)
@click.option("--timeout", type=click.FloatRange(min=0), metavar="S", help="Stop the program after S seconds.")
@click.option("--output-format", type=click.Choice(FORMATS), default="text", help="Output format.")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write the report to this file.")
@click.option("--html", "html_path", metavar="FILE", help="Also write the report as an HTML page to this file.")
@options.color
def command(
    script: str | None,
    arguments: tuple[str, ...],
    module: str | None,
    chosen: tuple[Card, ...] | None,
    gpus: int | None,
    batch: int | None,
    shapes: Mapping[str, tuple[int | None, ...]],
    timeout: float | None,
    output_format: str,
    output_file: str | None,
    html_path: str | None,
    color: str,
) -> None:
    """Estimate whether a training step fits on a GPU, up to which batch, and what bounds its speed, without that GPU.

    SCRIPT runs as `python SCRIPT ARGUMENTS…` would, on simulated GPUs, until its training step has been traced, and is
    stopped before the step runs. A notebook (.ipynb) runs as `jupyter execute` would; options of gpulint come before
    the script.

    Exit status: 0 the step fits on every GPU that --gpu names, 1 it does not fit on one of them, 2 wrong usage or an
    internal error, 3 that is unknown, or no training step could be traced, 4 the program itself failed before its
    training step, 124 it took too long.
    """
    if not (module or script):
        raise UserError("name a program: gpulint estimate SCRIPT, or -m MODULE")
    target = target_of(script, module, arguments)
    wanted = Wanted(chosen, gpus, batch, shapes, timeout)
    sys.exit(report(target, wanted, output_format, output_file, html_path, color))
