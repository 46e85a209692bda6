"""Lists of devices, as `tf.config.list_physical_devices` and similar functions return them."""

from __future__ import annotations

from gpulint.analysis.domain.values.base import Constant, PartialString, Value, symbol_of
from gpulint.analysis.domain.values.devices import DeviceList, ListedDevice


def item(devices: DeviceList, key: Value) -> Value | None:
    """Result of `devices[key]`, None where the key is not an index."""
    index = key.value if isinstance(key, Constant) else None
    if index is None and not isinstance(key, Constant):
        return ListedDevice(devices, None, chosen=symbol_of(key))
    return ListedDevice(devices, index) if index is None or isinstance(index, int) else None


def part(devices: DeviceList, bounds: tuple[Value, ...]) -> DeviceList:
    """Result of `devices[lower:upper:step]`: all devices but the last where the bounds are unknown."""
    known = [bound.value if isinstance(bound, Constant) else ... for bound in bounds]
    lower, upper, step = known
    if step is None and devices.part is None:
        if (lower is None or isinstance(lower, int)) and (upper is None or isinstance(upper, int)):
            return DeviceList(devices.listing, devices.type, (lower, upper))
    return DeviceList(devices.listing, devices.type, (None, -1))


def name_of(device: ListedDevice) -> Value:
    """Value of `device.name`. `tf.device` accepts the name of a logical device, not that of a physical one."""
    if device.list.listing == "logical":
        return device
    return PartialString(("/physical_device:", None), ("attribute", device.symbol, "name"))
