"""gpulint as a library: what the commands do, as functions of their arguments.

Nothing is kept between calls, and arguments and results can be pickled. The names are public in `gpulint`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpulint.discovery import discover
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.engine import Checker
from gpulint.linting.examined import Examined
from gpulint.linting.pack import Sources
from gpulint.linting.result import CheckResult
from gpulint.linting.selection import Catalogue
from gpulint.linting.task import Task, examine
from gpulint.linting.workers import Workers
from gpulint.output.plan_text import PlacedNote, place
from gpulint.places import Site
from gpulint.settings import Settings, SettingsFinder
from gpulint.settings.trust import Trust


class Map(Protocol):
    """Calls a function with each task and returns the results in the order of the tasks, as `map` does.

    Function, tasks and results can be pickled: the calls can run in other processes, and on other machines that see the
    same files under the same paths.
    """

    def __call__(
        self, function: Callable[[Task], list[Examined]], tasks: Sequence[Task], /
    ) -> Iterable[list[Examined]]: ...


def check_source(text: str, path: str = "<source>", settings: Settings | None = None) -> CheckResult:
    """Check a program that is given as text.

    Findings name `path`, imports are resolved from its folder, and a path that ends in `.ipynb` means a notebook.
    `settings` are the defaults if there are none; no configuration file is read. Raises SettingsError, and PackError if
    rules cannot be loaded.
    """
    finder = SettingsFinder(settings or Settings(root=os.getcwd()))
    catalogue = Catalogue.load(Sources.of(finder.of_directory(".")))
    return Checker(finder, catalogue).check([path], {path: text.encode("utf-8", "surrogatepass")})


def check_paths(
    paths: Iterable[str | os.PathLike[str]],
    settings: Settings | None = None,
    *,
    jobs: int = 1,
    map: Map | None = None,
    trust: bool = False,
) -> CheckResult:
    """Check files, directories and glob patterns, as `gpulint check` does; the result is the same for any `jobs`.

    Without `settings` each file has those of its nearest configuration file. `map` does the work if it is given,
    otherwise `jobs` processes. Raises MissingPath, SettingsError, and PackError if rules cannot be loaded.

    Rules that a configuration file names are loaded, which runs their code, only if the user trusts its folder, or with
    `trust`; otherwise there is a UserWarning. The same applies to limits above the defaults. `settings` are trusted.
    """
    finder = SettingsFinder(settings, trust=Trust(trust))
    files = discover([os.fspath(path) for path in paths], finder)
    present = finder.of_directory(".")
    for line in ([str(present.withheld)] if present.withheld is not None else []) + finder.notes:
        warnings.warn(line, stacklevel=2)
    rules = Sources.of(present)
    catalogue = Catalogue.load(rules)
    checker = Checker(finder, catalogue)
    if map is not None:
        return checker.check(files, examine=_Mapped(map, finder, rules))
    return checker.check(files, examine=Workers(jobs, finder, catalogue, rules) if jobs > 1 else None)


@dataclass(frozen=True, slots=True)
class PlanView:
    """What a program will do: `notes` in order of rows, each with its place and certainty.

    `complete` is false if the program was too large to be analysed to its end; `bounds` are the limits that were
    reached.
    """

    path: str
    graph_mode: bool
    complete: bool
    notes: tuple[PlacedNote, ...]
    bounds: tuple[tuple[str, Site], ...]


def plan(text: str, path: str = "<source>", settings: Settings | None = None) -> PlanView:
    """What gpulint predicts that a program will do. `path` and `settings` as for `check_source`.

    Only the Python cells of a notebook count. Raises Undecodable and CannotParse.
    """
    checker = Checker(SettingsFinder(settings or Settings(root=os.getcwd())), Catalogue(()))
    source = checker.load(path, text.encode("utf-8", "surrogatepass")).main
    made = checker.plan(source)
    notes = on_deep_stack(lambda: place(made, source))
    return PlanView(path, made.graph_mode, made.is_complete, tuple(notes), tuple(made.bounds))


@dataclass(frozen=True, slots=True)
class _Mapped:
    """Examines the portions of a run through a `map`."""

    map: Map
    finder: SettingsFinder
    rules: Sources

    def __call__(
        self, portions: Sequence[tuple[str, ...]], shown: Collection[str], given: Mapping[str, bytes]
    ) -> list[Examined]:
        tasks = [Task(paths, self.finder, self.rules, frozenset(shown), given) for paths in portions]
        return [part for parts in self.map(examine, tasks) for part in parts]
