"""The plan: what a program will do according to its source."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpulint.analysis.domain.path_conditions import EVERYWHERE, Path
from gpulint.knowledge.removed import since
from gpulint.places import Site
from gpulint.sources.releases import release

if TYPE_CHECKING:
    from gpulint.analysis.domain.values.functions import UserClass
    from gpulint.analysis.plan.events import Event, LibraryCalled


WITH_KERAS_3 = (2, 16)
"""First release of TensorFlow that includes Keras 3."""

MAX_REPEATS = 2
"""Maximum number of runs of a function with the same arguments in the same context. Later calls reuse the result."""

WHY_STOPPED = {
    "steps": "what runs from here is too much to be run to its end",
    "call depth": "calls nest too deeply to be followed",
    "runs of one function": "this function is called in too many ways to be followed in each",
}
"""Limits of the analysis, and the explanation shown where one was reached."""


_KERAS_2 = re.compile(r"\btf_keras\b")
"""The `tf_keras` package, as opposed to file names such as `tf_keras_mnist.py`."""


_ADDONS = re.compile(r"^(?:from|import) tensorflow_addons\b", re.MULTILINE)
"""TensorFlow Addons imports modules of Keras 2 (run with 0.23 on 2.21)."""

_IMPORTED = re.compile(r"^(?:from (tensorflow\.[\w.]+) import (\w+)|import (tensorflow\.[\w.]+))", re.MULTILINE)


def _imports_keras_2(code: str) -> bool:
    return _ADDONS.search(code) is not None or any(map(_is_lacking, _IMPORTED.finditer(code)))


def _is_lacking(found: re.Match[str]) -> bool:
    """Whether an import names a module that was removed by the first release with Keras 3, or the first name in one."""
    module, name, whole = found.groups()
    parts = (f"{module}.{name}" if module else whole).split(".")
    gone = [since(".".join(parts[:length])) for length in range(2, len(parts) + 1)]
    return any(one is not None and (2, 0) < release(one) <= WITH_KERAS_3 for one in gone)


@dataclass(slots=True)
class Plan:
    """The events of one program in evaluation order, and where the analysis stopped.

    `bounds` are pairs (limit, site): what lies behind such a site is unknown. Rules about something *missing* must not
    report anything if `is_complete` is false.
    """

    path: str
    target: str
    events: Sequence[Event] = ()
    bounds: list[tuple[str, Site]] = field(default_factory=list)
    is_complete: bool = True
    graph_mode: bool = False
    classes: dict[tuple[str, int], UserClass] = field(default_factory=dict)
    required: Path = EVERYWHERE
    """Conditions that hold after the body of the file has run to its end. Callers of its functions have imported it, so
    they hold there too."""

    calls_of_imports: dict[Site, LibraryCalled] = field(default_factory=dict)
    """Calls of library functions by the modules that the program imports, while they are imported. They are no events
    of the program."""

    called_elsewhere: set[Site] = field(default_factory=set)
    """Functions of other files that the program calls."""

    completed: set[Site] = field(default_factory=set)
    """Functions among `called_elsewhere` that were run to their end at least once."""

    entered: set[Site] = field(default_factory=set)
    """Managers of the `with` statements that were reached."""

    has_unreached_with: Callable[[Site | None], bool] = lambda definition: False
    """Whether a function, or the body of the file (None), has a `with` statement over an existing object (not over a
    call) that was never reached."""

    referenced: frozenset[str] = frozenset()
    """Every identifier in the file. A name in it may be used."""

    texts: Callable[[], tuple[str, ...]] = tuple
    """Texts of the file and of the project files that it imports."""

    code_of: Callable[[str], str] = str
    """One of the texts without comments and docstrings, which decide nothing."""

    searched: dict[tuple[str, re.Pattern[str] | None], bool] = field(default_factory=dict)
    """Words, and patterns with these words, that were searched for in the texts, and whether they were found."""

    is_sealed: bool = False
    """Whether it is finished: fields of a sealed Plan cannot be set."""

    release: Callable[[], None] = lambda: None
    """Undo the program's changes to modules shared with other programs of the project, and drop its events. Call it
    after reading the plan, before another program is run."""

    def __setattr__(self, name: str, value: object) -> None:
        if name != "is_sealed" and getattr(self, "is_sealed", False):
            raise AttributeError(f"`{name}` of a Plan cannot be set: rules only read it")
        object.__setattr__(self, name, value)

    @property
    def has_keras_3(self) -> bool:
        """Whether the targeted TensorFlow release includes Keras 3 (2.16 and later)."""
        return self.release_of_target >= WITH_KERAS_3

    @property
    def may_run_keras_2(self) -> bool:
        """Whether the program's text indicates that it runs on Keras 2: `tf_keras`, `TF_USE_LEGACY_KERAS`."""
        return self.mentions("TF_USE_LEGACY_KERAS") or self._contains("tf_keras", _KERAS_2)

    @property
    def runs_keras_3(self) -> bool:
        """Whether the program runs on Keras 3, judging by the release and the program's text."""
        return self.has_keras_3 and not self.may_run_keras_2

    @property
    def imports_keras_2(self) -> bool:
        """Whether a file of the program imports, in its body, what TensorFlow with Keras 3 lacks."""
        found = self.searched.get(("tensorflow", _IMPORTED))
        if found is None:
            # the search of a text is cheap, and what is code in it is not
            found = any(_imports_keras_2(text) and _imports_keras_2(self.code_of(text)) for text in self.texts())
            self.searched["tensorflow", _IMPORTED] = found
        return found

    @property
    def release_of_target(self) -> tuple[int, ...]:
        """Targeted TensorFlow release as numbers: (2, 21)."""
        return release(self.target)

    def mentions(self, word: str) -> bool:
        """Whether the program's code contains a word anywhere, including strings, but not in a comment or docstring."""
        return self._contains(word, None)

    def _contains(self, word: str, pattern: re.Pattern[str] | None) -> bool:
        """Whether the program's code contains a word, and something that matches a pattern with it."""
        found = self.searched.get((word, pattern))
        if found is None:
            codes = (self.code_of(text) for text in self.texts() if word in text)
            found = any(word in code if pattern is None else pattern.search(code) is not None for code in codes)
            self.searched[word, pattern] = found
        return found

    def may_have_missed(self, *words: str, seen: int = 0) -> bool:
        """Whether an event about these names may be hidden behind a limit: the analysis is incomplete, and the
        program's text contains one of them more than `seen` times."""
        return not self.is_complete and any(sum(text.count(word) for text in self.texts()) > seen for word in words)

    def reached(self, bound: str, site: Site) -> None:
        """Record that a limit of the analysis was reached at `site`."""
        if (bound, site) not in self.bounds:
            self.bounds.append((bound, site))
