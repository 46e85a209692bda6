"""GPU509."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar

from gpulint.plugin import (
    Loop,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    Where,
    confidence,
    events,
    possible,
    together,
    values,
)
from gpulint.plugin.queries import (
    are_few,
    callers,
    chain,
    fitting_loops,
    goes_over_data,
    has_compiled_way,
    has_other_backend,
    in_every_iteration,
    is_rare,
    iteration_count,
    leaves,
    step_loops,
    updates,
    waits_for_person,
)
from gpulint.plugin.symbols import Path, is_array, is_drawn, is_observed, is_of_batch, is_prepared, words
from gpulint.plugin.words import MODEL_WORDS

_E = TypeVar("_E", bound=events.Event)
_Called = events.ModelCalled | events.NetworkCalled

_CREATES = frozenset({"constant", "convert_to_tensor"})
"""TensorFlow functions that create a tensor from a value of the host, which no symbolic tensor is."""

_READS = frozenset(
    {"decode_bmp", "decode_gif", "decode_image", "decode_jpeg", "decode_png", "decode_raw", "decode_wav"}
)
"""TensorFlow functions that turn the content of a file into numbers."""


_LEARNT = frozenset({".load_weights(", ".restore(", "GradientTape", "from_pretrained"})
"""A program with a network that is no Keras model trains it or reads its weights with one of these words."""


class EagerInference(Rule):
    """Model called eagerly in a loop

    ## What it does
    Finds `model(x)` in each iteration of an eager loop: evaluation, sampling, an agent that acts, gradients that only
    measure the importance of weights.

    ## Why is this bad
    Python dispatches the operations of each layer one by one, and the GPU waits for the next one. Measured: 4.5 times
    the time of a `tf.function` for three dense layers, 13 times for a small residual network or Transformer
    (`benchmarks/experiments/eager_inference.py`).

    ## Example
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    error = tf.keras.metrics.MeanSquaredError()
    for x, y in tf.data.Dataset.from_tensor_slices((tf.zeros((6400, 4)), tf.zeros((6400, 1)))).batch(64):
        error.update_state(y, model(x, training=False))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    error = tf.keras.metrics.MeanSquaredError()


    @tf.function
    def test_step(x, y):
        error.update_state(y, model(x, training=False))


    for x, y in tf.data.Dataset.from_tensor_slices((tf.zeros((6400, 4)), tf.zeros((6400, 1)))).batch(64):
        test_step(x, y)
    ```

    ## What is not reported
    Calls in a `tf.function`, in a function that one wraps elsewhere, in a method that Keras calls, in an eager training
    step or beside one in its loop (GPU508; an agent that acts is reported, and so is a call beside a compiled step);
    calls under a condition that only some iterations meet, in loops of at most ten iterations, over the scales of a
    single image, over trials, and over epochs that are more than one step, and in loops that wait for a person in each
    iteration; models that are created in the loop or that it iterates over, unless a loop around it has many
    iterations; models whose `call` is a `tf.function`; calls while a model is built; calls that another setting of the
    program compiles, and an eager mode beside a compiled one, as in GPU508; inputs that are constants, or of which it
    is unknown whether they are data, unless the loop reads a tensor or calls a `tf.function`; programs that choose
    another backend of Keras (`KERAS_BACKEND`).

    ## At run time
    The log of eager operations.
    """

    code = "GPU509"
    name = "eager-inference"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = MODEL_WORDS | _LEARNT | {"Callback"}
    all_of_name_sets = (
        MODEL_WORDS | _LEARNT,
        frozenset({".numpy(", ".update_state(", "argmax", ".step(", "Dataset", "append", "extend", "np", "cv2"})
        | {"return_tensors"}
        | _CREATES
        | _READS,
    )
    yields_to = ("GPU508",)
    why = "Python dispatches the operations of each layer one by one, and the GPU sits idle between them"
    instead = "create `compiled = tf.function(model)` once, and call `compiled` in the loop"
    cost = "4 to 13× slower for small models"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        called = [event for event in self.all(events.ModelCalled, events.NetworkCalled) if _is_eager_call(event)]
        if not called or has_other_backend(plan):
            return
        learning = self._learning(plan)
        played = self._played() if learning else []
        observed = self._observed() if learning else set[int]()
        acting = {read.where.caller.definition for read in played}
        chosen = self._chosen(plan, played)
        steps = {
            (taken.tape.site, taken.site)
            for taken in self.all(events.GradientTaken)
            if taken.tape is not None and taken.where.context.traced is None
        }
        taken_at = {site for _, site in steps}
        """Where gradients are taken: what `minimize` calls there computes the loss."""
        otherwise = self._compiled_calls()
        reading = self._loops_that_read()
        compiled = {loop.site for step in self.all(events.TracedCalled) for loop in step.where.context.loops[-1:]}
        wrapped = self._wrapped()
        much, stepping = fitting_loops(plan) | self._loops_of_steps(plan), step_loops(plan)
        data = self._data()
        made = {
            id(event.result): frozenset(loop.site for loop in event.where.context.loops)
            for event in self.all(events.OpCalled)
        }
        fed = {event.site for event in called if any(id(one) in data for one in _leaves(event))}
        """Calls with a tensor of data in an iteration, perhaps the first one: the others get what it led to."""
        constant = self._constant()
        eager_modes = [
            step.where for step in updates(plan) if _is_eager(step.where) and has_compiled_way(step.where, plan)
        ]
        found: dict[Site, dict[Site, _Called]] = {}
        for event in called:
            loop = _loop(event)
            if loop is None or loop.site in much:
                continue
            chooses = id(event) in chosen and not any(_is_between(event.site, *step) for step in steps)
            if not chooses and not all(_are_apart(event.where, taken.where, loop) for taken in learning[loop.site]):
                continue
            if any(_is_between(loop.site, tape, taken) for tape, taken in steps):
                continue
            if any(caller.site in taken_at for caller in callers(event.where.caller)):
                continue
            if loop.site not in stepping and _is_long(loop):
                continue
            if _is_over_scales(event.where, loop):
                continue
            if are_few(around for around in event.where.context.loops if around.site not in much):
                continue
            if is_rare(event.where, loop) or not in_every_iteration(event, loop, called):
                continue
            if _is_of_loop(event.model, loop):
                continue
            if not wrapped.isdisjoint(one.definition for one in callers(event.where.caller)):
                continue
            elsewhere = (*otherwise[event.site].values(), *otherwise[loop.site].values())
            if not all(together(one, event.where) for one in elsewhere):
                continue
            if any(together(one, event.where) for one in eager_modes) and has_compiled_way(event.where, plan):
                continue
            given = _leaves(event)
            if any(isinstance(one, values.Tensor) and one.symbolic for one in given):
                continue
            acts = chooses or event.where.caller.definition in acting - {None}
            if learning[loop.site] and not (acts or any(is_observed(one) or id(one) in observed for one in given)):
                continue
            is_data = any(
                loop.site in data.get(id(one), ())
                or (event.site in fed and loop.site in made.get(id(one), ()))
                or _is_data(one, event.where)
                for one in given
            )
            if not is_data and loop.site not in reading:
                if loop.site not in compiled or all(id(one) in constant for one in given):
                    continue
            if waits_for_person(event.where, loop, self.all(events.PersonAwaited)):
                continue
            found.setdefault(loop.site, {}).setdefault(event.site, event)
        for loop_site, calls in found.items():
            first, *others = calls.values()
            yield Report(
                first.site,
                "a model is called eagerly in each iteration of a loop",
                instead=self._instead(first.site, loop_site),
                confidence=confidence(first.where),
                related=(
                    (loop_site, "in this loop"),
                    *((other.site, "a model is called eagerly here, too") for other in others),
                    *chain(first.where),
                ),
            )

    def _instead(self, call: Site, loop: Site) -> str:
        """What to do instead, with the name of the model."""
        import libcst as cst  # slow to import, and seldom needed

        node = self.node(call)
        model = self.short(node.func, "model") if isinstance(node, cst.Call) else "model"
        compiled = f"create `compiled = tf.function({model})` once, and call `compiled` in the loop"
        if self._samples_dropout(call, loop):
            return f"repeat the input along the batch axis and call the model once, or {compiled}"
        return f"{compiled} (add `reduce_retracing=True` if input shapes change)"

    def _samples_dropout(self, call: Site, loop: Site) -> bool:
        """Whether a call passes `training=True`, and a variable to which the loop does not assign: each iteration
        calls the model on the same input."""
        import libcst as cst  # slow to import, and seldom needed
        import libcst.matchers as m

        node, around = self.node(call), self.node(loop)
        given = m.Call(args=[m.Arg(m.Name()), m.Arg(m.Name("True"), keyword=m.Name("training"))])
        if around is None or not isinstance(node, cst.Call) or not m.matches(node, given):
            return False
        name = m.Name(cst.ensure_type(node.args[0].value, cst.Name).value)
        kinds = m.AssignTarget() | m.AugAssign() | m.CompFor() | m.For() | m.NamedExpr()
        targets = (getattr(one, "target", one) for one in m.findall(around, kinds))
        return not any(m.findall(target, name) for target in targets)

    def _learning(self, plan: Plan) -> defaultdict[Site, list[events.GradientTaken]]:
        """Loops with an eager training step, with the gradients that it takes."""
        training = {loop.site for step in updates(plan) for loop in step.where.context.loops}
        kept = {
            event.tensor.gradient.site for event in self.all(events.TensorKept) if event.tensor.gradient is not None
        }
        learning: defaultdict[Site, list[events.GradientTaken]] = defaultdict(list)
        for taken in self.all(events.GradientTaken):
            loops = taken.where.context.loops
            if taken.where.context.traced is None and loops:
                is_penalty = _is_of_inputs(taken)  # perhaps of a validation: nothing is trained with it
                around = loops[-1:] if is_penalty else loops
                trains = not training.isdisjoint(loop.site for loop in around)
                if taken.is_of_moved or trains or (taken.site in kept and not is_penalty):
                    inner = next((index for index, loop in enumerate(reversed(loops), 1) if not loop.unrolled), 1)
                    for loop in loops[-inner:]:  # a step may take the gradients of several losses one by one
                        learning[loop.site].append(taken)
        return learning

    def _compiled_calls(self) -> defaultdict[Site, dict[Path, Where]]:
        """Moments of compiled calls of a model, one for each path, by the site of the call and of the loops around
        it."""
        found: defaultdict[Site, dict[Path, Where]] = defaultdict(dict)
        for event in self.all(events.ModelCalled, events.NetworkCalled):
            if event.where.context.traced is not None:
                for place in (event.site, *(loop.site for loop in event.where.context.loops)):
                    found[place][event.where.path] = event.where
        return found

    def _loops_that_read(self) -> set[Site]:
        """Loops in which a tensor is read or a metric is updated."""
        return {
            loop.site
            for event in self.all(events.TensorRead, events.StateUpdated)
            if isinstance(event, events.TensorRead) or isinstance(event.target, values.Metric)
            for loop in event.where.context.loops
        }

    def _wrapped(self) -> set[Site]:
        """Functions that a `tf.function` wraps somewhere, perhaps in a method that Keras calls."""
        return {
            function.definition_site
            for one in self.all(events.FunctionTraced)
            if (function := values.function_of(one.function)) is not None
        }

    def _constant(self) -> set[int]:
        """Tensors, by id, that operations compute from constants."""
        return {
            id(event.result)
            for event in self.all(events.OpCalled)
            if all(isinstance(leaf, values.Constant) for one in event.inputs for leaf in leaves(one))
        }

    def _played(self) -> list[events.TensorRead]:
        """Reads of actions with which the program steps an environment, also one of its own classes."""
        played = {read for one in self.all(events.HostValueUsed) if one.by == "step" for read in one.reads}
        return [one for one in self.all(events.TensorRead) if one.site in played]

    def _chosen(self, plan: Plan, played: list[events.TensorRead]) -> set[int]:
        """Calls of models, by id, after which the same function reads an action, in the same iteration and before it
        takes gradients."""
        reads = set(map(id, played))
        called: list[_Called] = []
        found: set[int] = set()
        for event in plan.events if played else ():
            if isinstance(event, (events.ModelCalled, events.NetworkCalled)):
                called.append(event)
            elif isinstance(event, events.GradientTaken):
                called = []
            elif id(event) in reads:
                found.update(id(one) for one in called if _turn(one) == _turn(event))
        return found

    def _observed(self) -> set[int]:
        """Tensors, by id, that operations compute from what an agent observes."""
        found: set[int] = set()
        for event in self.all(events.OpCalled):
            if any(is_observed(leaf) or id(leaf) in found for one in event.inputs for leaf in leaves(one)):
                found.add(id(event.result))
        return found

    def _loops_of_steps(self, plan: Plan) -> set[Site]:
        """Loops around a loop of training steps or compiled calls, next to which one eager call costs little. A loop
        over batches is none if what it calls so often uses no model: the overlap of two boxes."""
        taken = updates(plan)
        found = {loop.site for step in taken for loop in _much_more(step, taken)}
        working = {
            event.where.context.traced
            for event in self.all(events.ModelCalled, events.GradientTaken)
            if event.where.context.traced is not None
        }
        called = self.all(events.TracedCalled)
        for event in called:
            is_small = event.wrapped_at not in working and isinstance(event.function, values.Function)
            found.update(
                loop.site for loop in _much_more(event, called) if not (is_small and goes_over_data(loop.iterable))
            )
        return found

    def _data(self) -> dict[int, frozenset[Site]]:
        """Tensors, by id, that operations compute from data, or that they create from a file, from what the host
        computed or from what an earlier iteration left, and the loops in which they do. A tensor of constants is none:
        it may be there to build a model."""
        found: dict[int, frozenset[Site]] = {}
        created: dict[int, int] = {}
        """Number of loops around the creation of a tensor, by its id."""
        for event in self.all(events.OpCalled):
            loops = event.where.context.loops
            inputs = [leaf for one in event.inputs for leaf in leaves(one)]
            name = event.name.removeprefix("tensorflow.")
            if name in _CREATES or not inputs:
                created[id(event.result)] = len(loops)
            if (
                name.startswith("random.")
                or name.rpartition(".")[2] in _READS
                or (name in _CREATES and not all(isinstance(one, values.Constant) for one in inputs))
                or any(
                    id(one) in found or created.get(id(one), len(loops)) < len(loops) or _is_data(one, event.where)
                    for one in inputs
                )
            ):
                found[id(event.result)] = frozenset(loop.site for loop in loops)
        return found


def _much_more(event: _E, alike: Iterable[_E]) -> Iterator[Loop]:
    """Loops that run an inner loop of such events, though not only after their last iteration, as an agent that learns
    at the end of a game does, nor in few iterations, as one that learns every n-th step does."""
    return (
        loop
        for loop in event.where.context.loops[:-1]
        if loop.unrolled or (not is_rare(event.where, loop) and in_every_iteration(event, loop, alike))
    )


def _are_apart(where: Where, other: Where, loop: Loop) -> bool:
    """Whether a loop reaches another moment by a call of a function, and neither function contains both moments."""
    first, second = _functions(where, loop), _functions(other, loop)
    return bool(second) and second[0] not in first and not (first and first[0] in second)


def _functions(where: Where, loop: Loop) -> list[Site | None]:
    """Functions that a loop calls to reach a moment, innermost first."""
    depth = next((depth for depth, one in enumerate(where.context.loops, 1) if one.site == loop.site), 0)
    return [caller.definition for caller in callers(where.caller) if caller.loops >= depth]


def _leaves(event: _Called) -> list[values.Value]:
    """Arguments of a call, and what is in those that are containers."""
    mapped = event.arguments.mapped
    found = [mapped] if mapped is not None else []
    return found + [
        leaf for one in event.arguments.all() for value in possible(one, event.where) for leaf in leaves(value)
    ]


def _is_between(place: Site, first: Site, last: Site) -> bool:
    """Whether a place is after another one, and before a third, in one file: a loop after a tape begins to record and
    before its gradients are taken."""
    return place.path == first.path == last.path and first.node < place.node < last.node


def _is_of_inputs(taken: events.GradientTaken) -> bool:
    """Whether gradients are taken with respect to tensors, and not to variables."""
    by = [leaf for one in possible(taken.by, taken.where) for leaf in leaves(one)] if taken.by is not None else []
    return bool(by) and all(isinstance(one, values.Tensor) for one in by)


def _turn(event: events.Event) -> tuple[object, ...]:
    """The call of a function that an event happens in, and the iteration of the innermost loop around it."""
    return (event.where.caller, *((loop.entry, loop.iteration) for loop in event.where.context.loops[-1:]))


def _is_eager(where: Where) -> bool:
    return not where.context.may_be_traced and where.context.replica is None


def _is_eager_call(event: _Called) -> bool:
    if isinstance(event, events.ModelCalled) and event.how != "call":
        return False
    if not _is_eager(event.where) or not event.where.context.loops:
        return False
    cls = event.model.cls
    forward = cls.find("call") if cls is not None else None
    if forward is not None and not isinstance(forward[0], values.Function):
        return False
    is_one_of_several = not _sites(event.model.where) <= _sites(event.where)
    return not any(
        caller.function in ("call", "__getitem__")  # part of a call of the model, or of a loader's
        or (caller.function in _STEPS and caller.site is None)
        or (caller.function == "__call__" and is_one_of_several)  # a network calls its blocks one after the other
        for caller in callers(event.where.caller)
    )


def _sites(where: Where) -> set[Site]:
    """Sites of the loops around a moment."""
    return {loop.site for loop in where.context.loops}


_STEPS = frozenset({"__call__", "compute_loss", "predict_step", "test_step", "train_step"})
"""Methods that Keras calls, or may call, in its own `tf.function`, unless the program does."""


def _loop(event: _Called) -> Loop | None:
    """The innermost loop with several iterations around a call, other than one over models, each of which it calls
    once."""
    around = (loop for loop in reversed(event.where.context.loops) if not _is_over(event.model, loop))
    return next((loop for loop in around if iteration_count(loop) != 1 and not loop.is_batches), None)


def _is_over(model: values.Model | values.Layer, loop: Loop) -> bool:
    """Whether a loop iterates over models, or over objects of the program that have one, and this is one of them."""
    return any(
        one is model or (isinstance(one, values.Instance) and any(kept is model for kept in one.attributes.values()))
        for one in (leaves(loop.iterable) if loop.iterable is not None else ())
    )


_LONG = frozenset({"epoch", "epochs", "ep", "fold", "run", "seed", "trial"})
"""Words in the name of a loop variable that say that an iteration is much work."""


def _is_long(loop: Loop) -> bool:
    """Whether the name of a loop's variable says that an iteration is much work, which that of a validation is not."""
    found = frozenset[str]().union(*map(words, loop.names))
    return not found.isdisjoint(_LONG) and found.isdisjoint(_OF_VALIDATION)


_OF_VALIDATION = frozenset({"test", "val", "valid", "validation"})


def _is_over_scales(where: Where, loop: Loop) -> bool:
    """Whether a loop iterates over the few scales of a single image: no loop over images is around it."""
    around = [one for one in where.context.loops if not one.unrolled]
    return around == [loop] and any(words(name) & _SCALES for name in loop.names)


_SCALES = frozenset({"scale", "scales"})


def _is_of_loop(model: values.Model | values.Layer, loop: Loop) -> bool:
    """Whether each iteration creates a model of its own."""
    return any(around.site == loop.site for around in model.where.context.loops)


def _is_data(value: values.Value, where: Where) -> bool:
    """Whether a value certainly is not symbolic: part of a dataset or of a batch, an array, an observation."""
    if isinstance(value, values.Tensor):
        return value.from_data
    if is_array(value) or is_observed(value) or is_drawn(value) or is_prepared(value):
        return True
    return any(is_of_batch(value, loop) for loop in where.context.loops)
