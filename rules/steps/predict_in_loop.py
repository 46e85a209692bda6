"""GPU503."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping

from gpulint.plugin import Loop, Plan, Report, Rule, Severity, Site, confidence, events, possible, values
from gpulint.plugin.queries import (
    are_few,
    batch_fits,
    callers,
    chain,
    fitted_data,
    goes_over_data,
    in_every_iteration,
    is_made_in,
    is_one_sample,
    is_over_models,
    is_rare,
    iterated_sources,
    iteration_count,
    leaves,
    loop_of_call,
    step_loops,
    symbol_of,
    waits_for_person,
)
from gpulint.plugin.symbols import (
    Symbol,
    is_given,
    is_next_batch,
    is_observed,
    is_read_element,
    is_single,
    is_small_part,
    varies,
    words,
)
from gpulint.plugin.words import MODEL_WORDS

_OF_INPUTS = frozenset({"constant", "convert_to_tensor", "expand_dims", "from_pretrained", "pad_sequences", "verbose"})
"""A program that predicts with a model that it does not create contains one of these words."""


class PredictInLoop(Rule):
    """predict, evaluate or fit for each sample

    ## What it does
    Finds, in a loop, `model.predict(…)` and `model.evaluate(…)` of one sample, of one batch of a dataset or generator,
    of a list that the loop fills and empties, or of the next few rows of a collection; `model.predict(…)` in every
    training step, or of the result of each step of an agent's environment; `model.predict_on_batch(…)` of the samples
    of a collection, or of images that the loop reads from files, one by one; and `model.fit(…)` of one sample or batch
    for one epoch, also of what a replay memory returned.

    ## Why is this bad
    Each call rebuilds a dataset, an iterator and the callbacks. Measured on a small network: 53 ms per call, against
    1.1 ms for `model(x)` and 0.4 ms for `model.predict_on_batch(x)` (`benchmarks/experiments/predict_in_loop.py`). A
    `predict_on_batch` of one sample costs as much as one of many. `fit` of one batch takes 50 times as long as
    `train_on_batch`.

    ## Example
    ```python
    import numpy as np
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    samples = np.zeros((1000, 4), "float32")
    for sample in samples:
        print(model.predict(np.expand_dims(sample, 0)))
    ```

    ## Use instead
    ```python
    import numpy as np
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    samples = np.zeros((1000, 4), "float32")
    for prediction in model.predict(samples, batch_size=256):
        print(prediction)
    ```

    ## What is not reported
    One call per epoch, fold or file of many samples; loops of up to ten iterations, also if a counter ends them; calls
    that only a few iterations reach (every n-th; this does not exempt an agent that chooses at random between its model
    and chance); calls whose input is not known to be small; calling the model; `predict_on_batch` of a batch, or of a
    sample that is only known at that time (an agent's next observation, the next word); one example passed to each of
    several models, or to a model that the iteration itself builds and trains; loops that wait for a person in each
    iteration (a window until it is closed, a key); and `predict` of objects that are not Keras models.

    ## At run time
    The time of a call compared with the time on the device.
    """

    code = "GPU503"
    name = "predict-in-loop"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset({".predict(", ".evaluate(", ".predict_on_batch(", ".fit("})
    all_of_name_sets = (MODEL_WORDS | _OF_INPUTS,)
    why = "every call rebuilds a dataset, an iterator and callbacks"
    instead = (
        "predict all samples in one call if they are known before the loop; otherwise call `model.predict_on_batch(x)`"
    )
    cost = "about 50 ms per call"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        fitted = list(self._fits(plan))
        yield from fitted
        fits = {
            event.where.context.loops[-1].site for event in self.all(events.ModelFitted) if event.where.context.loops
        }
        made = [event for event in self.all(events.ModelCalled) if event.how in _INSTEAD and event.where.context.loops]
        if not made:
            return
        steps = step_loops(plan)
        of_data = self._results_of_data()
        fitted_on_samples = {
            loop.site
            for event in made
            if any(is_one_sample(value) for value in _inputs(event))
            for loop in (loop_of_call(event),)
            if loop.site in fits and not any(words(name) & _PASSES for name in loop.names)
        }
        fitted_on_samples.update(report.related[0][0] for report in fitted)
        emptied = self._emptied()
        packed = self._packed() if emptied else {}
        how: dict[tuple[Site | None, Site], str] = {}
        """How calls that are reported are made, by call and loop: those on their results are made alike."""
        for event in made:
            loop = loop_of_call(event, steps)
            of_samples = [one for one in event.where.context.loops if not is_over_models(event, one)]
            if not of_samples or are_few(of_samples):
                continue
            if waits_for_person(event.where, loop, self.all(events.PersonAwaited)):
                continue
            lists = frozenset().union(*(emptied.get(site, ()) for site in (loop.site, *_generators(loop))))
            if event.how == "predict" and _is_assembled(event, lists, packed):
                yield Report(
                    event.site,
                    "`predict` is called on one batch at a time, assembled in a loop",
                    instead=self._instead(event, False),
                    confidence=confidence(event.where),
                    related=((loop.site, "in this loop"), *chain(event.where, loop=loop)),
                )
                continue
            if is_rare(event.where, loop) or not in_every_iteration(event, loop, made):
                continue
            if _is_of_another_model(event, loop, made) or self._is_retrained(event):
                continue
            given = _inputs(event)
            one = any(is_one_sample(value) for value in given)
            batch = _is_in_one(event) and any(_is_of_data(value, of_data) for value in given)
            in_step = event.how == "predict" and (
                loop.site in fitted_on_samples or (loop.site in steps and loop.site not in fits)
            )
            acts = event.how == "predict" and any(is_observed(value) for value in given)
            part = any(is_small_part(value) or (_is_in_one(event) and is_next_batch(value, loop)) for value in given)
            first = next((call for call in ((_call_of(value), loop.site) for value in given) if call in how), None)
            if not (one or in_step or acts or part or first or (batch and goes_over_data(loop.iterable))):
                continue
            if event.how == "predict_on_batch" and not any(
                is_single(value) and is_given(value, loop) for value in given
            ):
                continue
            per_epoch = not in_step and (loop.site in fits or any(words(name) & _PASSES for name in loop.names))
            if per_epoch and not first and not any(varies(value) for value in given):
                continue
            if self._is_of_variable(event, loop):
                continue
            how[event.site, loop.site] = _how(one, in_step, acts, how[first] if first else None)
            yield Report(
                event.site,
                f"`{event.how}` is called {how[event.site, loop.site]}",
                why=_OF_BATCHES if event.how == "predict_on_batch" else "",
                cost=_COST_OF_BATCHES if event.how == "predict_on_batch" else "",
                instead=self._instead(event, in_step or acts, self._data(loop) if batch and not one else ""),
                confidence=confidence(event.where),
                related=((loop.site, "in this loop"), *chain(event.where, loop=loop)),
            )

    def _data(self, loop: Loop) -> str:
        """The dataset that a loop is over, if that is a variable."""
        import libcst as cst  # slow to import, and seldom needed

        node = self.node(loop.site)
        return node.iter.value if isinstance(node, cst.For | cst.CompFor) and isinstance(node.iter, cst.Name) else ""

    def _instead(self, event: events.ModelCalled, one_by_one: bool, data: str = "") -> str:
        """What to call instead, with the names of the call; `one_by_one` if the next input depends on its result."""
        model, x = self._names(event.site)
        if one_by_one:
            return (
                f"call `{model}.predict_on_batch({x})`, or `{model}({x})` in a function decorated with `@tf.function`"
            )
        if data and event.how in _ON_BATCH:
            on_batch = _ON_BATCH[event.how].format(model=model, x=x)
            return f"pass the whole dataset to one call, `{model}.{event.how}({data})`, or {on_batch}"
        return _INSTEAD[event.how].format(model=model, x=x)

    def _names(self, call: Site) -> tuple[str, str]:
        """The model and the input of a call, as they are written there."""
        import libcst as cst  # slow to import, and seldom needed
        import libcst.matchers as m

        node = self.node(call)
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return "model", "x"
        is_input = m.Arg(keyword=None, star="") | m.Arg(keyword=m.Name("x"))
        first = next((one.value for one in node.args if m.matches(one, is_input)), None)
        return self.short(node.func.value, "model"), self.short(first, "x")

    def _fits(self, plan: Plan) -> Iterator[Report]:
        for event, loop in batch_fits(plan):
            one = any(is_one_sample(value) for value in fitted_data(event))
            yield Report(
                event.site,
                f"`fit` is called on a single {'sample' if one else 'batch'} in every iteration of a loop",
                instead=f"call `{self._names(event.site)[0]}.train_on_batch(x, y)`"
                + (", with many samples at a time" if one else ""),
                confidence=confidence(event.where),
                related=((loop.site, "in this loop"), *chain(event.where, loop=loop)),
            )

    def _is_retrained(self, event: events.ModelCalled) -> bool:
        """Whether each iteration of the innermost loop creates the model, and trains one that it creates. The training
        takes far longer than a call."""
        loop = loop_of_call(event)
        if not is_made_in(event.model, loop):
            return False
        trained: list[values.Object] = [one.model for one in self.all(events.ModelFitted)]
        trained += [one.model for one in self.all(events.ModelCalled) if one.how == "train_on_batch"]
        trained += [one.optimizer for one in self.all(events.GradientsApplied)]
        return any(is_made_in(one, loop) for one in trained)

    def _is_of_variable(self, event: events.ModelCalled, loop: Loop) -> bool:
        """Whether the only loop around a call iterates over unknown models: its variable makes the call."""
        if any(one.site != loop.site and iteration_count(one) != 1 for one in event.where.context.loops):
            return False
        import libcst.matchers as m  # slow to import, and seldom needed

        call = self.node(event.site)
        return any(m.matches(call, m.Call(m.Attribute(m.Name(name)))) for name in loop.names if call is not None)

    def _emptied(self) -> dict[Site, frozenset[Symbol]]:
        """Lists, by symbol, that the iterations of a loop fill and empty, rather than create by a comprehension; also,
        keyed by the call of a function, those that its loops empty under a condition, as a generator of batches does.
        """
        found: dict[Site, set[Symbol]] = defaultdict(set)
        for event in self.all(events.ContainerCleared):
            if any(isinstance(part, Site) for part in symbol_of(event.container).parts):
                continue
            around = event.where.context.loops
            for loop in around:
                found[loop.site].add(symbol_of(event.container))
            for caller in callers(event.where.caller):
                if caller.site is not None and around[caller.loops :] and event.where.path - around[-1].start:
                    found[caller.site].add(symbol_of(event.container))
        return {site: frozenset(names) for site, names in found.items()}

    def _packed(self) -> dict[int, Symbol]:
        """Lists, by symbol, of which operations make or compute a tensor, by the id of the tensor."""
        found: dict[int, Symbol] = {}
        for event in self.all(events.OpCalled):
            lists = [found[id(value)] for value in event.inputs if id(value) in found]
            if event.packed is not None or lists:
                found[id(event.result)] = symbol_of(event.packed) if event.packed is not None else lists[0]
        return found

    def _results_of_data(self) -> set[int]:
        """Tensors, by id, that operations in loops compute from the batches of a dataset."""
        found: set[int] = set()
        for event in self.all(events.OpCalled):
            if event.where.context.loops and any(_is_of_data(value, found) for value in event.inputs):
                found.add(id(event.result))
        return found


def _how(of_sample: bool, in_step: bool, acts: bool, of_source: str | None) -> str:
    """How a call is made, in words; `of_source` are those of the call on whose result it is made."""
    if of_sample:
        return "on a single sample in every iteration of a loop"
    if in_step:
        return "in every training step"
    if acts:
        return "in every step of an environment"
    return of_source or "on a single batch in every iteration of a loop"


def _is_of_data(value: values.Value, results: Container[int]) -> bool:
    if isinstance(value, values.PerReplica) or is_read_element(value):
        return True  # with one GPU, replicas get a batch, or what is computed from one
    return isinstance(value, values.Tensor) and (value.from_data or id(value) in results)


def _is_assembled(event: events.ModelCalled, emptied: frozenset[Symbol], packed: Mapping[int, Symbol]) -> bool:
    """Whether a model predicts for an array or a tensor of the list that the loop fills and empties. `packed`: the list
    of a tensor, by id."""
    return bool(emptied) and any(
        _is_made_of(value.symbol, emptied) if type(value) is values.Unknown else packed.get(id(value)) in emptied
        for value in _inputs(event)
    )


def _is_made_of(name: Symbol, lists: frozenset[Symbol]) -> bool:
    """Whether a symbol is an array of one of these lists, possibly reshaped, also as the element of a loop."""
    while True:
        head, *rest = name.parts
        if head == "in_iteration":
            name = rest[1]
        elif head == "call" and len(rest) > 1 and not lists.isdisjoint(rest[1]):
            return True
        elif head == "call" and isinstance(rest[0], Symbol) and rest[0].parts[0] == "attribute":
            name = rest[0].parts[1]
        else:
            return False
        if not isinstance(name, Symbol):
            return False


def _generators(loop: Loop) -> Iterator[Site]:
    """Calls of the generators that a loop iterates over."""
    for source in iterated_sources(loop.iterable):
        if isinstance(source, values.Items) and source.kind == "generator":
            site = source.symbol.parts[1]
            if isinstance(site, Site):
                yield site


def _is_of_another_model(event: events.ModelCalled, loop: Loop, made: Iterable[events.ModelCalled]) -> bool:
    """Whether each iteration creates a model of its own and passes it the same data."""
    if not is_made_in(event.model, loop):
        return False
    given = [symbol_of(value) for value in _inputs(event)]
    return any(
        other.site == event.site
        and around.entry == loop.entry
        and around.iteration != loop.iteration
        and [symbol_of(value) for value in _inputs(other)] == given
        for other in made
        for around in other.where.context.loops
    )


def _is_in_one(event: events.ModelCalled) -> bool:
    """Whether `batch_size` is omitted, is the number of rows, or an attribute of this name, such as a loader's."""
    sizes = possible(event.arguments.get("batch_size"), event.where)
    return all(
        bool(size.shape_of) if isinstance(size, values.Tensor) else _is_attribute(symbol_of(size)) for size in sizes
    )


def _is_attribute(size: Symbol) -> bool:
    return size.parts[:1] == ("attribute",) and size.parts[-1:] == ("batch_size",)


def _inputs(event: events.ModelCalled) -> list[values.Value]:
    """Inputs that a model is called with, one by one."""
    found = possible(event.arguments.get("x", 0), event.where)
    given = [leaf for value in found for leaf in (tuple(leaves(value)) or (value,))]
    return [value for leaf in given for value in possible(leaf, event.where)]


def _call_of(value: values.Value) -> Site | None:
    """The call of a model whose result a value is; None for any other."""
    name = symbol_of(value)
    while name.parts[0] == "in_iteration":
        name = name.parts[2]
    return name.parts[1] if name.parts[0] == "used" else None


_ON_BATCH = {"predict": "call `{model}.predict_on_batch({x})`", "evaluate": "call `{model}.test_on_batch({x}, …)`"}

_INSTEAD = {
    "predict": f"predict all samples in one call if you have them before the loop; otherwise {_ON_BATCH['predict']}",
    "evaluate": f"evaluate all samples in one call if you have them before the loop; otherwise {_ON_BATCH['evaluate']}",
    "predict_on_batch": "predict all samples in one call, or many at a time",
}
"""Method → alternative to suggest, with the names of the model and its input."""

_OF_BATCHES = "a batch of one sample takes as long as a batch of many: the GPU is almost idle"

_COST_OF_BATCHES = "about 0.4 ms per call"

_PASSES = frozenset({"epoch", "epochs", "ep", "fold", "trial", "run", "iteration"})
"""Words in the name of a loop variable that say that an iteration is much work."""
