"""Options that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from gpulint.output.escapes import printable
from gpulint.output.style import Style, shows_links
from gpulint.settings import Settings, SettingsError, SettingsFinder, load, parse_override
from gpulint.settings.loading import apply
from gpulint.settings.toml import KeyPlaces
from gpulint.settings.trust import Trust

F = TypeVar("F", bound=Callable[..., Any])


class UserError(click.ClickException):
    """Wrong usage or configuration: one line on standard error, exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        say(self.message)


MAX_LINE = 4_000
"""Maximum length of a line on standard error: a key, a name or a value of a project can have any length."""


def say(text: str) -> None:
    """Print one line on standard error, escaped and shortened."""
    shown = text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}…"
    click.echo(f"gpulint: {printable(shown)}", err=True)


def say_each(lines: Iterable[str]) -> None:
    """Print several lines on standard error."""
    for line in lines:
        say(line)


def configuration(function: F) -> F:
    """`--config`, `--isolated`, `--trust`, `--target-tensorflow`."""
    for option in (
        click.option("--target-tensorflow", metavar="X.Y", help="TensorFlow release that the program runs on."),
        click.option("--trust", is_flag=True, help="Trust the configuration: load its rules and raise its limits."),
        click.option("--isolated", is_flag=True, help="Read no configuration file, and load no rules of packages."),
        click.option(
            "--config",
            "configs",
            multiple=True,
            metavar="FILE|KEY=VALUE",
            help="A configuration file, or one setting in TOML; can be repeated.",
        ),
    ):
        function = option(function)
    return function


def finder(
    configs: tuple[str, ...],
    isolated: bool,
    overrides: Mapping[str, Any],
    target_tensorflow: str | None,
    trust: bool,
) -> SettingsFinder:
    """The settings that the options ask for. Raises UserError."""
    fixed: Settings | None = None
    tables: list[Mapping[str, Any]] = []
    try:
        for config in configs:
            if "=" in config and not os.path.exists(config):
                tables.append(parse_override(config))
            elif isolated:
                raise UserError("--config FILE and --isolated exclude each other")
            else:
                fixed = load(config)
                if fixed is None:
                    raise UserError(f"{config} has no [tool.gpulint] table")
        if target_tensorflow is not None:
            tables.append({"target-tensorflow": target_tensorflow})
            apply(Settings(), tables[-1], KeyPlaces("--target-tensorflow"))  # its errors name the option
        tables.append(overrides)
        found = SettingsFinder(fixed, isolated, tuple(tables), trust=Trust(trust))
        found.of_directory(".")
    except SettingsError as error:
        raise UserError(str(error)) from None
    return found


def on_file(use: Callable[..., None], path: str, *text: str) -> None:
    """Calls `use` with a path. Raises UserError for an error of the system."""
    try:
        use(path, *text)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def use_color(choice: str) -> bool:
    """Whether to use color: by option, else by NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, else if output is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def style(color: str) -> Style:
    """Style of standard output. Only a terminal gets links and line breaks."""
    is_terminal = sys.stdout.isatty()
    in_color = use_color(color)
    columns = None
    if is_terminal:
        import shutil  # slow: it imports every module for compression

        columns = shutil.get_terminal_size().columns
    return Style(
        in_color,
        in_color and shows_links(os.environ, is_terminal),
        columns,
    )


cache_directory = click.option(
    "--cache-dir",
    type=click.Path(),
    default="",
    envvar="GPULINT_CACHE_DIR",
    help="Cache directory (default: .gpulint_cache in the project).",
)


def cache(function: F) -> F:
    """`--no-cache`, `--cache-dir`."""
    no_cache = click.option("--no-cache", "-n", is_flag=True, envvar="GPULINT_NO_CACHE", help="Do not use the cache.")
    return no_cache(cache_directory(function))


color = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="When to color the output.",
)
