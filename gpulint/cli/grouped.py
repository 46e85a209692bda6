"""Commands whose help lists options by subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import click


class Grouped(click.Command):
    """A command with many options. `groups` are titles with the long names of their options, in the order of the help;
    options of no group come last."""

    groups: ClassVar[Mapping[str, Sequence[str]]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {
            next(name for name in param.opts if name.startswith("--")): record
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None
        }
        grouped = [name for names in self.groups.values() for name in names]
        others = [name for name in records if name not in grouped]
        for title, names in (*self.groups.items(), ("Other options", others)):
            with formatter.section(title):
                formatter.write_dl([records[name] for name in names])
