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
from gpulint.linting.workers import FORKS, Workers, has_threads
from gpulint.output.plan_text import placed_notes, stops
from gpulint.places import Span
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


def check_source(
    text: str, path: str = "<source>", settings: Settings | None = None, *, trust: bool = False
) -> CheckResult:
    """Check a program that is given as text.

    Findings name `path`, imports are resolved from its folder, and a path that ends in `.ipynb` means a notebook.
    `settings` and `trust` as for `check_paths`. Raises SettingsError, and PackError if rules cannot be loaded.
    """
    finder, rules = _configured(settings, trust)
    return Checker(finder, Catalogue.load(rules)).check([path], {path: text.encode("utf-8", "surrogatepass")})


def check_paths(
    paths: Iterable[str | os.PathLike[str]],
    settings: Settings | None = None,
    *,
    jobs: int = 1,
    map: Map | None = None,
    trust: bool = False,
) -> CheckResult:
    """Check files, directories and glob patterns, as `gpulint check` does; the result is the same for any `jobs`.

    Without `settings` each file has those of its nearest configuration file; with them no configuration file is read.
    `map` does the work if it is given, otherwise `jobs` processes. Raises MissingPath, SettingsError, and PackError if
    rules cannot be loaded.

    Rules that a configuration file names are loaded, which runs their code, only if the user trusts its folder, or with
    `trust`; otherwise there is a UserWarning. The same applies to limits above the defaults. `settings` are trusted.

    Where this process has threads, other processes are started anew and not forked. They import the main module, so a
    script calls this under `if __name__ == "__main__":`; without that, this process does all the work.
    """
    finder, rules = _configured(settings, trust)
    files = discover([os.fspath(path) for path in paths], finder)
    _warn(finder.notes, stacklevel=3)
    catalogue = Catalogue.load(rules)
    checker = Checker(finder, catalogue)
    if map is not None:
        return checker.check(files, examine=_Mapped(map, finder, rules))
    if jobs < 2:
        return checker.check(files)
    forks = FORKS and not has_threads()
    return checker.check(files, examine=Workers(jobs, finder, catalogue, rules, forks=forks))


@dataclass(frozen=True, slots=True)
class PlanCall:
    """A call that leads to a note: the function that makes it, "" for the module, and its place."""

    function: str
    span: Span


@dataclass(frozen=True, slots=True)
class PlanNote:
    """Something that a program will do at a place.

    `kind` is "strategy", "scope", "device", "model", "optimizer", "variable", "metric", "compile", "fit", "run",
    "dataset", "runtime", "environment" or "gradients". `scopes` are the device and strategy scopes around it, outermost
    first. `certainty` is "must", "may" (with the conditions in `because`) or "unknown" (with the reason there). `via`
    are the calls in the file through which the program gets there, innermost first.
    """

    span: Span
    kind: str
    text: str
    scopes: tuple[str, ...]
    certainty: str
    because: str
    via: tuple[PlanCall, ...]


@dataclass(frozen=True, slots=True)
class PlanBound:
    """A limit of the analysis that was reached, and what that means. `span` is None if the file cannot be read."""

    bound: str
    why: str
    path: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class PlanView:
    """The predicted behaviour of a program: `notes` in order of rows.

    `complete` is false if the program was too large to be analysed to its end; `bounds` are the limits that were
    reached.
    """

    path: str
    graph_mode: bool
    complete: bool
    notes: tuple[PlanNote, ...]
    bounds: tuple[PlanBound, ...]


def plan(text: str, path: str = "<source>", settings: Settings | None = None) -> PlanView:
    """Predict what a program will do. `path` and `settings` are as for `check_source`.

    Only the Python cells of a notebook count. Raises SettingsError, Undecodable and CannotParse.
    """
    checker = Checker(SettingsFinder(settings), Catalogue(()))
    source = checker.load(path, text.encode("utf-8", "surrogatepass")).main
    predicted = checker.plan(source)

    def shown(span: Span) -> Span:
        return span._replace(path=path) if span.path == source.path else span

    notes = (
        PlanNote(
            span=shown(one.span),
            kind=one.note.kind,
            text=one.text,
            scopes=one.note.scopes,
            certainty=one.note.certainty,
            because=one.note.because,
            via=tuple(PlanCall(function, shown(span)) for function, span in one.via),
        )
        for one in on_deep_stack(lambda: placed_notes(predicted, source))
    )
    bounds = (
        PlanBound(bound, why, path if at == source.path else at, shown(span) if span is not None else None)
        for bound, why, at, span in stops(predicted, source, checker.files.read)
    )
    return PlanView(path, predicted.graph_mode, predicted.is_complete, tuple(notes), tuple(bounds))


def _configured(settings: Settings | None, trust: bool) -> tuple[SettingsFinder, Sources]:
    """The settings of a run, and the rules that those of the working directory name. Raises SettingsError."""
    finder = SettingsFinder(settings, trust=Trust(trust))
    present = finder.of_directory(".")
    _warn([str(present.withheld)] if present.withheld is not None else [], stacklevel=4)
    return finder, Sources.of(present)


def _warn(lines: Iterable[str], stacklevel: int) -> None:
    for line in lines:
        warnings.warn(line, stacklevel=stacklevel)


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
