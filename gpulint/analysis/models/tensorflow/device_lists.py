"""Lists of devices, as `tf.config.list_physical_devices` and its like give them."""

from __future__ import annotations

from gpulint.analysis.domain.values.base import Constant, PartialString, Value
from gpulint.analysis.domain.values.devices import DeviceList, ListedDevice


def item(devices: DeviceList, key: Value) -> Value | None:
    """`devices[key]`; None where the key is no index."""
    index = key.value if isinstance(key, Constant) else None
    return ListedDevice(devices, index) if index is None or isinstance(index, int) else None


def part(devices: DeviceList, bounds: tuple[Value, ...]) -> DeviceList:
    """`devices[lower:upper:step]`; all but the last of them where the bounds are unknown."""
    known = [bound.value if isinstance(bound, Constant) else ... for bound in bounds]
    lower, upper, step = known
    if step is None and devices.part is None:
        if (lower is None or isinstance(lower, int)) and (upper is None or isinstance(upper, int)):
            return DeviceList(devices.listing, devices.type, (lower, upper))
    return DeviceList(devices.listing, devices.type, (None, -1))


def name_of(device: ListedDevice) -> Value:
    """`device.name`: a logical device is called what `tf.device` takes, a physical one is not."""
    if device.list.listing == "logical":
        return device
    return PartialString(("/physical_device:", None), ("attribute", device.symbol, "name"))
