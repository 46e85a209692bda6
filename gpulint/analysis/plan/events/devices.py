"""Devices that a program names, and operations on tensors."""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.analysis.domain.context import DeviceScope
from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.plan.events.base import Event
from gpulint.knowledge.devices import DeviceName
from gpulint.places import Site


@dataclass(eq=False, repr=False)
class DeviceEntered(Event):
    """`with tf.device(argument):`. `scope.device` is None if the name is unknown or None."""

    argument: Value
    scope: DeviceScope


@dataclass(eq=False, repr=False)
class DeviceNamed(Event):
    """A device name that TensorFlow will parse: an argument of `tf.device`, `DeviceSpec` or a strategy.

    The site is that of the literal if there is one; `call` is the call that takes it. `device` is None if the text is
    malformed. `consumer` is the canonical name of the callee. `gpus` is the number of logical GPUs that the program's
    own configuration leaves, or None if it does not say.
    """

    text: str
    device: DeviceName | None
    consumer: str
    call: Site
    gpus: int | None


@dataclass(eq=False, repr=False)
class PhysicalNumberNamed(Event):
    """A device name is built with the number by which the visible GPUs are taken from the list of physical ones. The
    visible ones are numbered from 0. `text` is the name; `chosen` is where they are made visible."""

    text: str
    chosen: Site


@dataclass(eq=False, repr=False)
class OpCalled(Event):
    """A tensor op is called. `name` is its canonical name (`operator.add` for `+`, …). `inputs` are flattened one
    level: a list argument counts as its elements. `result` is the output tensor, `packed` the first argument if that is
    a list."""

    name: str
    inputs: tuple[Value, ...]
    result: Tensor
    dtype: str | None
    packed: Items | None = None
