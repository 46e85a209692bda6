"""The three figures that users see, and what holds memory at the peak."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from gpulint.estimate.graph import INPUTS, SMALL, Operation, StepGraph, Variable
from gpulint.estimate.memory.bfc import Bfc
from gpulint.estimate.memory.fusion import play_compiled
from gpulint.estimate.memory.kernels import CONSTANTS
from gpulint.estimate.memory.liveness import LIKELY, Held, Order, Run, play_steps

CONTEXT, LIBRARIES = 590 << 20, 80 << 20
"""Bytes that a process takes of a GPU beside the allocator's regions: CUDA's context with cuBLAS, and cuDNN where it is
used. Measured on an H200 with TensorFlow 2.21: 590 MiB beside transformers and Dense networks, whose regions are played
exactly; 20 to 100 MiB more with cuDNN, by the algorithms it chose."""

_CUDNN = ("Conv", "_FusedConv", "Cudnn", "FusedBatchNorm")

MARGIN = 0.03
"""Share of what a step needs beyond variables, arguments and constants that is added to its peak. Which chunks the
allocator gives depends on all that the process allocated before, which no graph tells: of 27 measured peaks, 25 were
less than 3 % above those that were played, and 2 as much as 3.9 %."""

_STEPS = 4
"""Steps that are played. Of those after the first the one with the highest peak counts: optimizers that replace the
buffers of their slots find others in every second step."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Memory of one replica without a limit, in bytes."""

    first: Run
    """The first step, which tries algorithms of convolutions."""
    steady: Run
    """A later step: of the orders that the runtime may take, that of the highest peak."""
    least: int
    """Peak of a later step if the allocator wastes nothing, in the order of the lowest."""
    process: int
    """Bytes that `nvidia-smi` shows for the process, with memory growth."""
    order: Order
    """The order of `steady`."""
    most: int
    """Peak of a later step of which XLA fuses nothing; that of `steady` if XLA does not compile the step."""


def figures(graph: StepGraph) -> Figures:
    """The figures of the device that needs most; with a strategy, of its first replica."""
    return max((_figures(graph, device) for device in devices(graph)), key=lambda one: one.steady.peak)


def devices(graph: StepGraph) -> list[str]:
    """The GPUs whose memory differs."""
    named = sorted({one.device for one in graph.body.operations if one.device.startswith("GPU")})
    return (named[:1] if graph.replicas > 1 else named) or ["GPU:0"]


def steady(graph: StepGraph, order: Order = LIKELY) -> Run:
    """A later step on the device that `devices` names first."""
    return max(_play(graph, devices(graph)[0], order, Bfc())[1:], key=lambda one: one.peak)


def _figures(graph: StepGraph, device: str) -> Figures:
    allocators = [(order, Bfc()) for order in _orders(graph)]
    plays = [_play(graph, device, order, allocator) for order, allocator in allocators]
    later, worst = max(
        ((run, order) for runs, (order, _) in zip(plays, allocators, strict=True) for run in runs[1:]),
        key=lambda one: one[0].peak,
    )
    first = max((runs[0] for runs in plays), key=lambda one: one.peak)
    most = _widened(play_steps(graph, device)[-1]).peak if graph.is_compiled else later.peak
    return Figures(
        first=first,
        steady=later,
        least=min(runs[-1].asked for runs in plays),
        process=max(allocators[0][1].regions, first.peak - first.margin) + CONTEXT + LIBRARIES * _uses(graph, _CUDNN),
        order=worst,
        most=max(most, later.peak),
    )


def _orders(graph: StepGraph) -> list[Order]:
    """The orders that the runtime may take, the most likely first."""
    if graph.is_compiled:
        return [LIKELY]
    return [Order(is_latest_first) for is_latest_first in (True, False)]


def _play(graph: StepGraph, device: str, order: Order, allocator: Bfc) -> list[Run]:
    if graph.is_compiled:
        runs = play_compiled(graph, device, allocator, _STEPS)
    else:
        runs = play_steps(graph, device, allocator, _STEPS, order)
    return [_widened(run) for run in runs]


def _widened(run: Run) -> Run:
    margin = round(MARGIN * (run.peak - run.before))
    return replace(run, peak=run.peak + margin, margin=margin)


def _uses(graph: StepGraph, kinds: tuple[str, ...]) -> bool:
    """Whether operations of some kinds, by the beginning of their type, are in the step or in functions it calls."""
    functions = (graph.body, *graph.functions.values())
    return any(one.type.startswith(kinds) for function in functions for one in function.operations)


class Groups:
    """Bytes of a step's buffers by purpose: `weights`, `slots`, `other` variables, `input`, `activations` that the
    backward pass needs, `gradients` of weights, `workspace` of kernels, and `temporaries`."""

    def __init__(self, graph: StepGraph) -> None:
        self._weights = {one.tensor.elements for one in graph.variables if one.is_trainable and one.tensor.elements}
        self._updating = _updating(graph)

    def of(self, held: Held) -> str:
        """The group of a buffer."""
        owner = held.owner
        if isinstance(owner, Variable):
            return owner.group
        if owner is None or owner.type in INPUTS:
            return "input"
        if held.is_own:
            return "workspace"
        if owner.name in self._updating:
            return "temporaries"
        if not owner.is_gradient:
            return "activations"
        is_of_weight = any(tensor.elements in self._weights for tensor in owner.outputs)
        return "gradients" if is_of_weight and owner.layer != "" else "temporaries"


def _updating(graph: StepGraph) -> Collection[str]:
    """Operations that compute new values of variables: they follow the backward pass, or read slots only."""
    operations = graph.body.operations
    slots = {
        graph.body.parameters[one.parameter]
        for one in graph.variables
        if one.group == "slots" and one.parameter is not None
    }
    after: set[int] = set()
    of_slots = set(slots)
    for index in _in_order(operations):
        sources = {edge.operation for edge in operations[index].inputs}
        # Grappler merges equal constants and sizes, also of the forward and the backward pass.
        computed = {source for source in sources if operations[source].type not in CONSTANTS | SMALL}
        is_of_layer = operations[index].layer != ""  # may read what the optimizer shares with the backward pass
        if not is_of_layer and any(source in after or operations[source].is_gradient for source in computed):
            after.add(index)
        if computed and computed <= of_slots:
            of_slots.add(index)
    return {operations[index].name for index in after | of_slots if not operations[index].is_gradient}


def _in_order(operations: Sequence[Operation]) -> list[int]:
    """Operations, each after those whose outputs it takes."""
    users: list[list[int]] = [[] for _ in operations]
    waiting = [len(one.inputs) for one in operations]
    for index, one in enumerate(operations):
        for edge in one.inputs:
            users[edge.operation].append(index)
    found = [index for index, count in enumerate(waiting) if not count]
    for index in found:  # the list grows
        for user in users[index]:
            waiting[user] -= 1
            if not waiting[user]:
                found.append(user)
    return found


def place_of(owner: Operation | Variable | None) -> tuple[str, int, int | None, str]:
    """File, row, cell and layer of what holds a buffer; "", 0, None and "" where they are unknown."""
    if owner is None:
        return "", 0, None, ""
    return owner.filename, owner.row, owner.cell if isinstance(owner, Operation) else None, owner.layer
