"""Features that cannot run on simulated GPUs, refused by name when the program uses them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

_MESH = "tensorflow.dtensor.python.layout"
_CONFIG = "tensorflow.dtensor.python.config"
_DTENSOR = "a DTensor mesh of GPUs passes device names to the runtime, which knows no simulated GPUs; use CPUs"


def watch_meshes(refuse: Callable[[str], None]) -> None:
    """Calls `refuse` with the reason when the program creates a mesh of GPUs. DTensor passes device names to the
    runtime by itself (2.16 and 2.21). `create_mesh(…, device_type="GPU")` first lists the devices of this type, and
    finds none."""
    try:
        mesh, config = import_module(_MESH).Mesh, import_module(_CONFIG)
        construct, of_type = mesh.__init__, config.local_devices
    except (ImportError, AttributeError):
        return

    @functools.wraps(construct)
    def constructed(self: Any, *arguments: Any, **keywords: Any) -> None:
        if any("GPU" in str(device).upper() for device in _devices(arguments, keywords)):
            refuse(_DTENSOR)
        construct(self, *arguments, **keywords)

    @functools.wraps(of_type)
    def listed(device_type: Any, *arguments: Any, **keywords: Any) -> Any:
        if str(device_type).upper() == "GPU":
            refuse(_DTENSOR)
        return of_type(device_type, *arguments, **keywords)

    mesh.__init__ = constructed
    vars(config)["local_devices"] = listed


def _devices(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
    """The local and global devices (`Mesh(dim_names, global_device_ids, local_device_ids, local_devices, mesh_name,
    global_devices)`)."""
    given = [*arguments[3:4], *arguments[5:6], keywords.get("local_devices"), keywords.get("global_devices")]
    devices = [device for some in given for device in some or ()]
    return [device.to_string() if hasattr(device, "to_string") else device for device in devices]
