"""Work of a Python generator per element."""

from __future__ import annotations

from gpulint.analysis.domain.context import Loop
from gpulint.places import Site


class GeneratorWork:
    """Slow calls and reads of a generator, each with its enclosing loops, and the loops around each `yield`."""

    def __init__(self) -> None:
        self._around_yields: set[Site] = set()
        self._yields: dict[frozenset[Site], tuple[Loop, ...]] = {}
        self._is_exact = True
        self.has_ended = False
        """Whether the generator ran to its end."""
        self._calls: list[tuple[Site, frozenset[Site]]] = []
        self._reads: list[frozenset[Site]] = []

    def yielded(self, loops: tuple[Loop, ...], exact: bool) -> None:
        """Record a `yield` of one element inside these loops, or of several unknown ones."""
        around = _sites(loops)
        self._around_yields.update(around)
        self._yields[around] = loops
        self._is_exact &= exact

    def called(self, site: Site, loops: tuple[Loop, ...]) -> None:
        """Record a slow call inside these loops."""
        self._calls.append((site, _sites(loops)))

    def has_read(self, loops: tuple[Loop, ...]) -> None:
        """Record a call inside these loops that reads a file or computes something."""
        self._reads.append(_sites(loops))

    def for_samples(self) -> Site | None:
        """First slow call in a loop that runs within one element, such as a loop over the samples of a batch."""
        return next((site for site, around in self._calls if not around <= self._around_yields), None)

    def around_yields(self) -> tuple[tuple[Loop, ...], ...]:
        """Loops around each `yield`; none if the generator has, or may have, elements of other origin."""
        return tuple(self._yields.values()) if self.has_ended and self._is_exact else ()

    @property
    def reads(self) -> bool:
        """Whether the generator reads or computes something in all loops around one of its `yield`s, that is, for each
        element."""
        return any(around_yield and around_yield <= around for around_yield in self._yields for around in self._reads)


def _sites(loops: tuple[Loop, ...]) -> frozenset[Site]:
    return frozenset(loop.site for loop in loops)
