"""Device lists and their elements."""

from __future__ import annotations

from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import Value


class DeviceList(Value):
    """Result of `tf.config.list_physical_devices` and similar functions. `part` is the slice taken of it: (start,
    stop)."""

    __slots__ = ("listing", "part", "type")

    is_its_copy = True

    def __init__(self, listing: str, type: str, part: tuple[int | None, int | None] | None = None) -> None:
        self.listing = listing
        """One of "physical", "logical" and "visible"."""
        self.type = type
        self.part = part

    @property
    def symbol(self) -> Symbol:
        return symbol(("devices", self.type, self.part))


class ListedDevice(Value):
    """An element of a device list. `index` is constant, or None for the element of the present iteration."""

    __slots__ = ("chosen", "index", "iteration", "list")

    def __init__(self, list: DeviceList, index: int | None, iteration: int = 0, chosen: Symbol | None = None) -> None:
        self.list = list
        self.index = index
        self.iteration = iteration
        """Index of the iteration over the list in which this is the element."""
        self.chosen = chosen
        """Name of the unknown number by which it is taken from the list."""

    @property
    def symbol(self) -> Symbol:
        return symbol(("item", self.list.symbol, self.index))
