"""Queries of rules about values and about the moments of events."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from gpulint.analysis.domain.context import Caller, Loop, Object, Strategy, Where, callers, entry_point
from gpulint.analysis.domain.path_conditions import compatible
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.values.base import Constant, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.objects import Model
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.plan.events import (
    DatasetConsumed,
    EnvironmentSet,
    Event,
    LayerBuilt,
    LibraryCalled,
    MetricBuilt,
    ModelBuilt,
    ModelCalled,
    ModelFitted,
    OpCalled,
    OptimizerBuilt,
    PersonAwaited,
    RuntimeConfigured,
    RuntimeInitialised,
    StrategyBuilt,
    TracedCalled,
    UnknownFitted,
    VariableBuilt,
    WeightsUsed,
)
from gpulint.analysis.plan.plan import MAX_REPEATS, Plan
from gpulint.analysis.queries.training_loops import are_few, is_update
from gpulint.confidence import Confidence
from gpulint.places import Site


def possible(value: Value | None, where: Where) -> list[Value]:
    """All possible values of a value at that moment."""
    return [option for _, option in alternatives(value, where.path)] if value is not None else []


def together(*wheres: Where) -> bool:
    """Whether one run of the program can include all these moments."""
    return all(
        compatible(first.path, second.path) for index, first in enumerate(wheres) for second in wheres[index + 1 :]
    )


def trained_models(plan: Plan) -> list[Model]:
    """Models that a program fits, evaluates or trains batch by batch."""
    return [
        event.model
        for event in plan.events
        if isinstance(event, ModelFitted)
        or (isinstance(event, ModelCalled) and event.how in ("evaluate", "train_on_batch"))
    ]


def hides_all_gpus(plan: Plan) -> bool:
    """Whether the body of a program unconditionally hides all GPUs: `os.environ["CUDA_VISIBLE_DEVICES"] = "-1"`,
    `tf.config.set_visible_devices([], "GPU")`."""
    return None in without_gpus(plan)


def without_gpus(plan: Plan) -> dict[Site | None, EnvironmentSet | RuntimeConfigured]:
    """Entry points that unconditionally hide all GPUs, with the event that does so. None stands for the body of the
    program, and thus for everything in it."""
    found: dict[Site | None, EnvironmentSet | RuntimeConfigured] = {}
    for event in plan.events:
        if not isinstance(event, (EnvironmentSet, RuntimeConfigured)) or (hides := _hides_all_gpus(event)) is None:
            continue
        entry = entry_point(event.where, plan.path)
        if hides and not event.where.path:
            found.setdefault(entry, event)
        elif not hides:
            found.pop(entry, None)
    return found


def _hides_all_gpus(event: EnvironmentSet | RuntimeConfigured) -> bool | None:
    """Whether an event hides all GPUs, or makes some visible; None if it does neither."""
    if isinstance(event, EnvironmentSet):
        is_late = event.state in ("driver", "yes")
        return known(event.value) in ("", "-1") if event.key == "CUDA_VISIBLE_DEVICES" and not is_late else None
    if event.what != "visible_devices" or known(event.arguments.get("device_type", 1)) == "CPU":
        return None
    return isinstance(event.device, Items) and event.device.items == ()


def trains(plan: Plan) -> bool:
    """Whether a program trains anything."""
    return any(_trains(event) for event in plan.events)


def _trains(event: Event) -> bool:
    return isinstance(event, ModelFitted) or is_update(event)


def may_train(event: Event) -> bool:
    """Whether an event is a training step or a `fit`, including `fit` of an unknown object."""
    return _trains(event) or isinstance(event, UnknownFitted)


def may_train_or_evaluate(event: Event) -> bool:
    """Whether an event trains or may train, evaluates, or predicts in a loop."""
    if isinstance(event, ModelCalled):
        return event.how == "evaluate" or (event.how == "predict" and bool(event.where.context.loops))
    return may_train(event)


def computes_in_loop(event: Event) -> bool:
    """Whether TensorFlow computes something in a loop of more than a few iterations. Building a model and computing
    with shapes do not count."""
    if isinstance(event, (DatasetConsumed, TracedCalled)):
        given: Iterable[Value] = ()
    elif isinstance(event, (ModelCalled, OpCalled)):
        given = event.inputs if isinstance(event, OpCalled) else event.arguments.all()
    else:
        return False
    builds = any(isinstance(one, Tensor) and (one.symbolic or one.shape_of) for one in given)
    return not are_few(event.where.context.loops) and not builds


def converts(plan: Plan) -> bool:
    """Whether a program saves or exports a model, or its weights, for use elsewhere."""
    used = plan.referenced
    return (
        any(isinstance(event, WeightsUsed) and event.how in ("save", "save_weights") for event in plan.events)
        or not used.isdisjoint(_CONVERT)
        or ("save" in used and not used.isdisjoint(_KEEP))
    )


_CONVERT = frozenset(
    {
        *("ExportArchive", "TFLiteConverter", "TrtGraphConverterV2"),
        *("convert_variables_to_constants", "convert_variables_to_constants_v2", "export", "save_weights"),
        *("set_weights", "tf2onnx", "write_graph"),
    }
)
"""Names of functions and classes that convert or export a model."""

_KEEP = frozenset({"saved_model", "Checkpoint"})
"""Names of modules and classes whose `save` writes a model."""


def left_on(
    plan: Plan, switches: Mapping[str, str], works: Callable[[Event], bool] = may_train
) -> Iterator[LibraryCalled]:
    """Calls that switch something on for the whole run of a program that does the relevant work (by default, training).

    `switches` maps each name that switches on to the name that switches off again: another name, or the same one called
    with False. Not included: calls under a condition or with an unknown argument; calls in functions that the program
    never calls and that do no such work; calls that may be undone behind a limit of the analysis.
    """
    called = [(index, event) for index, event in enumerate(plan.events) if isinstance(event, LibraryCalled)]
    done = [index for index, event in enumerate(plan.events) if works(event)]
    numbered = [(index, event) for index, event in called if done and index <= done[-1]]
    before = [event for _, event in numbered]
    work = [plan.events[index].where for index in done]
    for index, event in numbered:
        if event.name not in switches or switched(event) is False:
            continue
        off = switches[event.name]
        same = event.name == off
        if same and switched(event) is not True:
            continue
        ends = [one for one in called if one[1].name == off and (not same or switched(one[1]) is False)]
        runs = Counter(end.site for _, end in ends if not end.where.context.loops)
        taken_back = any(
            runs[end.site] >= MAX_REPEATS  # later repeats cause no events
            or end.site == event.site
            or _may_follow(event.where, end.where, index < later)
            for later, end in ends
        )
        reached = [one.where for one in before if one.name == event.name and one.site == event.site]
        hidden = off != "" and plan.may_have_missed(off.rpartition(".")[2], seen=1 if same else 0)
        if not taken_back and not hidden and _is_certain(event.where, reached, work):
            yield event


def _may_follow(where: Where, other: Where, is_later: bool) -> bool:
    """Whether a run may get from one moment to another. `is_later`: the other one comes later in the order of
    evaluation."""
    if not together(where, other):
        return False
    loops = {loop.entry for loop in where.context.loops}
    if is_later or any(loop.entry in loops for loop in other.context.loops):
        return True
    if not (_root(where).known and _root(other).known):
        return _root(where) is not _root(other)
    entered = {caller.site: caller.definition for caller in callers(where.caller)}
    return any(  # the library calls both methods of a callback, in an order of its own
        caller.site is not None and entered.get(caller.site, caller.definition) != caller.definition
        for caller in callers(other.caller)
    )


def switched(event: LibraryCalled) -> object:
    """First argument of a call: True, False, or Ellipsis if it is unknown or missing."""
    return known(next(iter(event.arguments.all()), None))


def _is_certain(where: Where, reached: Iterable[Where], work: Iterable[Where]) -> bool:
    """Whether a site is reached in every run that does some of the work, from the program itself or from an entry point
    that does it.

    `reached` are all moments at the site. For each work, one of them must have no condition that the work does not
    have.
    """
    root = _root(where)
    if not root.known and all(_root(one) is not root for one in work):
        return False
    return all(any(_is_implied(one, done) for one in reached) for done in work)


def _is_implied(where: Where, other: Where) -> bool:
    """Whether everything that decides whether a moment is reached also holds at another moment."""
    own, others = where.context, other.context
    inside = len(others.loops) > len(own.loops)  # guards are recorded within the innermost loop only
    return (
        (inside or set(own.guards) <= set(others.guards))
        and set(own.flags) <= set(others.flags)
        and all(literal in other.path for literal in where.path if literal.condition.operator != "completes")
    )


def has_cluster(event: StrategyBuilt, plan: Plan) -> bool:
    """Whether the code gives a multi-worker strategy a cluster: it passes one, or names `TF_CONFIG` or the resolver
    that reads this variable. A launcher can set the variable for programs that do not."""
    if _passes_cluster(event):
        return True
    is_named = plan.mentions("TF_CONFIG") or plan.mentions("TFConfigClusterResolver")
    return is_named and cluster_set_later(event, plan) is None


def _passes_cluster(event: StrategyBuilt) -> bool:
    given = event.arguments.get("cluster_resolver", 0)
    if given is not None and "Communication" in symbol_of(given).origin:  # first in the experimental class
        given = event.arguments.get("cluster_resolver", 1)
    return event.arguments.open or (given is not None and known(given) is not None)


def cluster_set_later(event: StrategyBuilt, plan: Plan) -> EnvironmentSet | None:
    """Where the program first sets `TF_CONFIG`, if it does so only after it created a multi-worker strategy, which has
    read the variable by then, and does not read the variable itself."""
    places = [one for one in plan.events if isinstance(one, EnvironmentSet) and one.key == "TF_CONFIG"]
    if not places or _passes_cluster(event) or plan.mentions("TFConfigClusterResolver"):
        return None
    of_strategy = plan.events.index(event)
    if any(plan.events.index(one) < of_strategy for one in places):
        return None
    named = sum(len(_TF_CONFIG_NAMED.findall(plan.code_of(text))) for text in plan.texts())
    if named > len({one.site for one in places}):
        return None
    return next((one for one in places if is_run_by_program(one.where) and together(one.where, event.where)), None)


_TF_CONFIG_NAMED = re.compile(r"""(?<!\bpop\()(?<!\bdel os\.environ\[)["']TF_CONFIG["']""")
"""Where code sets or reads the variable, rather than removes it."""


def is_run_by_program(where: Where) -> bool:
    """Whether the program itself reaches a moment, rather than only an unknown caller."""
    return _root(where).known


def _root(where: Where) -> Caller:
    *_, outermost = callers(where.caller)
    return outermost


def confidence(where: Where, *others: Where) -> Confidence:
    """`HIGH` if all moments are in one function call and under no condition, else `INFERRED`."""
    same_function = all(other.caller is where.caller for other in others)
    if same_function and not where.path and not any(other.path for other in others):
        return Confidence.HIGH
    return Confidence.INFERRED


def blamed(made: Object, strategy: Strategy | None = None) -> Site:
    """The call to change if `made` was created in the wrong place.

    This is the call in the innermost function that could see a strategy when it was called; failing that, the call in
    the function from which both this object and `strategy` were created; failing that, the constructor.
    """
    if made.blame is not None:
        return made.blame
    if strategy is not None:
        shared = {id(caller) for caller in callers(strategy.where.caller)}
        place = made.site
        for caller in callers(made.where.caller):
            if id(caller) in shared:
                return place
            if caller.site is not None:
                place = caller.site
    return made.site


def chain(where: Where, stop: Site | None = None, loop: Loop | None = None) -> tuple[tuple[Site, str], ...]:
    """Calls that led to a moment, innermost first, as related locations of a finding; with `loop`, those in it."""
    found: list[tuple[Site, str]] = []
    for caller in callers(where.caller):
        if caller.site in (None, stop, caller.definition) or len(found) == MAX_CHAIN:  # an entry point has no caller
            break
        if loop is not None and all(one.site != loop.site for one in where.context.loops[: caller.loops]):
            break
        found.append((caller.site, f"`{caller.function}` is called here"))
    return tuple(found)


MAX_CHAIN = 4
"""Maximum number of calls in a chain that a finding shows."""


def way(event: Event) -> tuple[Site, ...]:
    """Site of an event and the calls that lead there, innermost first."""
    return (event.site, *(caller.site for caller in callers(event.where.caller) if caller.site is not None))


def makers(plan: Plan) -> frozenset[Site]:
    """Sites where models, layers, optimizers, metrics and variables are created, and the calls that lead there."""
    kinds = (ModelBuilt, LayerBuilt, OptimizerBuilt, MetricBuilt, VariableBuilt)
    return frozenset(site for event in plan.events if isinstance(event, kinds) for site in way(event))


def way_to_start(plan: Plan, since: Site) -> tuple[Site, ...]:
    """Site at which the runtime is initialised, and the calls that lead there."""
    started = (event for event in plan.events if isinstance(event, RuntimeInitialised) and event.site == since)
    return next((way(event) for event in started), (since,))


def has_other_backend(plan: Plan) -> bool:
    """Whether a program configures Keras with a backend other than TensorFlow."""
    chosen = [event for event in plan.events if isinstance(event, EnvironmentSet) and event.key == "KERAS_BACKEND"]
    return any(isinstance(one.value, Constant) and one.value.value != "tensorflow" for one in chosen)


def is_test(path: str) -> bool:
    """Whether a file is a test: by its name, or by a part of its name in a test directory."""
    directory, _, name = path.replace("\\", "/").rpartition("/")
    if name.startswith("test_") or name.endswith("_test.py"):
        return True
    return directory.rpartition("/")[2] in ("test", "tests") and "test" in name.lower()


def computes_in(policy: Value, dtype: str) -> bool:
    """Whether layers with a dtype policy compute in a dtype: those with `mixed_float16` and `float16` compute in
    float16."""
    return isinstance(policy, Constant) and policy.value in (dtype, f"mixed_{dtype}")


def waits_for_person(where: Where, loop: Loop, awaited: Iterable[PersonAwaited]) -> bool:
    """Whether the iterations of a loop that reach a moment also wait for a person, as they do at `awaited`."""
    return any(
        loop.site in {around.site for around in one.where.context.loops} and one.where.path <= where.path
        for one in awaited
    )
