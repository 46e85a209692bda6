"""Lists of devices and their elements."""

from __future__ import annotations

from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import Value


class DeviceList(Value):
    """What `tf.config.list_physical_devices` and its like return; `slice_` narrows it: (start, stop)."""

    __slots__ = ("listing", "part", "type")

    is_its_copy = True

    def __init__(self, listing: str, type: str, part: tuple[int | None, int | None] | None = None) -> None:
        self.listing = listing
        """ "physical", "logical" or "visible". """
        self.type = type
        self.part = part

    @property
    def symbol(self) -> Symbol:
        return symbol(("devices", self.type, self.part))


class ListedDevice(Value):
    """One element of a device list: by constant index, or None for whichever a loop is at."""

    __slots__ = ("index", "list", "turn")

    def __init__(self, list: DeviceList, index: int | None, turn: int = 0) -> None:
        self.list = list
        self.index = index
        self.turn = turn
        """Which round of a loop over the list it stands for."""

    @property
    def symbol(self) -> Symbol:
        return symbol(("item", self.list.symbol, self.index))
