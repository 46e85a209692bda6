"""Python's `min`, `max` and `sorted` of tensors: each comparison reads them."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.domain.values.objects import Variable
from gpulint.analysis.domain.values.tensors import PerReplica, Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import host_memory, tensors
from gpulint.places import Site


def ordered(machine: Machine, name: str, values: tuple[Value, ...], site: Site) -> Value | None:
    """One of several values, which the built-in function `name` compares; None if no tensor is among them."""
    numbers = [tensors.as_number(value) for value in values]
    found: list[Value] = [one for one in numbers if isinstance(one, (PerReplica, Tensor, Variable))]
    if not any(map(host_memory.is_tensor, found)):
        return None
    for one in found:
        tensors.read_at(machine, one, "compare" if isinstance(one, PerReplica) else name, site)
    return _one_of(found, site)


def _one_of(found: Sequence[Value], site: Site) -> Value:
    """Value that represents whichever of these values is returned."""
    first = next((one for one in found if isinstance(one, Tensor)), found[0])
    if not isinstance(first, Tensor):
        return first
    is_number = any(isinstance(one, Tensor) and one.reduced is not None and one.reduced.is_number for one in found)
    return Tensor(
        site,
        first.device,
        first.dtype,
        first.reduced if is_number else None,
        from_data=first.from_data,
        on_host=all(map(host_memory.is_on_host, found)),
    )
