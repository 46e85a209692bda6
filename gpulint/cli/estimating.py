"""Estimating the user's program for `gpulint estimate` and for `gpulint probe --simulate-gpus N --gpu NAME`."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import click

from gpulint.cli import options
from gpulint.cli.options import UserError
from gpulint.cli.probing import require_program
from gpulint.estimate import cards
from gpulint.estimate.cards import Card, UnknownCard
from gpulint.estimate.estimating import estimated
from gpulint.estimate.report import render
from gpulint.estimate.report.words import place
from gpulint.estimate.tracing import NotTraced, trace
from gpulint.probe.launch.command import Target
from gpulint.probe.measures.cards import Cards
from gpulint.probe.report.file import check_writable, write
from gpulint.probe.report.layout import DEFAULT, columns_of

MORE_GPUS = (2, 4, 8)
"""Numbers of GPUs that the report scales to where the user names none."""

LONGEST = 300
"""Characters of an exception's message that are shown."""

_WRONG_USAGE = "SystemExit: 2"
"""How argparse and click end a program whose arguments are wrong."""

_STYLE = re.compile(r"\x1b\[[0-9;]*m")

_OPERATION = re.compile(r"\{\{function_node [^{}]*\}\} | \[Op:\w+\](?: name:)?$")
"""The operation that TensorFlow names around the message of an error."""


def named_cards(context: click.Context, option: click.Parameter, value: str | None) -> tuple[Card, ...] | None:
    """The value of `--gpu`. For the `callback` of an option. Raises click.BadParameter."""
    try:
        return None if value is None else cards.cards(value)
    except UnknownCard as error:
        raise click.BadParameter(str(error)) from None


@dataclass(frozen=True, slots=True)
class Wanted:
    """The estimate that the options ask for. `cards` is None if the user named none."""

    cards: tuple[Card, ...] | None
    gpus: int | None = None
    batch: int | None = None
    shapes: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    timeout: float | None = None


def report(
    target: Target, wanted: Wanted, output_format: str, output_file: str | None, html_path: str | None, color: str
) -> int:
    """Estimates a program's step and writes the report. Returns the exit status. Raises UserError."""
    if sys.platform == "win32":
        raise UserError("an estimate needs Linux or macOS to run the program until its step is traced")
    require_program(target)
    for path in filter(None, (output_file, html_path)):
        options.on_file(check_writable, path)
    gpus = wanted.gpus
    traced = trace(
        target,
        gpus=gpus or 1,
        batch=wanted.batch,
        shapes=wanted.shapes,
        timeout=wanted.timeout or None,
        terminal=2 if sys.__stderr__ is not None else None,
    )
    if isinstance(traced, NotTraced):
        options.say(why(traced, target))
        return _status(traced)
    numbers = (gpus,) if gpus is not None and gpus > 1 else MORE_GPUS
    chosen = wanted.cards or of_this_machine() or tuple(map(cards.by_name, cards.DEFAULTS))
    with _status_line(f"gpulint: computing the memory of the step on {', '.join(card.name for card in chosen)}"):
        found = estimated(traced, chosen, numbers)
    width = DEFAULT if output_file else columns_of(shutil.get_terminal_size((DEFAULT, 24)).columns)
    text = render(output_format, found, not output_file and options.use_color(color), width=width)
    if output_file:
        options.on_file(write, output_file, text)
    else:
        click.echo(text.encode("utf-8", "backslashreplace").decode(), nl=False)
    if html_path:
        from gpulint.estimate.report import page

        options.on_file(write, html_path, page.render(found, shlex.join(target.words)))
    answers = {one.memory.fits if one.memory is not None else "unknown" for one in found.cards}
    return 0 if wanted.cards is None else 1 if "no" in answers else 3 if "unknown" in answers else 0


def _status_line(text: str) -> AbstractContextManager[object]:
    """A context in which a terminal shows what takes so long; nothing is written to anything else."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


def of_this_machine() -> tuple[Card, ...]:
    """The cards of this machine that the table knows, each once."""
    opened = Cards.open()
    if isinstance(opened, str):
        return ()
    found: dict[str, Card] = {}
    for row in opened.sample(()):
        try:
            card = cards.by_name(row.name)
        except UnknownCard:
            continue
        found.setdefault(card.name, card)
    opened.close()
    return tuple(found.values())


def why(found: NotTraced, target: Target) -> str:
    """One line that says why there is no estimate, and what helps."""
    at = place(*found.where) if found.where is not None else ""
    there = at or target.name
    message = _in_one_line(found.message)
    kinds = ("FileNotFound", "NotFoundError", "No such file")
    is_missing = any(word in message for word in kinds) and "ModuleNotFoundError" not in message
    needs = "; an estimate needs the data that the program reads before its first step" if is_missing else ""
    if found.reason == "no step":
        elsewhere = " in its first process; a step in a process that it starts is not found" if message else ""
        return (
            f"{target.name} ended without a training step: neither `fit` nor a function that takes gradients was "
            f"called{elsewhere}"
        )
    if found.reason == "died" and message == _WRONG_USAGE:
        named = f"-m {target.name}" if target.is_module else target.name
        return (
            f"{there} ended with exit status 2 before its first training step; "
            f"if it lacks arguments, they follow its name: gpulint estimate {named} --option value"
        )
    if found.reason == "died":
        reason = message or (f"exit status {found.status}" if found.status is not None else "a signal ended it")
        return f"{there} failed before its first training step: {reason}{needs}"
    if found.reason == "dynamic":
        return f"the step at {there} leaves {message} open; state it with --batch N or --shape NAME=32,128"
    if found.reason == "eager":
        return f"{there} takes gradients eagerly, and cannot be traced as a `tf.function`: {message}"
    if found.reason == "session":
        return f"{there} runs its training step in a TensorFlow 1 session, which cannot be estimated"
    if found.reason == "untraceable":
        return f"the step at {there} cannot be read: {message}{needs}"
    if found.reason == "refused":
        return f"GPUs cannot be simulated: {message}"
    return f"{target.name} was stopped before its first training step ({message})"


def _in_one_line(message: str) -> str:
    """A message of an exception, without the stack that TensorFlow puts into its own, and not endless."""
    text = _OPERATION.sub("", " ".join(_STYLE.sub("", message).split()))
    kind, is_within, stack = text.partition(": in user code: ")
    if is_within:
        text = f"{kind}: {stack.rpartition(f'{kind}: ')[2]}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rpartition(' ')[0]} …"


def _status(found: NotTraced) -> int:
    if found.reason == "stopped":
        return 124
    return 4 if found.reason == "died" else 3
