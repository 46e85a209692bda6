"""Memory that TensorFlow's allocators have in use, read from the runtime inside the program.

`tf.config.experimental.get_memory_info(device)` gives the bytes of live allocations, `current`, and their maximum,
`peak`, since the last `reset_memory_stats(device)`, which sets the peak to the current value. It gives neither the size
of the pool that the allocator took from the device nor its limit. A reading takes 1.3 µs and may come from any thread.
It initialises the runtime if nothing has yet, and after that a program cannot configure devices; so nothing is read
before the program itself has initialised it. TensorFlow up to 2.4 has no `get_memory_info`.

What the CPU reports depends on the environment (x86 wheels of 2.16.2 and 2.21.0 report the same):

* As installed, oneDNN on: the allocator of oneDNN. A tensor of 1024×1024 floats is 4,194,304 bytes. **Tensors below
  262,144 bytes are not counted**: 5,000 tensors of 4,000 bytes were kept and `current` stayed 0. The limit is the
  machine's memory.
* `TF_ENABLE_ONEDNN_OPTS=0`: `ValueError: Allocator stats not available for device 'CPU:0'`.
* `TF_CPU_ALLOCATOR_USE_BFC=true`, oneDNN on or off: TensorFlow's BFC allocator, the one that GPUs have. Every tensor
  counts, rounded up to 256 bytes, sometimes up to twice its size where a chunk is not worth splitting (1,048,576 bytes
  counted as 2,096,896). `TF_CPU_BFC_MEM_LIMIT_IN_MB=64` is a limit: the allocation beyond it raises
  ResourceExhaustedError, `OOM when allocating tensor with shape[…] and type float on …CPU:0 by allocator
  bfc_cpu_allocator_for_gpu`; without that variable the limit is 64 GiB. Both are read when the runtime initialises,
  not on import.
* Buffers of tf.data (`prefetch`) are counted with the CPU's.
* A tensor that does not fit fails after ten seconds: the allocator waits that long for memory to come back.
* Rows of a tensor, `x[:32]`, are no copy: they keep all of x alive, and count as all of it.
* Logical CPUs share one allocator: all of them report the same numbers, which therefore say nothing about balance.

In a cluster, the list of logical devices includes those of the other workers. The runtime reports on its own only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.devices import short


def _always() -> bool:
    return True


class DeviceMemory:
    """Reads the memory of every logical device.

    `tensorflow` is the module imported by the program. `initialised` says whether the runtime is up; nothing is read
    before. Without it the first sample initialises the runtime. Raises nothing: a device without statistics is left
    out.
    """

    def __init__(self, tensorflow: Any, initialised: Callable[[], bool] = _always) -> None:
        self._tensorflow = tensorflow
        self._initialised = initialised
        self._devices: dict[str, str] = {}
        """Short names of logical devices → the runtime's names. Fixed once the runtime is up."""
        self.lost: dict[str, str] = {}
        """Device, or "" for all, → why it has no statistics; the first reason is kept."""

    @property
    def shared(self) -> frozenset[str]:
        """Devices with one allocator, which report equal values: logical CPUs, if there are several."""
        cpus = frozenset(device for device in self._devices if device.startswith("CPU:"))
        return cpus if len(cpus) > 1 else frozenset()

    def sample(self) -> dict[str, tuple[int, int]]:
        """(current, peak) in bytes by device, such as `GPU:0`. Empty before the runtime is up."""
        taken: dict[str, tuple[int, int]] = {}
        for device, name in self._known().items():
            if device in self.lost:
                continue
            try:
                info = self._tensorflow.config.experimental.get_memory_info(name)
                taken[device] = (int(info["current"]), int(info["peak"]))
            except Exception as error:  # no allocator statistics, or an old release; the program must go on
                self._lose(device, error)
        return taken

    def reset_peaks(self) -> None:
        """Starts a phase: every peak becomes the current use. This also resets the peaks that the program itself
        reads, as TensorFlow has only one."""
        for device, name in self._known().items():
            if device in self.lost:
                continue
            try:
                self._tensorflow.config.experimental.reset_memory_stats(name)
            except Exception as error:
                self._lose(device, error)

    def _known(self) -> dict[str, str]:
        if self._devices or "" in self.lost or not self._initialised():
            return self._devices
        try:
            self._devices = {
                short(str(one.name)): str(one.name) for one in self._tensorflow.config.list_logical_devices()
            }
        except Exception as error:
            self._lose("", error)
        return self._devices

    def _lose(self, device: str, error: Exception) -> None:
        self.lost.setdefault(device, f"{type(error).__name__}: {error}")
