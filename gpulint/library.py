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
from gpulint.output.plan_text import Placed, place
from gpulint.places import Site
from gpulint.settings import Settings, SettingsFinder
from gpulint.settings.trust import Trust


class Map(Protocol):
    """Calls a function with each task and gives the results in the order of the tasks, as `map` does.

    Function, tasks and results can be pickled: it may run in other processes, and on other machines that see the
    same files under the same paths.
    """

    def __call__(
        self, function: Callable[[Task], list[Examined]], tasks: Sequence[Task], /
    ) -> Iterable[list[Examined]]: ...


def check_source(text: str, path: str = "<source>", settings: Settings | None = None) -> CheckResult:
    """Check a program that is given as text.

    `path` is where it would stand: findings name it, imports are looked for beside it, and a text whose path ends in
    `.ipynb` is that of a notebook. `settings` are the defaults
    where there are none; no configuration file is read. Raises SettingsError, and PackError where rules do not load.
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

    Without `settings` each file has those of its nearest configuration file. With `map` the work is done by whatever
    that is, otherwise by `jobs` processes. Raises MissingPath, SettingsError, and PackError where rules do not load.

    Rules that a configuration file names are loaded, which runs their code, only if the user trusts its folder, or with
    `trust`; otherwise a UserWarning says so. The same goes for limits above the defaults. `settings` are trusted.
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
    """What a program will do: `notes` in order of rows, each with its place and how sure it is.

    `complete` is false where the program was too large to run to its end; `bounds` are what the analysis stopped at.
    """

    path: str
    graph_mode: bool
    complete: bool
    notes: tuple[Placed, ...]
    bounds: tuple[tuple[str, Site], ...]


def plan(text: str, path: str = "<source>", settings: Settings | None = None) -> PlanView:
    """What gpulint believes that a program will do. `path` and `settings` as for `check_source`.

    Of a notebook it is the cells that are Python. Raises Undecodable and CannotParse.
    """
    checker = Checker(SettingsFinder(settings or Settings(root=os.getcwd())), Catalogue(()))
    source = checker.load(path, text.encode("utf-8", "surrogatepass")).main
    made = checker.plan(source)
    notes = on_deep_stack(lambda: place(made, source))
    return PlanView(path, made.graph_mode, made.is_complete, tuple(notes), tuple(made.bounds))


@dataclass(frozen=True, slots=True)
class _Mapped:
    """Examines the portions of a run by somebody else's `map`."""

    map: Map
    finder: SettingsFinder
    rules: Sources

    def __call__(
        self, portions: Sequence[tuple[str, ...]], shown: Collection[str], given: Mapping[str, bytes]
    ) -> list[Examined]:
        tasks = [Task(paths, self.finder, self.rules, frozenset(shown), given) for paths in portions]
        return [part for parts in self.map(examine, tasks) for part in parts]
