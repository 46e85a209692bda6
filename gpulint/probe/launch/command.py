"""The program to run, and the command line that runs it under the agent."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import psutil

from gpulint.probe import agent
from gpulint.sources.notebook import SUFFIX


@dataclass(frozen=True, slots=True)
class Target:
    """A script or notebook by its path, or a module by its name (`is_module`), with arguments."""

    name: str
    is_module: bool = False
    arguments: tuple[str, ...] = ()

    @property
    def is_notebook(self) -> bool:
        return not self.is_module and self.name.endswith(SUFFIX)

    @property
    def words(self) -> list[str]:
        """The command that runs it without the probe, as users know it."""
        if self.is_notebook:
            return ["jupyter", "execute", self.name]
        return ["python", *(["-m"] if self.is_module else []), self.name, *self.arguments]


@dataclass(frozen=True, slots=True)
class Simulated:
    """Simulated GPUs: their number, and bytes of memory each, 0 if unspecified."""

    gpus: int = 0
    memory: int = 0

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """The environment for the program, which may override it. oneDNN is off: its gradient of max-pooling aborts
        on an empty batch, which a replica can get (2.21). With a memory size, the CPU allocator becomes the BFC
        allocator that GPUs use, which keeps statistics of every tensor. It is limited to the available memory, or to
        that of all simulated GPUs if they have more (read when the runtime initialises; 2.16 and 2.21)."""
        if not self.gpus:
            return dict(own)
        own = {"TF_ENABLE_ONEDNN_OPTS": "0", **own}
        if not self.memory:
            return own
        limit = max(1, self.gpus * self.memory >> 20, psutil.virtual_memory().available >> 20)
        return {**own, "TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(limit)}


def command_line(
    target: Target,
    capture: str,
    steps: int,
    warmup: int,
    no_jit: bool,
    simulated: Simulated = Simulated(),
    profile_steps: int = 0,
    extension: str = "",
    extension_settings: Mapping[str, object] = MappingProxyType({}),
) -> list[str]:
    """The command line that runs a program under the agent. Unbuffered, so that log lines stay whole."""
    options = json.dumps(
        {
            "capture": capture,
            "steps": steps,
            "warmup": warmup,
            "no_jit": no_jit,
            "simulate_gpus": simulated.gpus,
            "simulate_memory": simulated.memory,
            "profile_steps": profile_steps,
            "extension": extension,
            "extension_settings": dict(extension_settings),
        }
    )
    if target.is_notebook:
        return [sys.executable, "-u", os.path.join(os.path.dirname(__file__), "notebook.py"), options, target.name]
    main = os.path.join(os.path.dirname(agent.__file__), "__main__.py")
    chosen = ["-m", target.name] if target.is_module else [target.name]
    return [sys.executable, "-u", main, options, *chosen, *target.arguments]
