"""The devices that TensorFlow lists, and the runtime configuration that the program's settings result in.

Simulated GPUs are added where TensorFlow asks the system for devices. What `tf.config` accepts, rejects and returns is
then TensorFlow's own behaviour; only the final runtime configuration has logical CPUs instead.
"""

from __future__ import annotations

import os
from typing import Any

from gpulint.probe.agent.simulation.capacity import Capacity
from gpulint.probe.agent.simulation.ledger import Ledger
from gpulint.probe.agent.simulation.names import Names
from gpulint.probe.agent.simulation.pieces import Pieces
from gpulint.probe.agent.simulation.placing import Placing

NAME = "simulated GPU"
"""Name in `tf.config.experimental.get_device_details`, without a compute capability: none is simulated."""

_MASK = "CUDA_VISIBLE_DEVICES"

GIVEN = os.environ.get(_MASK)
"""Its value before the program started. TensorFlow may be imported after the program has set it."""


class Listing:
    """Wraps the lists of devices: `count` GPUs, with `memory` bytes each unless it is None."""

    def __init__(
        self,
        count: int,
        memory: int | None,
        names: Names,
        placing: Placing,
        ledger: Ledger,
        capacity: Capacity,
        pieces: Pieces,
    ) -> None:
        self._count = count
        self._memory = memory
        self._names = names
        self._placing = placing
        self._ledger = ledger
        self._capacity = capacity
        self._pieces = pieces
        self.growth: bool | None = None
        """Whether the latest configuration enables memory growth."""

    def install(self) -> None:
        """Installs all wrappers."""
        self._physical()
        self._logical()
        self._usage()
        self._configured()
        self._sessions()
        self._local_devices()
        self._pieces.build.IsGoogleCudaEnabled = lambda: True

    def limits(self) -> dict[str, int]:
        """Limit in bytes of each simulated GPU by logical name: as configured by the program, or its memory."""
        return {f"GPU:{index}": limit for index, limit in self._limits().items()}

    def _limits(self) -> dict[int, int]:
        context = self._pieces.context.context()
        found: list[int | None] = []
        for device in context._physical_devices or ():
            if device.device_type == "GPU" and device in context._visible_device_list:
                parts = context._virtual_device_map.get(device)
                found += [part.memory_limit and int(part.memory_limit) << 20 for part in parts or ()]
                found += [self._memory] if parts is None else []
        return {index: limit for index, limit in enumerate(found) if limit}

    # --------------------------------------------------------------------------- physical

    def _physical(self) -> None:
        tfe = self._pieces.tfe
        details = tfe.TF_GetDeviceDetails

        def listed() -> list[bytes]:
            # The system is not queried: that would start the driver of a machine with GPUs.
            return [b"/physical_device:CPU:0", *(b"/physical_device:GPU:%d" % index for index in range(self._visible))]

        def details_of(index: int) -> Any:
            return {"device_name": NAME} if index > 0 else details(index)

        tfe.TF_ListPhysicalDevices = listed
        tfe.TF_GetDeviceDetails = details_of

    @property
    def _visible(self) -> int:
        """Number of GPUs that `CUDA_VISIBLE_DEVICES` leaves visible, if the program set it; an earlier value is
        about the host machine. CUDA stops at the first invalid entry."""
        mask = os.environ.get(_MASK)
        if mask is None or mask == GIVEN:
            return self._count
        seen: set[int] = set()
        for entry in mask.split(","):
            text = entry.strip()
            if not text.isdigit() or int(text) >= self._count or int(text) in seen:
                break
            seen.add(int(text))
        return len(seen)

    # ---------------------------------------------------------------------------- logical

    def _logical(self) -> None:
        for module in (self._pieces.tfe, self._pieces.sessions):
            name_of, type_of = module.TF_DeviceListName, module.TF_DeviceListType

            def name(devices: Any, index: int, name_of: Any = name_of) -> str:
                return self._names.seen(name_of(devices, index))

            def kind(devices: Any, index: int, name_of: Any = name_of, type_of: Any = type_of) -> Any:
                is_gpu = self._names.gpu(self._names.seen(name_of(devices, index))) is not None
                return "GPU" if is_gpu else type_of(devices, index)

            module.TF_DeviceListName, module.TF_DeviceListType = name, kind

    def _configured(self) -> None:
        context, names = self._pieces.context.Context, self._names
        planned, initialise = context.config.fget, context._initialize_logical_devices

        def config(made: Any) -> Any:
            plan = planned(made)
            counts = plan.device_count
            names.set(counts["CPU"], counts["GPU"])
            self._placing.forget()
            counts["CPU"], counts["GPU"] = names.cpus + names.gpus, 0
            self.growth = bool(plan.gpu_options.allow_growth)
            plan.ClearField("gpu_options")
            plan.experimental.collective_nccl = False
            return plan

        def initialised(made: Any) -> None:
            initialise(made)
            names.head = made._context_devices[0].partition("/device:")[0]
            self._placing.forget()
            self._capacity.limit(self._limits())

        context.config = property(config, doc=context.config.__doc__)
        context._initialize_logical_devices = initialised

    def _sessions(self) -> None:
        """A TensorFlow 1 session creates its own devices."""
        sessions, names = self._pieces.sessions, self._names
        make = sessions.TF_NewSessionOptions

        def options(target: Any = None, config: Any = None) -> Any:
            plan = self._pieces.config_proto.ConfigProto()
            if config is not None:
                plan.CopyFrom(config)
            self._pieces.count_devices()
            if plan.device_count.get("GPU", 1):
                plan.device_count["CPU"] = names.cpus + names.gpus
            plan.device_count["GPU"] = 0
            plan.ClearField("gpu_options")
            return make(target=target, config=plan)

        sessions.TF_NewSessionOptions = options

    def _local_devices(self) -> None:
        """`device_lib.list_local_devices`, which `tf.test.is_gpu_available` and `gpu_device_name` use."""
        module, protos = self._pieces.device_list, self._pieces
        listed = module.list_devices

        def devices(serialized: bytes | None = None) -> list[bytes]:
            plan = protos.config_proto.ConfigProto()
            plan.ParseFromString(serialized or b"")
            plan.device_count["GPU"] = 0
            found = list(listed(plan.SerializeToString()))
            for index in range(self._visible):
                made = protos.attributes_proto.DeviceAttributes(
                    name=f"/device:GPU:{index}",
                    device_type="GPU",
                    memory_limit=self._memory or 0,
                    physical_device_desc=f"device: {index}, name: {NAME}",
                )
                found.append(made.SerializeToString())
            return found

        module.list_devices = devices

    # ----------------------------------------------------------------------------- memory

    def _usage(self) -> None:
        tfe, names, ledger = self._pieces.tfe, self._names, self._ledger
        usage, reset = tfe.TFE_GetMemoryInfo, tfe.TFE_ResetMemoryStats

        def usage_of(handle: Any, device: str) -> Any:
            gpu = names.gpu(device)
            return usage(handle, device) if gpu is None else ledger.usage(gpu)

        def reset_of(handle: Any, device: str) -> Any:
            if (gpu := names.gpu(device)) is not None:
                return ledger.reset_peak(gpu)
            self._capacity.note_peak(handle)
            return reset(handle, device)

        tfe.TFE_GetMemoryInfo, tfe.TFE_ResetMemoryStats = usage_of, reset_of
