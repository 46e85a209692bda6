"""Names of devices: `tf.device`, `tf.DeviceSpec`, and the devices that a strategy is given."""

from __future__ import annotations

from dataclasses import replace

from gpulint.analysis.domain.context import DeviceScope
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, PartialString, Union, Unknown, Value
from gpulint.analysis.domain.values.devices import ListedDevice
from gpulint.analysis.domain.values.objects import DeviceManager
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.handlers import Handler
from gpulint.analysis.models.tensorflow import device_runtime
from gpulint.analysis.plan import events
from gpulint.knowledge.devices import DeviceName, parse_device
from gpulint.places import Site


def use_device_name(machine: Machine, value: Value, consumer: str, site: Site) -> tuple[DeviceName | None, bool]:
    """Device that a value names, and whether the program chooses it at run time.

    Emits `DeviceNamed` for names that are written out.
    """

    def tell(text: str, device: DeviceName | None) -> None:
        origin = value.origin if isinstance(value, Constant) and value.origin is not None else site
        gpus = device_runtime.logical_gpus(machine) if device is not None and device.is_gpu else None
        machine.emit(events.DeviceNamed(origin, machine.where(), text, device, consumer, site, gpus))

    if isinstance(value, Constant) and isinstance(value.value, str):
        device = parse_device(value.value)
        tell(value.value, device)
        return device, bool(value.named)
    if isinstance(value, PartialString):
        template = "".join("0" if part is None else part for part in value.parts)
        device = parse_device(template)
        if device is None and template.startswith("/physical_device:"):
            tell(template, None)
        elif (
            device is not None and device.is_gpu and (chosen := device_runtime.numbered_by(machine, value)) is not None
        ):
            text = "".join("…" if part is None else part for part in value.parts)
            machine.emit(events.PhysicalNumberNamed(site, machine.where(), text, chosen))
        return replace(device, index=None) if device is not None else None, True
    if isinstance(value, ListedDevice):
        return DeviceName(value.list.type, value.index), True
    return None, True


def _device(machine: Machine, arguments: Arguments, site: Site) -> Value:
    given = arguments.get("device_name", 0) or arguments.get("device", 0) or Unknown(("device", site))

    several = isinstance(machine.choose(given), Union)

    def manager(option: Value) -> Value:
        device, chosen = use_device_name(machine, option, "tensorflow.device", site)
        chosen = chosen or several or (isinstance(option, Constant) and option.is_default)
        if isinstance(option, Constant) and option.value is None:
            device, chosen = None, False
        return DeviceManager(site, DeviceScope(site, device, chosen), option)

    return machine.each(given, manager, site)


def _device_spec(machine: Machine, arguments: Arguments, site: Site) -> Value:
    params = ("job", "replica", "task", "device_type", "device_index")
    kind, index = arguments.of("device_type", params), arguments.of("device_index", params)
    if isinstance(kind, Constant) and isinstance(kind.value, str):
        if isinstance(index, Constant) and isinstance(index.value, int):
            return Constant(f"/device:{kind.value}:{index.value}", site, index.named)
        return PartialString((f"/device:{kind.value}:", None), ("text", site))
    return Unknown(("device", site))


def _device_spec_from_string(machine: Machine, arguments: Arguments, site: Site) -> Value:
    spec = machine.choose(arguments.get("spec", 0) or NONE)
    use_device_name(machine, spec, "tensorflow.DeviceSpec", site)
    return spec


HANDLERS: dict[str, Handler] = {
    "tensorflow.device": _device,
    "tensorflow.DeviceSpec": _device_spec,
    "tensorflow.DeviceSpec.from_string": _device_spec_from_string,
}
"""The functions by canonical name."""
