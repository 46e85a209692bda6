"""Steps wait for copies between devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes.launch_bound import LAUNCH
from gpulint.probe.advice.matching import finding_at, sentence
from gpulint.probe.agent.operation_records import EAGER_COPY
from gpulint.probe.capture.records import Copy, Variable, Where
from gpulint.probe.expectations.metrics import is_on
from gpulint.probe.measures.number_words import counted
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration

LINK = 25e9
"""Bytes per second between two GPUs over PCIe 4.0 with 16 lanes (31.5 GB/s in theory)."""

LATENCY = 10e-6
"""Seconds of the smallest copy between two GPUs."""

RECURS = 4
"""An eager copy belongs to the steps if there is one for at least one in so many: a program that feeds each GPU by
itself calls a step's function several times for one step."""

WHOLE = 1024
"""Bytes of a variable from which a copy of the same size is known to be of it."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Copies between GPUs, and of variables that are on the host."""
    yield from _between(observed)
    yield from _from_host(observed)


def _between(observed: Observed) -> Iterator[Candidate]:
    """The line whose copies in a step move most, except those of a strategy's reduction. Batches come from the host:
    a step has to wait for them. In a rehearsal, copies between GPUs take no time: there it is the share that they would
    have of a step that launches operations and copies, and does nothing else."""
    capture, time = observed.capture, observed.time
    hosted = _hosted(observed)
    by_line: dict[Where, Counter[Copy]] = defaultdict(Counter)
    for one, count in _each_step(observed).items():
        if one.where is not None and one not in hosted:
            if not capture.simulated or (is_on(one.source, "GPU") and is_on(one.target, "GPU")):
                by_line[one.where][one] += count
    part = "launch" if capture.simulated else "copy"
    if not by_line or not time.seconds_of(part):
        return
    where = max(by_line, key=lambda each: (_size(by_line[each]), by_line[each].total()))
    whole = sum(map(_size, by_line.values())) + _size(hosted)
    copies = by_line[where]
    readers = sorted({f"`{one.consumer}`" for one in copies if one.consumer})[:3] or ["this line"]
    named = " and ".join(filter(None, (", ".join(readers[:-1]), readers[-1])))
    read, their, them = ("read", "their", "them") if len(readers) > 1 else ("reads", "its", "it")
    finding = finding_at(observed, ("GPU102",), where)
    share, cost = _cost(observed, copies, _size(copies) / whole if whole else 1.0)
    yield Candidate(
        "copies",
        where,
        f"{named} {read} {'tensors' if copies.total() > 1 else 'a tensor'} from another device",
        f"{_amount(copies)} in each step, {_ways(copies)}{cost}.",
        sentence(finding.instead)
        if finding is not None
        else f"Compute {their} inputs on one device, or put {them} into a `tf.device` scope of {their} own.",
        {part: time.seconds_of(part) * share},
        finding.code if finding is not None else None,
        in_proportion=capture.simulated > 0,
    )


def _from_host(observed: Observed) -> Iterator[Candidate]:
    """Variables on the host that the GPUs read in each step, and whose gradients go back to it. Copies are known by
    their sizes."""
    capture, time = observed.capture, observed.time
    part = "launch" if capture.simulated else "copy"
    read = _hosted(observed)
    if not read or not time.seconds_of(part):
        return
    sizes = {one.bytes for one in read}
    every = _each_step(observed)
    back = {
        one: count
        for one, count in every.items()
        if one.bytes in sizes and is_on(one.source, "GPU") and is_on(one.target, "CPU")
    }
    copies = read + Counter(back)
    whole = _size(Counter({one: count for one, count in every.items() if one.in_step}) | copies)
    share, cost = _cost(observed, copies, _size(copies) / whole if whole else 1.0)
    variables = [one for one in _host_variables(observed) if one.bytes in sizes]
    by_target: Counter[str] = Counter()
    for one, count in read.items():
        by_target[one.target] += count
    yield Candidate(
        "copies",
        max(variables, key=lambda one: one.bytes).where,
        f"steps read {counted(max(by_target.values()), 'variable')} from the host",
        f"{_amount(copies)} in each step, {_ways(copies)}{cost}.",
        "Create the model without `tf.device('/CPU:0')`; to train on several GPUs, in the scope of a "
        "`tf.distribute.MirroredStrategy`.",
        {part: time.seconds_of(part) * share},
        in_proportion=capture.simulated > 0,
    )


def _host_variables(observed: Observed) -> list[Variable]:
    """Variables of floating-point numbers on the host, where no strategy put them."""
    if observed.capture.strategies:
        return []
    return [one for one in observed.capture.variables if is_on(one.device, "CPU") and "float" in one.dtype]


def _hosted(observed: Observed) -> Counter[Copy]:
    """Copies in a step that bring whole variables from the host to a GPU."""
    sizes = {one.bytes for one in _host_variables(observed) if one.bytes >= WHOLE}
    return Counter(
        {
            one: count
            for one, count in _each_step(observed).items()
            if one.in_step and one.bytes in sizes and is_on(one.source, "CPU") and is_on(one.target, "GPU")
        }
    )


def _each_step(observed: Observed) -> Counter[Copy]:
    """Copies of a step: those in its graph, and eager ones from GPUs that recur. Those to GPUs from the host are
    batches."""
    capture = observed.capture
    steps = sum(one.taken for one in capture.steps.values())
    copies: Counter[Copy] = Counter()
    for one, count in capture.copies.items():
        if one.reduces or one.source == one.target:
            continue
        if one.in_step:
            copies[one] += count
        elif one.op == EAGER_COPY and is_on(one.source, "GPU") and RECURS * count >= steps > 0:
            copies[one] += max(1, round(count / steps))
    return copies


def _cost(observed: Observed, copies: Counter[Copy], share: float) -> tuple[float, str]:
    """The share of the part that copies take, and what they cost in words. `share`: that of the bytes copied."""
    time = observed.time
    if not observed.capture.simulated:
        return share, f"; {duration(time.seconds_of('copy') / time.steps)} per step"
    copying = _size(copies) / LINK + copies.total() * LATENCY
    launching = (time.operations_per_step or 0.0) * LAUNCH
    cost = f". On real GPUs copying takes at least {duration(copying)}, launching the step {duration(launching)}"
    return copying / (copying + launching), cost


def _size(copies: Counter[Copy]) -> int:
    return sum((one.bytes or 0) * count for one, count in copies.items())


def _amount(copies: Counter[Copy]) -> str:
    """`2 copies of 4 MiB`."""
    number = f"{copies.total():,} copies" if copies.total() > 1 else "1 copy"
    return number + (f" of {in_words(_size(copies))}" if _size(copies) else "")


def _ways(copies: Counter[Copy]) -> str:
    return ", ".join(sorted({f"{one.source} to {one.target}" for one in copies}))
