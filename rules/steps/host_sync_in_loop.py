"""GPU501."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events
from gpulint.plugin.facts import operation
from gpulint.plugin.queries import (
    evaluation_loops,
    every_step,
    has_compiled_way,
    in_every_iteration,
    is_beside_fit,
    is_every_nth,
    loop_around,
    step_loops,
    updates,
)
from gpulint.plugin.symbols import words
from gpulint.plugin.words import TRAINING_WORDS

if TYPE_CHECKING:
    import libcst as cst


class HostSyncInLoop(Rule):
    """Host waits for the GPU in every step

    ## What it does
    Finds `.numpy()`, functions of NumPy and `math`, `float(t)`, `int(t)`, `if t`, `min(t, u)`, `print(t)` and f-strings
    of a device tensor that are reached in every step of a training loop; and of a loss or metric in every iteration of
    an evaluation loop. A loop over more than a hundred epochs whose body is one step is a training loop. Several reads
    of one tensor, of one number of steps, or with no work for the GPU in between (the metrics in a progress bar) are
    one finding.

    ## Why is this bad
    TensorFlow hands work to the GPU and returns at once, and Python prepares the next step meanwhile. Reading a value
    ends that: Python waits until the GPU has finished all its work, and the GPU then waits for Python. Measured with
    operations that take as long as the host's work: 1.9 times the time per step
    (`benchmarks/experiments/host_sync.py`).

    ## Example
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)


    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss


    for x in tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64):
        print("loss", float(train_step(x)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)


    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss


    for step, x in enumerate(tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64)):
        loss = train_step(x)
        if step % 100 == 0:
            print("loss", float(loss))
    ```

    ## What is not reported
    Reads under a condition (`step % n == 0`, a flag), also by `and` and `or`, unless they are in the other n - 1 of n
    steps, on both sides, or for a setting greater than some number (`weight > 0`, not `verbose > 0`); reads after the
    loop or once per epoch; `tf.print`; values that are on the host already (elements of a dataset, `logs` of a
    callback, results of `train_on_batch`, int32 variables and numbers of shapes, and results computed from those
    alone); values that the host needs more often than in every n-th step (an action for an environment, an index; not a
    step number, which Python can count, nor values passed only to a `tf.function`), and what is read right before or
    after them; predictions of an evaluation; loops that have at most ten iterations or call `fit` in every iteration,
    and iterations that call it; an eager mode next to a compiled one; tests. Behind a decorator unknown to gpulint:
    reads that traced code can do as well (conditions, `print`, formatting).

    ## At run time
    The synchronisation points of a step.
    """

    code = "GPU501"
    name = "host-sync-in-loop"
    severity = Severity.WARNING
    is_performance = True
    once_a_row = True
    any_of_names = TRAINING_WORDS
    yields_to = ("GPU502",)
    why = "in every step the host waits for the GPU, and then the GPU waits for the host"
    instead = "read it every hundred steps, or update a `tf.keras.metrics.Mean` and read that once per epoch"
    cost = "up to 4× slower"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        reads_at: dict[Site, list[events.TensorRead]] = defaultdict(list)
        reads_of: dict[Site, list[events.TensorRead]] = defaultdict(list)
        for event in self.all(events.TensorRead):
            reads_at[event.site].append(event)
            reads_of[event.tensor.site].append(event)
        if not reads_at:
            return
        needs, fits = self._needs(), self.all(events.ModelFitted)
        waited = _Waits(plan.events)
        unneeded_in = cache(lambda loop: _unneeded(loop, reads_at, needs))
        training, evaluating, steps = step_loops(plan), evaluation_loops(plan), updates(plan)
        beside: set[tuple[Site, Site]] = set()
        """Reads, each with its loop, beside which the host needs a value, also in a repetition of the loop in which the
        analysis does not run their neighbours again."""
        guarded: set[tuple[Site, Site, int, int]] = set()
        """Reads (site, tensor, execution and iteration of the loop) that are not known to be on all paths."""
        found: dict[tuple[Site | int, Site], dict[Site, events.TensorRead]] = {}
        """Reads, keyed by tensor (or by the variable that counts steps) and loop. The first read makes the host wait;
        later ones find the tensor computed."""
        for event in (event for alike in reads_at.values() for event in alike):
            loops = training | evaluating if self._reports_progress(event, evaluating) else training
            alike = [*reads_at[event.site], *reads_of[event.tensor.site]]
            loop = every_step(event, loops, steps, alike)
            if loop is None and (around := loop_around(event.where, loops)) is not None:
                place = (event.site, event.tensor.site, around.entry, around.iteration)
                if place not in guarded and len(event.where.context.flags) <= around.flags:
                    alike += unneeded_in(around.site)
                    loop = every_step(event, loops, steps, alike)
                    if loop is None:
                        guarded.add(place)
            if loop is None or not in_every_iteration(event, loop, alike):
                continue
            if needs.include(event, loop.site) or (event.site, loop.site) in beside:
                continue
            if waited.include(event, loop.site, needs):
                beside.add((event.site, loop.site))
                continue
            if any(needs.include(one, loop.site) and _is_read_as_often(one, event, loop.site) for one in alike):
                continue
            if has_compiled_way(event.where, plan) or is_beside_fit(event, loop, fits):
                continue
            variable = event.tensor.state
            tensor: Site | int = event.tensor.site
            if variable is not None and needs.counts(event):  # each `optimizer.iterations` is a value of its own
                tensor = variable.site if variable.counts_steps else variable.serial
            found.setdefault((tensor, loop.site), {}).setdefault(event.site, event)
        for loop_site, reads in waited.together(found):
            # an array may be one that GPU502 reports
            is_array = [not (_is_of_number(one) or self._is_named_score(one)) for one in reads]
            first = reads[is_array.index(False)] if False in is_array else reads[0]
            others = [other for other in reads if other.site != first.site]
            what, instead = self._of_call(first) if first.how in ("array", "print") else (_HOW[first.how], "")
            instead = instead or _INSTEAD.get(first.how, self._of_metric(first) if loop_site in training else _ADD_UP)
            if first.how in _COMPARE:
                then = ", and read the result every hundred steps" if others else ""
                instead = f"use {_COMPARE[first.how]}, which runs on the device{then}"
            yield Report(
                first.site,
                f"{what} in every {'step' if loop_site in training else 'iteration'}",
                instead=_COUNT if needs.counts(first) else self._sum(first, loop_site) or instead,
                confidence=confidence(first.where),
                related=(
                    (loop_site, "in this training loop" if loop_site in training else "in this loop"),
                    (first.tensor.site, "the tensor comes from here"),
                    *((other.site, _too(first, other)) for other in others),
                ),
            )

    def _reports_progress(self, event: events.TensorRead, evaluating: frozenset[Site]) -> bool:
        """Whether Python reads one number, such as a loss, and not the predictions, which an evaluation may exist for.
        If it is unknown what was reduced, or there is one number for each example, the name decides."""
        if event.how == "bool":
            return False
        reduced = event.tensor.reduced
        if reduced is not None and reduced.is_number:
            return True
        return event.how != "print" and loop_around(event.where, evaluating) is not None and self._is_named_score(event)

    def _is_named_score(self, event: events.TensorRead) -> bool:
        """Whether a read has one name that says how good a model is."""
        reduced = event.tensor.reduced
        import libcst as cst  # slow to import, and seldom needed
        import libcst.matchers as m

        node = self.node(event.site)
        if node is None or len(m.findall(node, m.Call())) > 1:
            return False
        names = (cst.ensure_type(name, cst.Name).value for name in m.findall(node, m.Name()))
        is_of_each = reduced is not None and reduced.how == "none"  # losses of examples may be anomaly scores
        sought = _PERPLEXITY if is_of_each else _PERPLEXITY | _SCORES
        return any(not sought.isdisjoint(words(name)) for name in names)

    def _of_call(self, read: events.TensorRead) -> tuple[str, str]:
        """What reads a tensor through NumPy or a logger, and the help: an assignment to an element, or a function by
        its name."""
        import libcst.matchers as m  # slow to import, and seldom needed

        node = self.node(read.site)
        if node is not None and m.matches(node, m.Subscript()):
            return _STORED, _STORE_ONCE
        named = node is not None and m.matches(node, m.Call(m.Attribute(m.Name() | m.Attribute(m.Name()))))
        code = self.source(read.site).partition("(")[0] if named else ""
        how = f"`{code}` reads a device tensor" if code else _HOW[read.how]
        if read.how != "array":
            return how, ""
        own = operation(code.partition(".")[2])
        rarely = "convert the result to NumPy only every hundred steps or once per epoch"
        return how, f"use `{own}`, and {rarely}" if own else _COMPUTE

    def _of_metric(self, read: events.TensorRead) -> str:
        """Help for the result of a metric; "" for any other tensor, to which the rule's own applies."""
        import libcst.matchers as m  # slow to import, and seldom needed

        node = self.node(read.tensor.site)
        is_result = node is not None and m.matches(node, m.Call(m.Attribute(attr=m.Name("result"))))
        return _RESULT if is_result else ""

    def _sum(self, read: events.TensorRead, loop: Site) -> str:
        """Help for a number that the loop adds up, as in `total += float(loss)`; "" for any other."""
        import libcst as cst
        import libcst.matchers as m

        body, node = self.node(loop), self.node(read.site)
        if body is None or node is None or read.site.path != loop.path or read.how in _COMPARE:
            return ""
        for added in m.findall(body, m.AugAssign(operator=m.AddAssign())):
            assert isinstance(added, cst.AugAssign)
            if any(one is node for one in m.findall(added.value, m.OneOf(m.Call(), m.Attribute()))):
                total, tensor = self.source(added.target), _tensor(node) if added.value is node else None
                code = self.source(tensor) if tensor is not None else ""
                sums = f" (`{total} += {code}`)" if 0 < len(code) <= SHORT else ""
                return f"add up tensors{sums}, and convert `{total}` once, after the loop"
        for kept in m.findall(body, m.Call(m.Attribute(attr=m.Name("append")), [m.Arg()])):
            assert isinstance(kept, cst.Call) and isinstance(kept.func, cst.Attribute)
            if kept.args[0].value is node and _is_of_number(read):
                total, code = self.short(kept.func.value, "the list"), self.short(_tensor(node), "tensor")
                return f"append the tensor (`{total}.append({code})`), and convert the list after the loop"
        return ""

    def _needs(self) -> _Needs:
        needed: dict[Site, set[Site]] = defaultdict(set)
        for use in self.all(events.HostValueUsed):
            often = [loop.site for loop in use.where.context.loops if not is_every_nth(use.where, loop)]
            for read in use.reads:
                needed[read].update(often)
        added: dict[int, list[bool]] = defaultdict(list)
        for update in self.all(events.StateUpdated):
            added[update.target.serial].append(update.by_number)
        return _Needs(needed, {serial for serial, by_number in added.items() if all(by_number)})


_SCORES = frozenset(
    {
        *("acc", "accs", "accu", "accuracies", "accuracy", "accus", "dice", "iou", "loss", "losses", "mae", "metric"),
        *("metrics", "miou", "mse", "psnr", "rmse", "ssim"),
    }
)
"""Words in the names of numbers that say how good a model is."""

_PERPLEXITY = frozenset({"perplexities", "perplexity", "ppl", "ppls"})
"""Words in the names of numbers, one for each example, of which only the mean says something."""


class _Needs(NamedTuple):
    """Reads whose values the host needs.

    `loops` maps the place of a read to the loops in which the host uses the value. `counters` are the serial numbers of
    variables to which only Python numbers are added.
    """

    loops: Mapping[Site, Collection[Site]]
    counters: Collection[int]

    def include(self, event: events.TensorRead, loop: Site) -> bool:
        """Whether the host uses the value of a read in a loop, other than as a number of steps."""
        return loop in self.loops.get(event.site, ()) and not self.counts(event)

    def counts(self, event: events.TensorRead) -> bool:
        """Whether the value is a number of steps, which Python can count."""
        variable = event.tensor.state
        return variable is not None and (variable.counts_steps or variable.serial in self.counters)


class _Waits:
    """Groups of reads between which eager code gives the GPU no model, no `tf.function` and no update to compute: the
    first read of a group waits, the others find their tensors computed."""

    def __init__(self, all_events: Iterable[events.Event]) -> None:
        self._group: dict[int, list[events.TensorRead]] = {}
        """Group of a read, by the id of the read."""
        self._order: dict[int, int] = {}
        """Position of a read among all, by the id of the read."""
        present: list[events.TensorRead] = []
        for event in all_events:
            if isinstance(event, events.TensorRead):
                self._order[id(event)] = len(self._order)
                present.append(event)
                self._group[id(event)] = present
            elif isinstance(event, _WORK):
                present = []

    def include(self, event: events.TensorRead, loop: Site, needs: _Needs) -> bool:
        """Whether the host waits anyway, in the same iteration, for a value that it needs: an action of an agent beside
        the value of its state."""
        return any(
            needs.include(other, loop)
            and other.where.path <= event.where.path
            and not _iterations(other, loop).isdisjoint(_iterations(event, loop))
            for other in self._group[id(event)]
        )

    def together(
        self, found: Mapping[tuple[Site | int, Site], Mapping[Site, events.TensorRead]]
    ) -> Iterator[tuple[Site, list[events.TensorRead]]]:
        """Reads that are one finding, each with their loop: those of one tensor, and those in one group and iteration,
        as of several metrics in one progress bar."""
        joined: list[tuple[Site, list[events.TensorRead]]] = []
        for (_, loop), reads in found.items():
            own = list(reads.values())
            for other_loop, others in joined:
                if loop == other_loop and any(self._are_one(one, other, loop) for one in own for other in others):
                    others += own
                    break
            else:
                joined.append((loop, own))
        yield from ((loop, sorted(reads, key=lambda one: self._order[id(one)])) for loop, reads in joined)

    def _are_one(self, one: events.TensorRead, other: events.TensorRead, loop: Site) -> bool:
        """Whether two reads are in one group and iteration."""
        if self._group[id(one)] is not self._group[id(other)]:
            return False
        return not _iterations(one, loop).isdisjoint(_iterations(other, loop))


_WORK = (events.ModelCalled, events.TracedCalled, events.GradientTaken, events.GradientsApplied)
"""Events that give the GPU work."""


def _iterations(event: events.Event, loop: Site) -> set[tuple[int, int]]:
    """Iterations of a loop around an event, by execution and index."""
    return {(around.entry, around.iteration) for around in event.where.context.loops if around.site == loop}


def _is_read_as_often(one: events.TensorRead, other: events.TensorRead, loop: Site) -> bool:
    """Whether the tensor of two reads is the same, and the first happens in a loop whenever the second does."""
    ways = [
        frozenset(event.where.path - around.start)
        for event in (one, other)
        for around in event.where.context.loops
        if around.site == loop
    ]
    return one.tensor.site == other.tensor.site and len(ways) == 2 and ways[0] <= ways[1]


def _is_of_number(event: events.TensorRead) -> bool:
    """Whether a read takes one number from the device, rather than an array."""
    reduced = event.tensor.reduced
    return event.how not in ("numpy", "array", "weights") or (reduced is not None and reduced.is_number)


def _too(first: events.TensorRead, other: events.TensorRead) -> str:
    is_same = first.tensor.site == other.tensor.site
    return "the tensor is read here, too" if is_same else "another tensor is read here, too"


def _unneeded(loop: Site, reads_at: Mapping[Site, list[events.TensorRead]], needs: _Needs) -> list[events.TensorRead]:
    """Reads in a loop that the host does not need, the first among equal ones on the same path."""
    found = {
        (event.site, event.tensor.site, around.iteration, event.where.path): event
        for alike in reads_at.values()
        for event in reversed(alike)
        for around in event.where.context.loops
        if around.site == loop and not needs.include(event, loop)
    }
    return list(found.values())


def _tensor(read: cst.CSTNode) -> cst.BaseExpression | None:
    """The tensor in `float(tensor)` or `tensor.numpy()`, None in other calls."""
    import libcst as cst
    import libcst.matchers as m

    if m.matches(read, m.Call(func=m.Attribute(attr=m.Name("numpy") | m.Name("item")), args=[])):
        return cst.ensure_type(cst.ensure_type(read, cst.Call).func, cst.Attribute).value
    if m.matches(read, m.Call(func=m.Name("float") | m.Name("int"), args=[m.Arg()])):
        return cst.ensure_type(read, cst.Call).args[0].value
    return None


SHORT = 40
"""Maximum number of characters of an expression that a help repeats."""

_COUNT = "count the steps in Python: `for step, x in enumerate(data)`"

_INSTEAD = {
    "bool": "check it every hundred steps; if it only decides what to compute, move the `if` into a `@tf.function`",
    "weights": "read them every hundred steps or once per epoch",
}

_COMPARE = {"min": "`tf.minimum`", "max": "`tf.maximum`", "sorted": "`tf.sort`"}
"""Function that compares in Python → operation that compares on the device."""

_STORED = "an assignment to a NumPy array reads a device tensor"

_STORE_ONCE = "compute the whole array with TensorFlow operations, and convert it to NumPy once"

_COMPUTE = "use TensorFlow operations, and read their result every hundred steps or once per epoch"

_RESULT = "read the metric every hundred steps or once per epoch"

_ADD_UP = "add it up on the device, or in a metric, and read the total after the loop"

_HOW = {
    "numpy": "`.numpy()` reads a device tensor",
    "array": "a NumPy function reads a device tensor",
    "math": "a function of `math` reads a device tensor",
    "min": "Python's `min` reads the device tensors that it compares",
    "max": "Python's `max` reads the device tensors that it compares",
    "sorted": "`sorted` reads the device tensors that it compares",
    "float": "`float()` reads a device tensor",
    "int": "`int()` reads a device tensor",
    "bool": "a condition reads a device tensor",
    "print": "`print` reads a device tensor",
    "format": "string formatting reads a device tensor",
    "weights": "`get_weights()` copies all weights to the host",
}
