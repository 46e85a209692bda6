"""Answers from two sizes of a step's batch: the largest batch, and what to change first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpulint.estimate.graph import Function, Operation, StepGraph, Tensor
from gpulint.estimate.memory.figures import Figures, Groups, steady
from gpulint.estimate.memory.liveness import LIKELY, Order, Run

TRIES = 12
"""Maximum number of batch sizes that are played in search of the largest."""

FAR = 2
"""Times the largest batch known to fit from which on the line is given up for the geometric mean."""

CLOSE = 0.02
"""Share of the limit, or of the batch, at which the search ends."""

STRIDE = 16
"""Times a batch that was played to play next while the peak does not grow with it."""

UNROLLED = 1.1
"""Times the operations from which the step for twice the batch is another program, which loops over the batch."""

WORTH = 0.01
"""Share of the peak that a change must save to be named."""

ALL_PARTS = 64
"""Parts of a model up to which each number is tried to recompute activations; beyond, numbers are further apart."""

Remedy = Literal["mixed precision", "recompute", "accumulate", "XLA"]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the program, with the bytes that it saves at the peak of this step."""

    remedy: Remedy
    bytes: int
    assumption: str
    """Basis on which the bytes are computed, as a sentence."""


class Line:
    """A step at any batch size: each dimension is a straight line through two of them."""

    def __init__(self, step: StepGraph, doubled: StepGraph) -> None:
        """Raises ValueError if the two are not the same graph for different batch sizes."""
        if step.batch is None or doubled.batch is None or step.batch == doubled.batch:
            raise ValueError("two batch sizes are needed")
        if not _alike(step.body, doubled.body):
            raise ValueError("the step differs by batch size")
        self._step, self._doubled = step, doubled
        self._first, self._second = step.batch, doubled.batch

    def at(self, batch: int) -> StepGraph:
        """The step for a batch size."""
        step, doubled = self._step, self._doubled
        return replace(
            step,
            batch=batch,
            body=self._function(step.body, doubled.body, batch),
            functions={
                name: self._function(function, doubled.functions[name], batch)
                if name in doubled.functions and _alike(function, doubled.functions[name])
                else function
                for name, function in step.functions.items()
            },
            arguments=tuple(
                replace(one, tensor=self._tensor(one.tensor, other.tensor, batch))
                for one, other in zip(step.arguments, doubled.arguments, strict=True)
            ),
        )

    def _function(self, first: Function, second: Function, batch: int) -> Function:
        operations = tuple(
            one
            if one.outputs == other.outputs
            else replace(
                one,
                outputs=tuple(self._tensor(*pair, batch) for pair in zip(one.outputs, other.outputs, strict=True)),
            )
            for one, other in zip(first.operations, second.operations, strict=True)
        )
        return replace(first, operations=operations)

    def _tensor(self, first: Tensor, second: Tensor, batch: int) -> Tensor:
        if first.shape is None or second.shape is None or len(first.shape) != len(second.shape):
            return first
        shape = tuple(self._size(*pair, batch) for pair in zip(first.shape, second.shape, strict=True))
        return Tensor(first.dtype, shape)

    def _size(self, first: int | None, second: int | None, batch: int) -> int | None:
        if first is None or second is None or first == second:
            return first
        return max(0, round(first + (second - first) * (batch - self._first) / (self._second - self._first)))


def _alike(first: Function, second: Function) -> bool:
    return [(one.name, one.type) for one in first.operations] == [(one.name, one.type) for one in second.operations]


def is_unrolled(step: StepGraph, doubled: StepGraph) -> bool:
    """Whether Python loops over the examples of the batch: a larger one has more operations, or nothing of the backward
    pass grows with it, since the trace takes a fixed number of examples."""
    pairs = [(one, doubled.functions[name]) for name, one in step.functions.items() if name in doubled.functions] + [
        (step.body, doubled.body)
    ]
    if any(len(second.operations) > UNROLLED * len(first.operations) for first, second in pairs):
        return True
    backward = [
        (one, other)
        for first, second in pairs
        for one, other in zip(first.operations, second.operations, strict=False)
        if one.is_gradient
    ]
    return bool(backward) and all(one.outputs == other.outputs for one, other in backward)


def recomputes(step: StepGraph) -> bool:
    """Whether the step computes activations again already. `tf.recompute_grad` delays that until the gradient is there:
    it adds `where(first == first, 0, nan)` to what it computes from."""
    return any(
        one.type == "SelectV2" and one.outputs[0].shape == () and _compares_with_itself(function, one)
        for function in (step.body, *step.functions.values())
        for one in function.operations
    )


def _compares_with_itself(function: Function, select: Operation) -> bool:
    condition, *branches = (function.operations[edge.operation] for edge in select.inputs)
    is_same = condition.type == "Equal" and condition.inputs[0] == condition.inputs[1]
    return is_same and all(one.type == "Const" for one in branches)


class Batches:
    """The steady peak of a step over its batch size. Each batch is played once."""

    def __init__(
        self,
        step: StepGraph,
        doubled: StepGraph | None,
        order: Order = LIKELY,
        runs: Mapping[int, Run] | None = None,
    ) -> None:
        """`doubled`: the step for another batch, None if it works for one only. `order`: that in which steps are
        played, such as that of the highest peak. `runs`: batches that have been played, in that order."""
        self._step, self._doubled = step, doubled
        self._runs = dict(runs or {})
        self._line: Line | None = None
        self.order = order

    def run(self, batch: int) -> Run:
        """A step after the first. Raises ValueError for another batch if the two steps differ by more than that."""
        if batch not in self._runs:
            known = (one for one in (self._step, self._doubled) if one is not None and one.batch == batch)
            found = next(known, None)
            if found is None:
                if self._doubled is None:
                    raise ValueError("two batch sizes are needed")
                self._line = self._line or Line(self._step, self._doubled)
                found = self._line.at(batch)
            self._runs[batch] = steady(found, self.order)
        return self._runs[batch]

    def slope(self) -> float | None:
        """Bytes for each further example, between the two batches; None if there is one only."""
        if self._doubled is None or not self._step.batch or not self._doubled.batch:
            return None
        first, second = self._step.batch, self._doubled.batch
        return (self.run(second).peak - self.run(first).peak) / (second - first)

    def largest(self, limit: int) -> int | None:
        """The largest batch per replica whose steady peak is at most `limit` bytes: 0 if none is, None if that is
        unknown.

        The peak is a straight line over the batch in most steps, but that of small batches may be in a phase that does
        not depend on it, and what has the batch in two of its dimensions grows with the square. So each answer of the
        line through the last two batches is played, until the peak is at the limit, or a batch that fits is next to one
        that does not. Where the peak jumps, the line says little: an answer that halves what is between the two is
        followed by another one, else by the middle.
        """
        if self._doubled is None or not self._step.batch or not self._doubled.batch:
            return None
        sizes = self._step.batch, self._doubled.batch
        if any(self.run(size).unknown for size in sizes):
            return None
        known = {0: 0} | {size: self.run(size).peak for size in sizes}
        first, second = sizes
        between: float = math.inf
        for number in range(TRIES):
            fits = max(size for size, peak in known.items() if peak <= limit)
            fails = min((size for size, peak in known.items() if peak > limit and size > fits), default=None)
            if fails is not None and fails - fits <= max(1, CLOSE * fits):
                return fits
            if known[fits] >= (1 - CLOSE) * limit:
                return fits
            slope = (known[second] - known[first]) / (second - first)
            guess = int(second + (limit - known[second]) / slope) if slope > 0 else STRIDE * max(known)
            if fails is None:
                guess = guess if guess > fits else STRIDE * max(known)
            elif not fits < guess < fails or (number > 1 and fails > FAR * fits):
                guess = math.isqrt(max(fits, 1) * fails)
                guess = guess if fits < guess < fails else (fits + fails) // 2
            elif fails - fits > between / 2:
                guess = (fits + fails) // 2
            between = math.inf if fails is None else fails - fits
            try:
                known[guess] = self.run(guess).peak
            except ValueError:
                return guess if slope > 0 else None
            first, second = second, guess
        return fits or None


def changes(step: StepGraph, batches: Batches, now: Figures) -> list[Change]:
    """Changes that would save memory worth the effort, the largest saving first."""
    found = [*_mixed(step, batches, now), *_recomputed(step, now), *_accumulated(step, batches.slope())]
    worth = WORTH * now.steady.peak
    return sorted((one for one in found if one.bytes >= worth > 0), key=lambda one: -one.bytes)


def _mixed(step: StepGraph, batches: Batches, now: Figures) -> Iterator[Change]:
    """The step under `mixed_float16`."""
    if step.precision == "float32":
        peak = steady(halved(step), batches.order).peak
        yield Change("mixed precision", now.steady.peak - peak, "layers compute in 16 bits, normalization in 32")


def halved(step: StepGraph) -> StepGraph:
    """The graph with layers' values in 16 bits. Layers that normalize compute in float32, as Keras's do; so do losses
    and optimizers; a weight that is read gets a copy in 16 bits."""
    functions = step.body, *step.functions.values()
    normalizing = {
        one.layer
        for function in functions
        for one in function.operations
        if one.layer and one.type in ("Rsqrt", "RsqrtGrad")
    }
    weights = {
        step.body.parameters[one.parameter] for one in step.variables if one.is_trainable and one.parameter is not None
    }

    def changed(function: Function, read: set[int]) -> Function:
        operations = function.operations
        return replace(function, operations=tuple(_halved(one, operations, read, normalizing) for one in operations))

    return replace(
        step,
        body=changed(step.body, weights),
        functions={name: changed(function, set()) for name, function in step.functions.items()},
    )


def _halved(one: Operation, operations: tuple[Operation, ...], weights: set[int], normalizing: set[str]) -> Operation:
    if not one.layer or one.layer in normalizing or one.type == "_Arg":
        return one
    outputs = tuple(Tensor("float16", tensor.shape) if tensor.dtype == "float32" else tensor for tensor in one.outputs)
    is_cast = one.type == "ReadVariableOp" and one.inputs[0].operation in weights
    return replace(one, outputs=outputs, type="Cast" if is_cast else one.type)


def _recomputed(step: StepGraph, now: Figures) -> Iterator[Change]:
    """Activations at the peak, divided in their order into parts of which each keeps its last one: the others are
    computed again for the backward pass through the part (Chen et al., *Training Deep Nets with Sublinear Memory Cost*,
    2016). Nothing is said of a step that does so already."""
    if recomputes(step):
        return
    groups = Groups(step)
    sizes = [held.size for held in now.steady.held if groups.of(held) == "activations"]
    kept = min(((_kept(sizes, parts), parts) for parts in _numbers(2, len(sizes))), default=None)
    if kept is not None:
        needed, parts = kept
        yield Change(
            "recompute",
            sum(sizes) - needed,
            f"{parts} parts of the model, each computed again in the backward pass: about one forward pass more",
        )


def _numbers(first: int, end: int) -> Iterator[int]:
    """Numbers from one up to another: all of the small ones, every tenth or so of the large ones."""
    while first < end:
        yield first
        first += 1 + first // ALL_PARTS


def _kept(sizes: Sequence[int], parts: int) -> int:
    """Bytes of the last activation of each part, and of all others in the largest, for parts that are about as
    large."""
    total = sum(sizes)
    ends, within, passed, number, largest = 0, 0, 0, 1, 0
    for size in sizes:
        within, passed = within + size, passed + size
        if passed * parts >= total * number:
            ends, largest = ends + size, max(largest, within - size)
            within, number = 0, passed * parts // max(total, 1) + 1
    return ends + largest


def _accumulated(step: StepGraph, slope: float | None) -> Iterator[Change]:
    """Half the batch at a time: what the batch needs is halved, and gradients are kept between the halves. `slope`:
    bytes for each example."""
    if slope is None or step.batch is None or step.batch < 2:
        return
    gradients = sum(one.tensor.bytes or 0 for one in step.variables if one.is_trainable and one.copies == step.replicas)
    yield Change("accumulate", int(slope * (step.batch - step.batch // 2)) - gradients, "two steps of half the batch")
