"""Plays a function's operations in the order of TensorFlow's executor and follows the buffers on one GPU.

A kernel on a GPU is launched from the host without waiting, so buffers are allocated and freed in the order of the
launches. The executor starts operations in the order in which they become ready, and of those that one operation makes
ready, in the order in which the runtime happened to connect them. A buffer is freed when the last operation that reads
it has been launched.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from gpulint.estimate.graph import Edge, Function, Operation, StepGraph, Tensor, Variable
from gpulint.estimate.memory.beginning import initialized
from gpulint.estimate.memory.bfc import Bfc, Chunk, Exhausted
from gpulint.estimate.memory.copies import copied
from gpulint.estimate.memory.kernels import (
    CONSTANTS,
    TUNED,
    opaque_size,
    takes_over,
    tuning_memory,
)
from gpulint.estimate.memory.lists import listed
from gpulint.estimate.sharing import VIEWS, shared_input

ASSIGN = "AssignVariableOp"
SCATTERS = ("ResourceScatter", "ResourceSparseApply")
"""Beginnings of operations that change rows of a variable in place (`EnsureSparseVariableAccess`)."""

UPDATES = ("AssignAddVariableOp", "AssignSubVariableOp", "ResourceApply", *SCATTERS)
"""Beginnings of operations that change a variable in place, unless something still reads its old value."""


REDZONES = 16 << 20
"""Bytes around whatever is allocated while algorithms are tried, to detect writes beyond it (`RedzoneAllocator`)."""


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory on the GPU."""

    chunk: Chunk
    owner: Operation | Variable | None
    """The operation that it was allocated for; None for an argument."""
    users: int = 0
    """Operations that are still to read it, a variable whose value it is, and the function's caller."""
    is_own: bool = False
    """Whether it is the kernel's own memory and not an output."""
    size: int = field(init=False)
    """Bytes of the chunk while it is in use: neighbours are merged with it once it is free."""

    def __post_init__(self) -> None:
        self.size = self.chunk.size


@dataclass(frozen=True, slots=True)
class Held:
    """A buffer in use at the peak."""

    owner: Operation | Variable | None
    size: int
    is_own: bool


@dataclass(slots=True)
class Run:
    """Memory that the operations needed on the GPU."""

    peak: int = 0
    before: int = 0
    """Bytes in use before the first operation: variables, arguments and constants."""
    margin: int = 0
    """Bytes of the peak that no buffer holds: what the estimate may be too low by."""
    asked: int = 0
    """The most bytes that were asked for at once: the peak of an allocator that wastes nothing."""
    at: int = 0
    """Position in `curve` of the peak."""
    held: tuple[Held, ...] = ()
    curve: list[tuple[Operation, int]] = field(default_factory=list)
    """Operations in the order of their launch, each with the bytes in use while it was launched."""
    unknown: list[Operation] = field(default_factory=list)
    """Operations with an output of unknown size, which was taken to be empty."""


@dataclass(frozen=True, slots=True)
class Order:
    """Choices that the runtime is free to make, on which the chunks of the allocator depend."""

    is_latest_first: bool = True
    """Whether, of the operations that one makes ready, the one that was created last starts first. A Dense network
    on an H200, whose peak depends on it, ran as if it did."""


LIKELY = Order()


def play(graph: StepGraph, device: str = "GPU:0", allocator: Bfc | None = None) -> Run:
    """A step after the first. Raises Exhausted if something does not fit into the allocator's limit."""
    return play_steps(graph, device, allocator)[-1]


def play_steps(
    graph: StepGraph,
    device: str = "GPU:0",
    allocator: Bfc | None = None,
    steps: int = 3,
    order: Order = LIKELY,
) -> list[Run]:
    """Runs some steps one after another. Variables and arguments are in use from the beginning; in the first step,
    algorithms are tried as far as the allocator's limit allows. Raises Exhausted if anything else does not fit."""
    allocator = allocator or Bfc()
    variables: dict[int, Buffer] = {}
    for variable, chunk in initialized(graph, device, allocator):
        entered = variable.parameter
        key = -1 - len(variables) if entered is None else graph.body.parameters[entered]
        variables[key] = Buffer(chunk, variable, 1)
    arguments = {
        graph.body.parameters[one.parameter]: Buffer(allocator.allocate(one.tensor.bytes or 0), None, 1)
        for one in graph.arguments
        if one.parameter is not None
    }
    arguments |= _constants(graph.body, device, allocator)
    runs: list[Run] = []
    calls = _Calls(any(one.type in TUNED for called in graph.functions.values() for one in called.operations))
    wiring = _Wiring.of(graph.body, order)
    layouts: list[tuple[int, ...]] = []
    while len(runs) < steps:
        is_first = not runs
        player = _Player(graph, graph.body, device, allocator, variables, arguments, is_first, order, calls, wiring)
        runs.append(player.run())
        variables = player.variables
        chunks = [one.chunk for one in variables.values()]
        layout = (allocator.regions, *(part for one in chunks for part in (one.address, one.size, one.asked)))
        if layout in layouts:  # the next steps are those that followed it before
            runs += runs[layouts.index(layout) + 1 :] * steps
        layouts.append(layout)
    return runs[:steps]


def _constants(function: Function, device: str, allocator: Bfc) -> dict[int, Buffer]:
    """Constants by their operation: kernels keep them from their creation on, also from one step to the next."""
    return {
        index: Buffer(allocator.allocate(one.outputs[0].bytes), one, 1)
        for index, one in enumerate(function.operations)
        if one.type in CONSTANTS and one.device in ("", device) and not one.host_outputs and one.outputs[0].bytes
    }


@dataclass(frozen=True, slots=True)
class _Calls:
    """Calls of functions: one that is called often is played once."""

    tunes: bool
    """Whether algorithms are tried for operations in some function."""
    played: dict[tuple[str, tuple[str, ...], bool], tuple[int, tuple[Operation, ...]]] = field(default_factory=dict)
    """Type of a calling operation, the functions that it names, and whether algorithms are tried → the bytes that they
    need and their operations of unknown size."""


@dataclass(frozen=True, slots=True)
class _Wiring:
    """How the operations of a function depend on each other, by index."""

    readers: Sequence[Sequence[int]]
    """For each operation, how often each of its outputs is read, as a result of the function too."""
    users: Sequence[Sequence[int]]
    """For each operation, those that wait for it, in the order in which they start."""
    waiting: Sequence[int]
    """For each operation, how many it waits for."""

    @classmethod
    def of(cls, function: Function, order: Order) -> _Wiring:
        operations = function.operations
        readers = [[0] * len(one.outputs) for one in operations]
        users: list[list[int]] = [[] for _ in operations]
        for index, one in enumerate(operations):
            for source, output in one.inputs:
                users[source].append(index)
                readers[source][output] += 1
            for source in one.controls:
                users[source].append(index)
        if order.is_latest_first:
            for found in users:
                found.reverse()
        for source, output in function.results:
            readers[source][output] += 1
        return cls(readers, users, [len(one.inputs) + len(one.controls) for one in operations])


class _Player:
    """One call of a function."""

    def __init__(
        self,
        graph: StepGraph,
        function: Function,
        device: str,
        allocator: Bfc,
        variables: Mapping[int, Buffer],
        arguments: Mapping[int, Buffer],
        is_first: bool,
        order: Order,
        calls: _Calls,
        wiring: _Wiring | None = None,
    ) -> None:
        self._graph, self._function, self._device, self._allocator = graph, function, device, allocator
        self._is_first, self._order, self._calls = is_first, order, calls
        self.variables = dict(variables)
        """Operation that yields a variable's handle → the variable's buffer."""
        self._buffers: dict[Edge, Buffer] = {}
        self._parts: set[Edge] = set()
        """Outputs that are a part of their buffer, which none may take over."""
        self._before = {buffer: buffer.owner for buffer in (*variables.values(), *arguments.values())}
        """Buffers in use before the call, each with what it is for."""
        self._live = set(self._before)
        self._changes: list[tuple[Buffer, Operation | Variable | None, bool]] = []
        """Buffers in the order in which they are allocated, given to another owner and freed, with what they are for
        from then on, and whether they are in use."""
        self._until_peak = 0
        """Changes before the peak."""
        self._result = Run(before=allocator.in_use)
        operations = function.operations
        scattered = (edge for one in operations if one.type.startswith(SCATTERS) for edge in one.inputs)
        self._by_rows = {self._handle(edge) for edge in scattered} - {None}
        """Handles of variables that are updated by rows: each read copies them (`copy_on_read_mode`)."""
        wiring = wiring or _Wiring.of(function, order)
        self._readers, self._users, self._waiting = wiring.readers, wiring.users, list(wiring.waiting)
        for index, buffer in arguments.items():
            buffer.users += self._readers[index][0]
            self._buffers[Edge(index, 0)] = buffer

    # ------------------------------------------------------------------------ buffers

    def _allocate(self, size: int, owner: Operation | Variable | None, users: int) -> Buffer:
        buffer = Buffer(self._allocator.allocate(size), owner, users)
        self._live.add(buffer)
        self._changes.append((buffer, owner, True))
        return buffer

    def _give(self, buffer: Buffer, owner: Operation | Variable | None) -> None:
        buffer.owner = owner
        self._live.add(buffer)
        self._changes.append((buffer, owner, True))

    def _release(self, buffer: Buffer) -> None:
        buffer.users -= 1
        if buffer.users <= 0 and buffer in self._live:
            self._live.remove(buffer)
            self._changes.append((buffer, None, False))
            self._allocator.free(buffer.chunk)

    # --------------------------------------------------------------------------- run

    def run(self) -> Run:
        operations = self._function.operations
        ready = deque(index for index, count in enumerate(self._waiting) if count == 0)
        while ready:
            index = ready.popleft()
            self._launch(operations[index], index)
            for user in self._users[index]:
                self._waiting[user] -= 1
                if self._waiting[user] == 0:
                    ready.append(user)
        for edge in self._function.results:
            if (buffer := self._buffers.get(edge)) is not None:
                self._release(buffer)
        self._result.held = self._held()
        return self._result

    def _held(self) -> tuple[Held, ...]:
        """The buffers in use at the peak."""
        live = dict(self._before)
        for buffer, owner, is_live in self._changes[: self._until_peak]:
            if is_live:
                live[buffer] = owner
            else:
                del live[buffer]
        return tuple(Held(owner, one.size, one.is_own) for one, owner in live.items())

    def _launch(self, one: Operation, index: int) -> None:
        inputs = [self._buffers.get(edge) for edge in one.inputs]
        if self._is_elsewhere(one) and not one.calls and not any(inputs):
            return
        if one.type == ASSIGN:
            self._assign(one, inputs)
        elif one.type.startswith(UPDATES):
            self._update(one)
        elif one.type not in CONSTANTS and one.type != "_Arg":
            for output in range(len(one.outputs)):
                self._put(one, index, output)
        own = copied(self._function, one) if self._is_here(one) else 0
        if self._is_first and one.type in TUNED and self._is_here(one):
            tensors = [self._function.operations[source].outputs[output] for source, output in one.inputs]
            self._tune(one, *tuning_memory(one, tensors))
        called = self._call(one)
        self._scratch(one, own + called)
        for buffer in inputs:
            if buffer is not None:
                self._release(buffer)
        for output in range(len(one.outputs)):
            buffer = self._buffers.get(Edge(index, output))
            if buffer is not None and buffer.users <= 0:
                self._release(buffer)

    def _put(self, one: Operation, index: int, output: int) -> None:
        """Allocate the buffer of an output."""
        edge, tensor = Edge(index, output), one.outputs[output]
        users = self._readers[index][output]
        position = shared_input(self._function, one, output)
        is_copy = one.type == "ReadVariableOp" and self._handle(one.inputs[0]) in self._by_rows
        if position is not None and not is_copy:
            self._share(one, edge, position, users)
            return
        if not self._is_here(one) or output in one.host_outputs:
            return
        opaque = opaque_size(one, output)
        size = tensor.bytes if opaque is None else opaque
        if tensor.dtype == "variant" and "body" in one.calls:
            size = listed(self._graph, self._function, one, output)
        if size is None:
            self._result.unknown.append(one)
            return
        if not size:
            return
        for position in takes_over(one, output):
            taken = self._buffers.get(one.inputs[position]) if position < len(one.inputs) else None
            if taken is not None and taken.users == 1 and self._fits(one, position, tensor):
                taken.users += users  # the reader's own use ends after the launch
                self._give(taken, one)
                self._buffers[edge] = taken
                return
        self._buffers[edge] = self._allocate(size, one, users)

    def _fits(self, one: Operation, position: int, tensor: Tensor) -> bool:
        source, output = one.inputs[position]
        given = self._function.operations[source].outputs[output]
        is_whole = one.inputs[position] not in self._parts
        return is_whole and given.dtype == tensor.dtype and given.elements == tensor.elements

    def _share(self, one: Operation, edge: Edge, position: int, users: int) -> None:
        """An output is an input's buffer, or a part of it."""
        source = one.inputs[position]
        handle = self._handle(source)
        shared = self._buffers.get(source) if handle is None else self.variables.get(handle)
        if shared is None:
            return
        shared.users += users
        self._buffers[edge] = shared
        given = self._function.operations[source.operation].outputs[source.output]
        if source in self._parts or (handle is None and given.elements != one.outputs[edge.output].elements):
            self._parts.add(edge)

    def _handle(self, edge: Edge) -> int | None:
        """The operation that yields the variable's handle which arrives by an edge; None if it is none."""
        index = edge.operation
        while index not in self.variables:
            one = self._function.operations[index]
            if one.type not in VIEWS or not one.inputs or one.outputs[0].dtype != "resource":
                return None
            index = one.inputs[0].operation
        return index

    def _assign(self, one: Operation, inputs: Sequence[Buffer | None]) -> None:
        """The variable takes the value's buffer."""
        handle = self._handle(one.inputs[0])
        if handle is None or inputs[1] is None:
            return
        inputs[1].users += 1
        self._give(inputs[1], self.variables[handle].owner)
        self._release(self.variables[handle])
        self.variables[handle] = inputs[1]

    def _update(self, one: Operation) -> None:
        """A variable whose old value is still read gets a new buffer (`PrepareToUpdateVariable`)."""
        for edge in one.inputs:
            handle = self._handle(edge)
            if handle is not None and self.variables[handle].users > 1:
                old = self.variables[handle]
                self.variables[handle] = self._allocate(old.chunk.asked, old.owner, users=1)
                self._release(old)

    def _is_here(self, one: Operation) -> bool:
        return one.device in ("", self._device)

    def _is_elsewhere(self, one: Operation) -> bool:
        """Whether an operation runs on another GPU."""
        return one.device != self._device and one.device.startswith("GPU")

    def _scratch(self, one: Operation, size: int) -> None:
        """Record the launch of an operation that needs memory of its own."""
        if not size:
            self._note(one)
            return
        scratch = self._allocate(size, one, 1)
        scratch.is_own = True
        self._note(one)
        self._release(scratch)

    def _tune(self, one: Operation, result: int, workspaces: Sequence[int]) -> None:
        """Try the algorithms of a convolution, each with its workspace, on a separate result. Those that do not fit are
        not tried."""
        if not result:
            return
        with suppress(Exhausted):
            scratch = self._allocate(result + REDZONES, one, 1)
            scratch.is_own = True
            self._note(one)
            for size in workspaces:
                with suppress(Exhausted):
                    self._scratch(one, size + REDZONES)
            self._release(scratch)

    def _note(self, one: Operation) -> None:
        result, now = self._result, self._allocator.in_use
        result.curve.append((one, now))
        result.asked = max(result.asked, self._allocator.asked)
        if now > result.peak:
            result.peak, result.at = now, len(result.curve) - 1
            self._until_peak = len(self._changes)

    def _call(self, one: Operation) -> int:
        """Bytes that the functions which an operation calls need beyond their arguments and results."""
        if not one.calls:
            return 0
        device, order, calls = self._device, self._order, self._calls
        is_first = self._is_first and calls.tunes
        key = one.type, tuple(one.calls.values()), is_first
        if key not in calls.played:
            results = []
            for function in self._graph.called(one):
                if function.operations:
                    allocator = Bfc()
                    kept = _constants(function, device, allocator)
                    player = _Player(self._graph, function, device, allocator, {}, kept, is_first, order, calls)
                    results.append(player.run())
            unknown = tuple(operation for result in results for operation in result.unknown)
            calls.played[key] = max((result.peak for result in results), default=0), unknown
        needed, found = calls.played[key]
        self._result.unknown += found
        return needed
