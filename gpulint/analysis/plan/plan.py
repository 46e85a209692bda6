"""What the source says will happen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpulint.analysis.domain.path_conditions import EVERYWHERE, Path
from gpulint.knowledge.releases import release
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.domain.values.functions import UserClass
    from gpulint.analysis.plan.events import Event


MAX_REPEATS = 2
"""Runs of one function with the same arguments in the same context; later ones reuse the result."""

WHY_STOPPED = {
    "steps": "what runs from here is too much to be run to its end",
    "call depth": "calls nest too deeply to be followed",
    "runs of one function": "this function is called in too many ways to be followed in each",
}
"""Bounds of the analysis, and why one ended there."""


_KERAS_2 = re.compile(r"\btf_keras\b")
"""The package, which is not what is called like `tf_keras_mnist.py`."""


@dataclass(slots=True)
class Plan:
    """The events of one program in evaluation order, and where the analysis gave up.

    `bounds` are (bound, place) pairs: what lies behind such a place is unknown, and rules that speak of
    something *missing* must stay silent when `is_complete` is false.
    """

    path: str
    target: str
    events: list[Event] = field(default_factory=list)
    bounds: list[tuple[str, Site]] = field(default_factory=list)
    is_complete: bool = True
    graph_mode: bool = False
    classes: dict[tuple[str, int], UserClass] = field(default_factory=dict)
    demanded: Path = EVERYWHERE
    """What holds where the body of the file has been run to its end: whoever calls its functions imported it."""

    borrowed: set[Site] = field(default_factory=set)
    """The functions of other files that the program calls."""

    followed: set[Site] = field(default_factory=set)
    """Those of them that were run to their end at least once."""

    counted: dict[int, set[Site]] = field(default_factory=dict)
    """For each run of a loop, where numbers are counted up or down in it."""

    entered: set[Site] = field(default_factory=set)
    """The managers of the `with` statements that were come to."""

    is_passed_by: Callable[[Site | None], bool] = lambda definition: False
    """Whether a function, or the body of the file (None), has a `with` on something that was made before, and no run
    has come to it."""

    referenced: frozenset[str] = frozenset()
    """Every identifier of the file: what is named here can be used."""

    texts: Callable[[], tuple[str, ...]] = tuple
    """The text of the file, and of those of the project that it imports."""

    release: Callable[[], None] = lambda: None
    """Takes back what the program changed in modules that it shares with other programs of the project, and lets go of
    its events. To be called when the plan has been read, before another program is run."""

    @property
    def has_keras_3(self) -> bool:
        """Whether the targeted TensorFlow release comes with Keras 3, as those from 2.16 on do."""
        return self.release_of_target >= (2, 16)

    @property
    def may_run_keras_2(self) -> bool:
        """Whether the program's text says that it runs on Keras 2: `tf_keras`, TF_USE_LEGACY_KERAS."""
        return self.mentions("TF_USE_LEGACY_KERAS") or any(
            "tf_keras" in text and _KERAS_2.search(text) is not None for text in self.texts()
        )

    @property
    def runs_keras_3(self) -> bool:
        """Whether it runs on Keras 3, for all that its release and its text say."""
        return self.has_keras_3 and not self.may_run_keras_2

    @property
    def release_of_target(self) -> tuple[int, ...]:
        """The targeted TensorFlow release as numbers: (2, 21)."""
        return release(self.target)

    def mentions(self, word: str) -> bool:
        """Whether the program's text has a word anywhere, in strings and comments too."""
        return any(word in text for text in self.texts())

    def may_hide(self, *words: str, seen: int = 0) -> bool:
        """Whether something of these names may have happened behind a bound: the run did not come to its end, and the
        program's text has one of them more often than was `seen`."""
        return not self.is_complete and any(sum(text.count(word) for text in self.texts()) > seen for word in words)

    def reached(self, bound: str, site: Site) -> None:
        """Note that a bound of the analysis was reached at `site`."""
        if (bound, site) not in self.bounds:
            self.bounds.append((bound, site))
