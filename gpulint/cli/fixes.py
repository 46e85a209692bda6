"""Output of `check --fix` and `--diff`."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby

import click

from gpulint.cli.options import say
from gpulint.cli.writable import WritableFiles
from gpulint.fixing.difference import difference
from gpulint.fixing.rounds import Fixed
from gpulint.linting.own_codes import SYNTAX_ERROR
from gpulint.output.escapes import printable, printable_block
from gpulint.output.summary import number
from gpulint.output.view import place
from gpulint.sources.writing import NotWritten


def show(outcome: Fixed) -> int:
    """Print a diff of all fixes; the exit status."""
    is_shown = _is_shown()
    for path, after in outcome.after.items():
        text = difference(path, outcome.before[path], after)
        sys.stdout.buffer.write((_shown(text) if is_shown else text).encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    unreadable = [one for one in outcome.checked.result.findings if one.code == SYNTAX_ERROR]
    for one in unreadable:
        say(f"{place(one.span)}: {one.message}")
    for line in _refusals(outcome):
        click.echo(line, err=True)
    count = len(outcome.fixed)
    click.echo(f"Would fix {number(count, 'finding')}." if count else "Nothing to fix.", err=True)
    return 1 if outcome.after or unreadable else 0


def _refusals(outcome: Fixed) -> Iterator[str]:
    """A line for each rule and reason for which the fixes of findings cannot be written."""
    refused = Counter((one.code, one.no_fix) for one in outcome.checked.result.findings if one.no_fix)
    for (code, reason), count in sorted(refused.items()):
        have = "has" if count == 1 else "have"
        yield f"{number(count, 'finding')} of {code} {have} no fix, because {printable(reason)}"


def enumerate_fixed(outcome: Fixed) -> None:
    """Print the findings that were fixed on standard error, by file and rule."""
    for path, findings in groupby(sorted(outcome.fixed, key=lambda one: one.span.path), lambda one: one.span.path):
        counts = Counter((one.code, one.name) for one in findings)
        listed = ", ".join(f"{count} × {code} ({name})" for (code, name), count in sorted(counts.items()))
        say(f"fixed in {path}: {listed}")


def _is_shown() -> bool:
    """Whether the output goes to a terminal or CI log, which interpret parts of it, and not to a file or `patch`."""
    if sys.stdout.isatty():
        return True
    if not any(map(os.environ.get, _OF_CI)):
        return False
    try:
        return not stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except OSError:  # standard output is an object of Python without a descriptor
        return True


_OF_CI = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
"""Environment variables of CI systems whose logs can hold commands."""


def _shown(text: str) -> str:
    """A diff for display. `patch` accepts it unless it contained a command."""
    return printable_block(_LONE_RETURN.sub("\N{REPLACEMENT CHARACTER}", text))


_LONE_RETURN = re.compile(r"\r(?!\n)")


def pass_on(outcome: Fixed, given: Mapping[str, bytes]) -> None:
    """Print what came from standard input, fixed."""
    for path, before in given.items():
        after = outcome.after.get(path)
        sys.stdout.buffer.write(after.data if after is not None else before)
    sys.stdout.flush()


def write(outcome: Fixed, writable: WritableFiles) -> Fixed:
    """Write the fixed files; what was done. A file that cannot be written is reported and stays unchanged."""
    after = dict(outcome.after)
    for path, source in outcome.after.items():
        try:
            writable.replace(path, outcome.before[path].data, source.data)
        except NotWritten as error:
            say(str(error))
            del after[path]
    return replace(outcome, after=after, fixed=[one for one in outcome.fixed if one.span.path in after])
