"""Calling things: functions of the program, classes, wrapped functions, library names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpulint.analysis import (
    access,
    annotated,
    datasets,
    gradients,
    host,
    library,
    members,
    methods,
    options,
    removed,
    searches,
    tensors,
    training,
)
from gpulint.analysis.contexts import Caller, Context
from gpulint.analysis.control import NORMAL, Exhausted, Halts
from gpulint.analysis.effects import again, within
from gpulint.analysis.events import FunctionEntered, FunctionHandedOver, FunctionTraced, TracedCalled, UnknownFitted
from gpulint.analysis.nesting import leaves, leaves_on, rebuilt
from gpulint.analysis.paths import EVERYWHERE, compatible
from gpulint.analysis.repeats import MAX_FORMULA_RUNS, MAX_IDLE_RUNS, MAX_REPEATS, History, Run
from gpulint.analysis.rounds import differ_in_numbers
from gpulint.analysis.state import common_path, in_turn, join
from gpulint.analysis.symbols import Symbol, symbol
from gpulint.analysis.values import (
    NONE,
    Arguments,
    Bound,
    Constant,
    ContextManagerFunction,
    Descriptor,
    External,
    Function,
    Instance,
    Items,
    Join,
    Layer,
    Manager,
    Mapping,
    Model,
    Object,
    Partial,
    Tape,
    Tensor,
    Text,
    Traced,
    Unknown,
    UserClass,
    Value,
    function_of,
    known,
    symbol_of,
)
from gpulint.knowledge import telling_words
from gpulint.places import Site
from gpulint.syntax import ir
from gpulint.syntax.endless import is_endless

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Frame, Interpreter

_OTHER_LEARNERS = frozenset(
    {"catboost", "category_encoders", "imblearn", "lightgbm", "scipy", "sklearn", "statsmodels", "umap", "xgboost"}
)
"""Packages whose `fit` trains no Keras model."""

MAX_DEPTH = 12
"""Calls inside calls; a deeper one gives Unknown."""

MAX_RECURSION = 2
"""Activations of one function at the same time."""


def call(interp: Interpreter, function: Value, arguments: Arguments, site: Site) -> Value:
    """What calling a value that is no join gives. Raises Halts where no path returns."""
    if isinstance(function, Constant):
        raise Halts
    if isinstance(function, External):
        removed.called(interp, function.name, function.package, site)
        removed.passed(interp, function, arguments, site)
        if function.is_private:
            return _call_private(interp, function.name, arguments, site)
        return library.call(interp, function.name, arguments, site)
    if isinstance(function, Function):
        interp.emit(FunctionEntered(site, interp.where(), function, arguments.positional))
        host.passed(interp, function.name, arguments, site)
        return call_function(interp, function, arguments, site)
    if isinstance(function, Bound):
        if isinstance(function.method, str):
            return methods.call(interp, function.receiver, function.method, arguments, site)
        if isinstance(function.receiver, Model) and members.is_first_call(function.receiver, function.method):
            members.called(interp, function.receiver, "call", arguments, site)
        return call_method(interp, function.receiver, function.method, arguments, site)
    if isinstance(function, Traced):
        return call_traced(interp, function, arguments, site)
    if isinstance(function, UserClass):
        return members.instantiate(interp, function, arguments, site)
    if isinstance(function, Object):
        return members.call_object(interp, function, arguments, site)
    if isinstance(function, Partial):
        return interp.each(
            function.function,
            lambda inner: call(interp, inner, merged(function.arguments, arguments), site),
            site,
        )
    if isinstance(function, ContextManagerFunction):
        return Manager("generator", site, (function.function, arguments))
    for value in arguments.all():
        members.escaped(interp, value, "passed", site)
        if (given := function_of(value)) is not None:
            interp.emit(FunctionHandedOver(site, interp.where(), given))
    called = symbol_of(function)
    method = called.parts[-1] if called.parts[0] == "attribute" else ""
    host.passed(interp, method, arguments, site, _last_name(called.parts[1]) if method else "")
    if method == "add_argument":
        options.added(interp, arguments)
    if method:
        removed.unknown_method(interp, called, method, site)
        removed.property_called(interp, called, site)
        searches.method_called(interp, symbol(called.parts[1]), method, arguments, site)
        _logged(interp, symbol(called.parts[1]), method, arguments, site)
        if method in _OF_DISTRIBUTIONS and _is_made_by(symbol(called.parts[1]), "tensorflow_probability."):
            return Tensor(site)
        if method == "numpy" and isinstance(number := tensors.as_number(Unknown(called.parts[1])), Tensor):
            return tensors.method(interp, number, method, site)
        if method == "numpy" and tensors.is_weight(symbol(called.parts[1])):
            host.read(interp, Tensor(site), method, site)
            return host.fetched(site, method)
        if method in training.WEIGHTS and tensors.is_layer(symbol(called.parts[1])):
            layer = Layer(site, interp.where(), "tensorflow.keras.layers.Layer")
            training.weights_used(interp, layer, method, arguments, site)
    if method == "apply_gradients":
        _applied(interp, called, arguments, site)
    model = _compiled(interp, called, method, arguments, site)
    if model is not None:
        return methods.call(interp, model, method, arguments, site)
    if method == "fit" and called.package not in _OTHER_LEARNERS:
        interp.emit(UnknownFitted(site, interp.where()))
        datasets.consumed(interp, interp.choose(arguments.get("x", 0) or NONE), "fit", site, None)
    return Unknown(("call", called, tuple(symbol_of(value) for value in arguments.all())))


def _call_private(interp: Interpreter, name: str, arguments: Arguments, site: Site) -> Value:
    """Call a name of TensorFlow's private copy of Keras 2: what it makes has what is gone elsewhere."""
    outer, interp.is_private = interp.is_private, True
    try:
        made = library.call(interp, name, arguments, site)
    finally:
        interp.is_private = outer
    if isinstance(made, Object) and made.site == site:
        made.is_private = True
    return made


def _logged(interp: Interpreter, owner: Symbol, method: str, arguments: Arguments, site: Site) -> None:
    """A logger prints what it is given, tensors by their values."""
    if method in _PRINTS and _is_made_by(owner, "logging.getLogger"):
        for value in arguments.all():
            tensors.read_at(interp, value, "print", site)


_PRINTS = frozenset({"critical", "error", "exception", "info", "log", "warning"})

_OF_DISTRIBUTIONS = frozenset(
    {"cdf", "cross_entropy", "entropy", "kl_divergence", "log_cdf", "log_prob", "mean", "mode", "prob", "quantile"}
    | {"sample", "stddev", "variance"}
)
"""Methods of distributions of TensorFlow Probability that give tensors."""


def _is_made_by(owner: Symbol, name: str) -> bool:
    """Whether a value is what calling a library function gave whose name begins like this."""
    called = symbol(owner.parts[1]) if owner.parts[0] == "call" else owner
    return called.parts[0] == "external" and str(called.parts[1]).startswith(name)


def _applied(interp: Interpreter, called: Symbol, arguments: Arguments, site: Site) -> None:
    """Something unknown applies gradients: an optimizer, if a tape of the program took them."""
    if gradients.given(interp, arguments.get("grads_and_vars", 0)):
        optimizer = interp.optimizers.setdefault(called, annotated.optimizer(interp, site))
        training.optimizer_method(interp, optimizer, "apply_gradients", arguments, site)


def _compiled(interp: Interpreter, called: Symbol, method: str, arguments: Arguments, site: Site) -> Model | None:
    """The model that something unknown is which is compiled as only Keras's are, here or before."""
    if method not in _OF_MODELS:
        return None
    owner = symbol(called.parts[1])
    given = arguments.keywords.keys()
    is_keras = method == "compile" and ("run_eagerly" in given or {"optimizer", "loss"} <= given)
    if is_keras and any(word.startswith("torch.") for value in arguments.all() for word in symbol_of(value).words):
        return None
    if is_keras and owner not in interp.models:
        interp.models[owner] = annotated.model(interp, site)
    return interp.models.get(owner)


_OF_MODELS = frozenset({"compile", "evaluate", "fit", "predict", "predict_on_batch", "save", "train_on_batch"})


def merged(first: Arguments, second: Arguments) -> Arguments:
    """The arguments of a partial, then those of the call."""
    return Arguments(
        first.positional + second.positional,
        {**first.keywords, **second.keywords},
        first.open or second.open,
        second.sites,
    )


def _last_name(name: object) -> str:
    """What a value is called, by its symbol: `logger` of `self.logger` and of a parameter."""
    last = name.parts[-1] if isinstance(name, Symbol) and name.parts[0] in ("attribute", "field", "parameter") else ""
    return last if isinstance(last, str) else ""


def call_method(interp: Interpreter, receiver: Value, method: Value, arguments: Arguments, site: Site) -> Value:
    """Call a function of a class with its receiver first."""
    if isinstance(method, Traced):
        return call_traced(interp, method, arguments, site, receiver)
    if isinstance(method, Function):
        interp.emit(FunctionEntered(site, interp.where(), method, arguments.positional))
        owner = method.owner.name if method.owner is not None else ""
        host.passed(interp, method.name, arguments, site, owner)
        return call_function(interp, method, with_receiver(receiver, arguments), site, receiver)
    return call(interp, method, with_receiver(receiver, arguments), site)


def handed_on(interp: Interpreter, args: Value | None, kwargs: Value | None) -> Arguments:
    """What a function is called with that something else is given with its `args` and `kwargs`."""
    positional = interp.choose(args or Items("tuple", ()))
    named = interp.choose(kwargs or Mapping({}, True, None))
    values = positional.items if isinstance(positional, Items) else None
    keywords = named.entries if isinstance(named, Mapping) else {}
    return Arguments(
        tuple(interp.choose(value) for value in values or ()),
        {str(key): interp.choose(value) for key, value in keywords.items()},
        values is None,
    )


def with_receiver(receiver: Value, arguments: Arguments) -> Arguments:
    sites: dict[Any, Site] = {key + 1 if isinstance(key, int) else key: site for key, site in arguments.sites.items()}
    return arguments._replace(positional=(receiver, *arguments.positional), sites=sites)


def call_traced(
    interp: Interpreter, function: Traced, arguments: Arguments, site: Site, receiver: Value | None = None
) -> Value:
    """Call a `tf.function`: its body is traced, not run eagerly."""
    if interp.context.traced is None:
        interp.emit(
            TracedCalled(
                site,
                interp.where(),
                function.function,
                function.jit,
                function.site,
                arguments,
                function.has_signature,
            )
        )
    before = interp.context
    interp.context = inside(before, function)
    inner = function.function
    if receiver is not None:
        result = call_method(interp, receiver, inner, arguments, site)
    else:
        result = interp.call(inner, arguments, site)
    interp.context = interp.context._replace(traced=before.traced, jitted=before.jitted)
    return compiled(tensors.given(result, site, arguments.all())) if before.traced is None else result


def inside(context: Context, function: Traced) -> Context:
    """The context inside a `tf.function` that is called in this one."""
    return context._replace(
        traced=function.site, jitted=function.site if known(function.jit) is True else context.jitted
    )


def compiled(value: Value) -> Value:
    """What a `tf.function` gives, as eager code has it."""
    for one in leaves_on(EVERYWHERE, value):
        if isinstance(one, Tensor):
            one.compiled = True
    return value


def _is_chosen(result: Value, arguments: Arguments) -> bool:
    """Whether a result was one of several, perhaps by arguments that are not known: others choose for themselves."""
    return type(result) is Join and any(type(value) is Unknown for value in arguments.all())


def _identity(interp: Interpreter, function: Function) -> tuple[int, ...]:
    """What tells a function from others: what a decorator puts in place of a function is another one for each."""
    around = function.closure[0] if function.closure else {}
    read = interp.words_of(function.definition) if around else frozenset()
    given = (value.definition for name, value in around.items() if name in read and isinstance(value, Function))
    return id(function.definition), *map(id, given)


def call_function(
    interp: Interpreter,
    function: Function,
    arguments: Arguments,
    site: Site,
    receiver: Value | None = None,
    on_yield: Callable[[Value], None] | None = None,
) -> Value:
    """Run a function's body with these arguments, in the caller's context, and join its results."""
    definition = function.definition
    identity = _identity(interp, function)
    passed = _keys(arguments)
    unknown = Unknown(("call", (function.module.path, definition.number), passed))
    caller = interp.frame.caller
    if interp.frame.module.graph_mode and caller.depth >= 1:
        return unknown
    if caller.depth >= MAX_DEPTH or interp.active.count(identity) >= MAX_RECURSION:
        interp.plan.reached("call depth", site)
        interp.plan.is_complete = interp.plan.is_complete and caller.depth < MAX_DEPTH
        return unknown
    key = (identity, passed, () if function.memoized else _context_key(interp))
    earlier = [run for run in interp.executions.setdefault(key, []) if compatible(run.path, interp.path)]
    history = interp.histories[identity]
    again = on_yield is not None or (history.runs < MAX_FORMULA_RUNS and interp.is_formula(definition))
    if not again:
        is_known = len(earlier) >= (1 if function.memoized else MAX_REPEATS)
        if is_known and not function.memoized and len(earlier) == MAX_REPEATS:
            is_known = any(run.turn == _turn(interp) for run in earlier)
        if is_known and not function.memoized and history.makes and history.may_go_on:
            is_known = not _is_chosen(earlier[-1].result, arguments)
        if not is_known and not earlier and not history.may_go_on:
            interp.plan.reached("runs of one function", site)
        if is_known or not history.may_go_on or history.is_settled:
            return _as_before(interp, history.alike(earlier)) or unknown
        if _is_idle(interp, history, function, arguments):
            return earlier[-1].result if earlier else unknown
    interp.entered.add(id(definition))
    definition_site = Site(function.module.path, definition.number)
    is_borrowed = function.module.path != interp.plan.path and (caller.known or caller.depth > 0)
    if is_borrowed:
        interp.plan.borrowed.add(definition_site)
    history.runs += 1
    base = interp.path
    noted, happened, effects, operations = interp.noted, interp.happened, len(interp.effects), interp.operations
    frame = interp.frame_for(
        function,
        Caller(
            site,
            function.name,
            caller,
            caller.known,
            caller.depth + 1,
            len(interp.context.loops),
            definition_site,
        ),
        receiver,
    )
    frame.on_yield = on_yield
    before = interp.context
    if function.opaque:
        interp.context = before._replace(maybe_traced=True, decorated=definition_site)
    if function.memoized:
        interp.context = interp.context._replace(loops=())
    bind(frame.locals, function, arguments, symbol_of(unknown), interp)
    interp.active.append(identity)
    steps, depth = interp.steps, len(interp.active)
    try:
        result = run_frame(interp, frame, definition)
        if type(result) is Unknown and isinstance(definition, ir.FunctionDef):
            result = annotated.value(interp, definition.returns, function.module, site) or result
    finally:
        del interp.active[depth - 1 :]
        history.steps += interp.steps - steps
        if function.opaque:
            interp.context = interp.context._replace(maybe_traced=before.maybe_traced, decorated=before.decorated)
        if function.memoized:
            interp.context = interp.context._replace(loops=before.loops)
    if is_borrowed and not frame.is_given_up:
        interp.plan.followed.add(definition_site)
    did = within(interp.effects[effects:], base)
    run = Run(interp.path, result, did, interp.operations - operations, _turn(interp))
    interp.executions[key].append(run)
    is_plain = all(isinstance(leaf, _PLAIN) for leaf in leaves_on(interp.path, result))
    history.idle += interp.noted == noted and isinstance(result, _PLAIN)
    history.makes |= not is_plain or any(isinstance(value, (Function, UserClass)) for value in arguments.all())
    history.computes &= is_plain and interp.happened == happened
    history.last = run
    return result


def _turn(interp: Interpreter) -> int:
    """The round of the loop around one whose rounds are gone through one by one: those alone would use up the runs that
    all rounds of the outer one have."""
    loops = interp.context.loops
    if not loops or not loops[-1].unrolled:
        return 0
    return next((loop.turn for loop in reversed(loops) if not loop.unrolled), 0)


def _as_before(interp: Interpreter, run: Run | None) -> Value | None:
    """What a function gave in an earlier run; its operations happen again."""
    if run is None:
        return None
    interp.effects += again(run.effects, interp.path)
    interp.operations += run.operations
    return run.result


def _is_idle(interp: Interpreter, history: History, function: Function, arguments: Arguments) -> bool:
    """Whether running a function is of no use: its body names nothing that is tracked, its last runs did nothing of
    note, and it is given nothing that could change that. Constructors are always run."""
    definition = function.definition
    return (
        history.idle >= MAX_IDLE_RUNS
        and not (isinstance(definition, ir.FunctionDef) and definition.name == "__init__")
        and interp.words_of(definition).isdisjoint(telling_words())
        and all(isinstance(value, _PLAIN) or type(value) is Instance for value in arguments.all())
        and not any(isinstance(leaf, Tensor) for value in arguments.all() for leaf in leaves(value))
    )


_PLAIN = (Unknown, Constant, Text, Tensor, Items, Mapping)
"""Values that make no function do anything of note."""


def run_frame(interp: Interpreter, frame: Frame, definition: ir.FunctionDef | ir.Lambda) -> Value:
    """Run a body in a new frame; its changes to the rest of the world stay. Raises Halts if no path returns."""
    outer, base, context = interp.frame, interp.path, interp.context
    loops, interp.loops = interp.loops, []
    interp.frame = frame
    frame.mark = interp.state.mark()
    frame.path = base
    frame.branches = interp.branches
    started, depth = interp.steps, len(interp.active)
    interp.started.append(started)
    try:
        if isinstance(definition, ir.Lambda):
            interp.leave(interp.choose(interp.evaluate(definition.body)))
        elif interp.execute(definition.body) == NORMAL:
            interp.settle()
            interp.leave(NONE)
    except Halts:
        pass
    except Exhausted:
        if not interp.goes_on(interp.steps - started, frame.caller.site):
            raise
        interp.state.take_back(frame.mark)
        interp.path, interp.context, interp.branches, interp.diverged = base, context, frame.branches, []
        del interp.active[depth:]
        frame.is_given_up = True
        return Unknown(("result", frame.caller.site, id(definition)))
    finally:
        interp.frame, interp.loops = outer, loops
        interp.started.pop()
    if frame.returns_here:
        ((outcome, value, left),) = frame.exits
        interp.path = outcome.path
        interp.context = _after(interp, frame, context, left)
        return _result(frame, definition, value)
    interp.state.take_back(frame.mark)
    interp.path, interp.context = base, context
    if not frame.exits:
        raise Halts
    outcomes = in_turn([outcome for outcome, _, _ in frame.exits], base)
    interp.path = common_path(outcomes)
    contexts = [_after(interp, frame, context, left) for _, _, left in frame.exits]
    if any(one != contexts[0] for one in contexts):
        interp.diverged = list(zip(outcomes, contexts, strict=True))
    else:
        interp.state.join(outcomes, base)
        interp.context = contexts[0]
    symbol = ("result", frame.caller.site, id(definition))
    values = [value for _, value, _ in frame.exits]
    value = join([(outcome.path - base, value) for outcome, value in zip(outcomes, values, strict=True)], symbol)
    return _result(frame, definition, value if isinstance(value, Value) else Unknown(symbol))


def _after(interp: Interpreter, frame: Frame, before: Context, end: Context) -> Context:
    """The context after a call: as before, unless the function entered something by hand and left it open."""
    if not frame.enters:
        return before
    interp.frame.enters = True
    return before._replace(scopes=end.scopes, devices=end.devices)


def _result(frame: Frame, definition: ir.FunctionDef | ir.Lambda, value: Value) -> Value:
    """What a call gives for what its body returned: a generator gives what it yields."""
    if isinstance(definition, ir.FunctionDef) and definition.is_generator:
        symbol = ("result", frame.caller.site, id(definition))
        generator = Items("generator", None, _yielded(frame, symbol), symbol, frame.goes_over)
        generator.is_endless = is_endless(definition)
        return generator
    return value


def _yielded(frame: Frame, symbol: Any) -> Value | None:
    """What stands for all that a generator yields: the first of them where they are alike."""
    if not frame.yielded:
        return None
    first = frame.yielded[0][1]
    if any(differ_in_numbers(symbol_of(first), symbol_of(value)) for _, value in frame.yielded):
        return Unknown(("index", symbol))
    if isinstance(first, Constant) or any(_shape(value) != _shape(first) for _, value in frame.yielded):
        joined = join(frame.yielded, symbol)
        return joined if isinstance(joined, Value) else None
    return first


def _shape(value: Value) -> Symbol:
    """The kinds of values that stand in a value, as they stand there."""

    def made(items: Items, parts: tuple[Value, ...]) -> Value:
        return Unknown((items.kind, *(symbol_of(part) for part in parts)))

    return symbol_of(rebuilt(value, lambda one: Unknown(type(one)), made))


def of_those_that_fit(function: Join, arguments: Arguments) -> Value:
    """Of many functions and classes, those that can be called with these arguments, if any can."""
    if len(function.alternatives) <= MAX_TRIED:
        return function
    fitting = tuple(one for one in function.alternatives if _fits(one[1], arguments))
    return Join(fitting) if len(fitting) > 1 else fitting[0][1] if fitting else function


MAX_TRIED = 8
"""Functions of which one is called: so many are tried without a look at what they take."""


def _fits(function: Value, arguments: Arguments) -> bool:
    given = len(arguments.positional)
    if isinstance(function, UserClass):
        constructor = function.find("__init__")
        function = constructor[0] if constructor is not None else NONE
        given += 1
    if not isinstance(function, Function) or function.opaque:
        return True
    parameters = function.definition.parameters
    kinds = {one.kind for one in parameters}
    names = [one.name for one in parameters if one.kind not in ("*", "**")]
    needed = [name for name in names[given:] if name not in function.defaults and name not in arguments.keywords]
    return (
        ("**" in kinds or arguments.keywords.keys() <= set(names))
        and ("*" in kinds or given <= len(names))
        and (arguments.open or function.injected or not needed)
    )


def bind(names: dict[str, Value], function: Function, arguments: Arguments, symbol: Any, interp: Interpreter) -> None:
    """Give a call's arguments to the parameters; what is missing is its default, or Unknown."""
    positional = list(arguments.positional)
    rest = dict(arguments.keywords)
    for parameter in function.definition.parameters:
        name = parameter.name
        value: Value | None = None
        if parameter.kind == "positional" and positional:
            value = positional.pop(0)
        elif parameter.kind == "*":
            value = Items("tuple", None, None, (symbol, name)) if arguments.open else Items("tuple", tuple(positional))
            positional = []
        elif parameter.kind == "**":
            value = Mapping(dict(rest), not arguments.open, (symbol, name))
            value.given = {key: (rest[key], site) for key, site in arguments.written.items() if key in rest}
            rest = {}
        elif name in rest:
            value = rest.pop(name)
        if value is None:
            value = function.defaults.get(name) if not arguments.open else None
            if function.injected and not isinstance(value, (External, Function, Traced, UserClass)):
                value = None  # what is configured is mostly a number, or a name
            if type(value) is Constant and type(value.value) is str:
                value = Constant(value.value, value.origin, value.named, True)
            if value is None:
                made = Site(function.module.path, parameter.number)
                value = annotated.parameter(interp, parameter.annotation, function.module, made)
            if value is None:
                value = Unknown(("parameter", symbol, name))
        if type(value) is Constant and type(value.value) is int:
            value = value.through(name)
            value.is_passed = name not in function.defaults or value.origin != _origin(function.defaults[name])
        if isinstance(value, Tape):
            value.is_persistent = False
        names[name] = value


def _origin(value: Value) -> Site | None:
    return value.origin if isinstance(value, Constant) else None


def _keys(arguments: Arguments) -> Any:
    return (
        tuple(_key(value) for value in arguments.positional),
        tuple((name, _key(value)) for name, value in arguments.keywords.items()),
    )


def _key(value: Value) -> Any:
    """What of an argument can change what a function does: the content of constants, the identity of objects."""
    if isinstance(value, Unknown):
        return "?"
    if isinstance(value, Tensor):
        return ("tensor", value.site, value.device, value.reduced)
    return symbol_of(value)


def _context_key(interp: Interpreter) -> Any:
    context = interp.context
    return (
        context.devices,
        tuple(scope.strategy.serial for scope in context.scopes),
        context.replica,
        context.traced,
        context.jitted,
        tuple(loop.site for loop in context.loops),
        bool(context.guards),
    )


def trace(interp: Interpreter, function: Value, jit: Value, site: Site, has_signature: bool = False) -> Value:
    """`tf.function(function, jit_compile=jit)`."""
    interp.emit(FunctionTraced(site, interp.where(), function, jit))
    return Traced(function, site, jit, has_signature)


def define_class(interp: Interpreter, node: ir.ClassDef) -> UserClass:
    """Run a class body and make the class."""
    from gpulint.analysis.interpreter import Frame

    bases = tuple(interp.choose(interp.evaluate(base)) for base in node.bases)
    for keyword in node.keywords:
        interp.evaluate(keyword.value)
    outer = interp.frame
    namespace: dict[str, Any] = {}
    cls = UserClass(node, outer.module, bases, namespace)
    frame = Frame(outer.module, namespace, access.enclosing(interp), outer.caller, outer, node)
    interp.frame = frame
    try:
        interp.execute(node.body)
    finally:
        interp.frame = outer
    for value in namespace.values():
        function = value.function if isinstance(value, (Descriptor, Traced)) else value
        if isinstance(function, Function) and function.owner is None:
            function.owner = cls
    return cls
