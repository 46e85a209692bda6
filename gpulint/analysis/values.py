"""What an expression can stand for, abstractly.

Plain values compare by content, objects by identity. An object's attributes, and everything that changes,
live in dicts that only `State` writes, so that branches can be tried and joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from gpulint.analysis.contexts import NOWHERE, DeviceScope, Loop, Where
from gpulint.analysis.names import words
from gpulint.analysis.paths import EVERYWHERE, Path
from gpulint.analysis.symbols import Symbol, symbol
from gpulint.knowledge.devices import DeviceName
from gpulint.knowledge.names import PRIVATE
from gpulint.places import Site
from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.analysis.modules import ModuleScope


_SERIALS = count(1)


class Value:
    """Base of all abstract values."""

    __slots__ = ("_serial",)

    is_its_copy: ClassVar[bool] = False
    """Whether `list()` of it is represented by itself."""

    is_plain: ClassVar[bool] = False
    """Whether a function that is given nothing else does nothing of note."""

    @property
    def call_key(self) -> tuple[Any, ...] | None:
        """What tells arguments of one kind apart where their symbols say too much; None for the symbol."""
        return None

    @property
    def serial(self) -> int:
        """A number that no other value has or will have, unlike `id`, which the next one may get."""
        try:
            return self._serial
        except AttributeError:
            self._serial: int = next(_SERIALS)
            return self._serial


class Unknown(Value):
    """Anything. `symbol` names it, so that two tests of it agree."""

    __slots__ = ("symbol",)

    is_plain = True

    def __init__(self, name: Any) -> None:
        self.symbol = symbol(name)


class Constant(Value):
    """A value of a builtin type that the source spells out.

    `named` are the variables and parameters that it went through; `origin` is where the literal stands;
    `is_default` says that it is the default of a parameter, which callers can override; `is_passed` that a caller
    gave it as an argument.
    """

    __slots__ = ("_symbol", "is_default", "is_passed", "named", "origin", "value")

    is_plain = True

    def __init__(
        self,
        value: object,
        origin: Site | None = None,
        named: tuple[str, ...] = (),
        is_default: bool = False,
    ) -> None:
        self.value = value
        self.origin = origin
        self.named = named
        self.is_default = is_default
        self.is_passed = False
        self._symbol: Symbol | None = None

    def through(self, name: str) -> Constant:
        """It, after it went through one more variable, parameter, attribute or key."""
        passed_on = Constant(self.value, self.origin, (*self.named[:7], name))
        passed_on.is_passed = self.is_passed
        return passed_on

    @property
    def symbol(self) -> Symbol:
        if self._symbol is None:
            self._symbol = symbol(("constant", type(self.value).__name__, self.value))
        return self._symbol


NONE = Constant(None)
TRUE = Constant(True)
FALSE = Constant(False)


class Text(Value):
    """A string of which only some parts are known (an f-string, a concatenation): None for the others, and for a string
    of more than MAX_PARTS."""

    __slots__ = ("parts", "symbol")

    is_plain = True

    def __init__(self, parts: tuple[str | None, ...], name: Any) -> None:
        self.parts = parts if len(parts) <= MAX_PARTS else (None,)
        self.symbol = symbol(name)


MAX_PARTS = 100
"""Most parts of a string that are kept."""


class Join(Value):
    """One of several values, each with the path on which it is the one."""

    __slots__ = ("alternatives", "chosen")

    def __init__(self, alternatives: tuple[tuple[Path, Value], ...]) -> None:
        self.alternatives = alternatives
        self.chosen: dict[Path, Value | None] = {}
        """What of it is possible on paths that were asked for, None for all of it."""


class External(Value):
    """A name of a library, by its canonical dotted name: a module, class, function or constant. `package` is the one
    that the program had it from (Keras stands under TensorFlow, whichever it is imported from)."""

    __slots__ = ("name", "package", "symbol")

    def __init__(self, name: str, package: str = "") -> None:
        self.name = name
        self.package = package or name.partition(".")[0]
        self.symbol = symbol(("external", name))

    @property
    def is_private(self) -> bool:
        """Whether it is of TensorFlow's private copy of Keras 2."""
        return self.package == PRIVATE and self.name.startswith("tensorflow.keras.")


class ModuleValue(Value):
    """A module of the project."""

    __slots__ = ("scope",)

    def __init__(self, scope: ModuleScope) -> None:
        self.scope = scope


class Folder(Value):
    """A package of the project that is a folder without a file of its own, by its dotted name."""

    __slots__ = ("dotted", "symbol")

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted
        self.symbol = symbol(("external", dotted))


class Namespace(Value):
    """The names of a module of the project as a dict: `globals()`, `vars(module)`."""

    __slots__ = ("scope", "symbol")

    def __init__(self, scope: ModuleScope) -> None:
        self.scope = scope
        self.symbol = symbol(("namespace", scope.path))


class Function(Value):
    """A function of the program with the scopes it closes over, innermost first."""

    __slots__ = ("closure", "defaults", "definition", "injected", "memoized", "module", "name", "opaque", "owner")

    def __init__(
        self,
        definition: ir.FunctionDef | ir.Lambda,
        module: ModuleScope,
        closure: tuple[dict[str, Value], ...],
        defaults: dict[str, Value],
        owner: UserClass | None = None,
    ) -> None:
        self.definition = definition
        self.module = module
        self.closure = closure
        self.defaults = defaults
        self.owner = owner
        self.opaque = False
        """Behind a decorator that gpulint does not know (it may trace)."""
        self.memoized = False
        """Behind `functools.cache` or its like: it runs once for the same arguments."""
        self.injected = False
        """Arguments that nobody writes are given by a library (gin, sacred)."""
        self.name = definition.name if isinstance(definition, ir.FunctionDef) else "<lambda>"

    def behind(self, opaque: bool = False, memoized: bool = False, injected: bool = False) -> Function:
        """It, behind one more decorator."""
        decorated = Function(self.definition, self.module, self.closure, self.defaults, self.owner)
        decorated.opaque, decorated.memoized = self.opaque or opaque, self.memoized or memoized
        decorated.injected = self.injected or injected
        return decorated


class Traced(Value):
    """A function wrapped in `tf.function`; `site` is where."""

    __slots__ = ("function", "has_signature", "jit", "site")

    def __init__(self, function: Value, site: Site, jit: Value, has_signature: bool = False) -> None:
        self.function = function
        self.site = site
        self.jit = jit
        self.has_signature = has_signature
        """It has an `input_signature`, so that it is traced once."""


class ContextManagerFunction(Value):
    """A generator function decorated with `contextlib.contextmanager`."""

    __slots__ = ("function",)

    def __init__(self, function: Value) -> None:
        self.function = function


class Partial(Value):
    """`functools.partial(function, …)`."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: Value, arguments: Arguments) -> None:
        self.function = function
        self.arguments = arguments


class Factory(Value):
    """What makes the default of a field for each instance: `dataclasses.field(default_factory=function)`."""

    __slots__ = ("function",)

    def __init__(self, function: Value) -> None:
        self.function = function


class Bound(Value):
    """A method of something: a `Function` of a user class, or the name of a library or builtin method."""

    __slots__ = ("method", "receiver")

    def __init__(self, receiver: Value, method: Value | str) -> None:
        self.receiver = receiver
        self.method = method


class UserClass(Value):
    """A class of the program. `bases` are values; `namespace` holds what its body bound."""

    __slots__ = ("_lineage", "bases", "definition", "module", "name", "namespace")

    def __init__(
        self,
        definition: ir.ClassDef,
        module: ModuleScope,
        bases: tuple[Value, ...],
        namespace: dict[str, Value],
    ) -> None:
        self.definition = definition
        self.module = module
        self.bases = bases
        self.namespace = namespace
        self.name = definition.name
        self._lineage: tuple[Value, ...] | None = None

    @property
    def lineage(self) -> tuple[Value, ...]:
        """It and its bases at any remove, each once, in the order in which Python asks them: a class before its bases,
        the bases from the left. They are followed through MAX_CLASS_DEPTH classes."""
        if self._lineage is None:
            seen: set[int] = set()
            done: list[Value] = []
            pending: list[tuple[Value, int, bool]] = [(self, 0, False)]
            while pending:
                one, depth, is_done = pending.pop()
                if is_done:
                    done.append(one)
                elif id(one) not in seen:
                    seen.add(id(one))
                    pending.append((one, depth, True))
                    if isinstance(one, UserClass) and depth < MAX_CLASS_DEPTH:
                        pending += [(base, depth + 1, False) for base in one.bases]
            self._lineage = tuple(reversed(done))
        return self._lineage

    def find(self, name: str) -> tuple[Value, UserClass] | None:
        """The attribute and the class that defines it."""
        return next(((one.namespace[name], one) for one in self.classes if name in one.namespace), None)

    def find_beyond(self, cls: UserClass, name: str) -> Value | None:
        """The attribute as `super()` in a method of `cls` finds it, on an instance of this class."""
        classes = self.classes
        after = classes[classes.index(cls) + 1 :] if cls in classes else cls.classes[1:]
        return next((one.namespace[name] for one in after if name in one.namespace), None)

    @property
    def classes(self) -> tuple[UserClass, ...]:
        """The classes of the program in its lineage."""
        return tuple(one for one in self.lineage if isinstance(one, UserClass))

    def libraries(self) -> list[str]:
        """Canonical names of the library classes that it inherits from, at any remove."""
        return [one.name for one in self.lineage if isinstance(one, External)]

    @property
    def is_private(self) -> bool:
        """Whether it inherits from a class of TensorFlow's private copy of Keras 2."""
        return any(one.is_private for one in self.lineage if isinstance(one, External))

    @property
    def is_open(self) -> bool:
        """Whether a base is unknown, so that attributes may come from there."""
        return not all(isinstance(one, (UserClass, External)) for one in self.lineage)


MAX_CLASS_DEPTH = 12
"""Longest chain of base classes that is followed."""


class Items(Value):
    """A tuple, list, set, range, zip … `items` when each element is known, else `element` stands for all of
    them (None: nothing is known). Lists that grow keep what they hold in `state` under "items"."""

    __slots__ = ("around", "is_endless", "joined", "kind", "over", "state", "symbol")

    is_plain = True

    def __init__(
        self,
        kind: str,
        items: tuple[Value, ...] | None = None,
        element: Value | None = None,
        name: Any = None,
        over: tuple[Value, ...] = (),
    ) -> None:
        self.kind = kind
        self.over = over
        """What it goes over, of `enumerate` and `zip`; of a generator the datasets of the loops around its `yield`."""
        self.around: tuple[Loop, ...] | None = None
        """The loops around the place where it was made; None where they are not known."""
        self.is_endless = False
        """A generator that goes on for ever."""
        self.joined: tuple[Items, Items] | None = None
        """Of `a + b`, both."""
        self.symbol = symbol(name) if name is not None else symbol(("value", self.serial))
        self.state: dict[str, Any] = {"items": items, "element": element}

    @property
    def items(self) -> tuple[Value, ...] | None:
        items: tuple[Value, ...] | None = self.state["items"]
        return items

    @property
    def element(self) -> Value | None:
        element: Value | None = self.state["element"]
        return element


class Mapping(Value):
    """A dict: values of known constant keys in `entries`; `complete` when there are no others."""

    __slots__ = ("around", "entries", "given", "makes_lists", "state", "symbol")

    is_plain = True

    def __init__(self, entries: dict[Any, Any], complete: bool, name: Any) -> None:
        self.entries: dict[Any, Any] = entries
        self.given: dict[str, tuple[Value, Site]] = {}
        """Of the `**` parameter of a function, what a call gave for it by keyword, and where."""
        self.around: tuple[Loop, ...] | None = None
        """The loops around the place where it was made; None where they are not known."""
        self.makes_lists = False
        """A `defaultdict(list)`."""
        self.state: dict[str, Any] = {"complete": complete}
        self.symbol = symbol(name)


class Object(Value):
    """Something made at a place, with attributes. `cls` is the program's own class of it, if any;
    `library` the canonical name of the library class it is an instance of, if any. `is_private`: that class is one of
    TensorFlow's private copy of Keras 2; None where it is not known which of the two it is of."""

    __slots__ = ("attributes", "blame", "cls", "is_private", "library", "seen", "site", "where")

    def __init__(self, site: Site, where: Where = NOWHERE, library: str = "", cls: UserClass | None = None) -> None:
        self.site = site
        self.where = where
        self.library = library
        self.cls = cls
        self.is_private: bool | None = cls is not None and cls.is_private
        self.attributes: dict[str, Any] = {}
        self.blame: Site | None = None
        """The call to change if it was made in the wrong place: in the innermost function around it that
        could see a strategy. None where no function could."""
        self.seen: Strategy | None = None
        """That strategy."""

    @property
    def symbol(self) -> Symbol:
        return symbol(("object", self.site, self.serial))


class Instance(Object):
    """An instance of a user class that is nothing more special."""

    __slots__ = ()


class Strategy(Object):
    """A `tf.distribute.Strategy`. `kind` as in the knowledge table; `devices` are the literal device
    strings that it was given (None where unknown or left to TensorFlow). `alone`: the program leaves itself one
    GPU, or gives it one device, so that there is one replica."""

    __slots__ = ("alone", "devices", "kind")

    def __init__(
        self, site: Site, where: Where, library: str, kind: str, devices: Items | Value | None, alone: bool = False
    ) -> None:
        super().__init__(site, where, library)
        self.kind = kind
        self.devices = devices
        self.alone = alone

    @property
    def is_multi_replica(self) -> bool:
        """Whether it is of a kind that trains on several replicas."""
        return self.kind in MULTI_REPLICA


MULTI_REPLICA = frozenset({"mirrored", "multi_worker", "central_storage", "parameter_server", "tpu"})


class Model(Object):
    """A Keras model. What is known of it lives in attributes such as ".compiled"; `part_of` is the symbol of the model
    of whose inputs it was made, None where it has its own."""

    __slots__ = ("part_of",)

    def __init__(self, site: Site, where: Where, library: str, cls: UserClass | None = None) -> None:
        super().__init__(site, where, library, cls)
        self.part_of: Symbol | None = None


class Layer(Object):
    """A Keras layer. `policy` is the dtype policy that it computes with, by name."""

    __slots__ = ("policy",)

    def __init__(
        self, site: Site, where: Where, library: str, cls: UserClass | None = None, policy: Value = NONE
    ) -> None:
        super().__init__(site, where, library, cls)
        self.policy = policy

    @property
    def hands_on(self) -> bool:
        """Whether it gives the numbers that it is given, in another shape at most."""
        return self.cls is None and self.library.rpartition(".")[2] in _HAND_ON


_HAND_ON = frozenset({"Flatten", "Identity", "InputLayer", "Permute", "RepeatVector", "Reshape"}) | {
    f"{name}{rank}D" for name in ("Cropping", "ZeroPadding") for rank in (1, 2, 3)
}


class Optimizer(Object):
    """An optimizer. `scales`: it is a LossScaleOptimizer (None: it may be one); `accumulates`: it adds up the gradients
    of several steps; `may_accumulate`: it is told how many, or may be; `has_slots`: it makes variables for those of the
    model, which SGD without momentum does not."""

    __slots__ = ("accumulates", "has_slots", "may_accumulate", "scales")

    def __init__(self, site: Site, where: Where = NOWHERE, library: str = "", cls: UserClass | None = None) -> None:
        super().__init__(site, where, library, cls)
        self.accumulates = False
        self.may_accumulate = False
        self.has_slots = True
        self.scales: bool | None = False


class Metric(Object):
    __slots__ = ()


class Loss(Object):
    """A loss object. `reduction` is the constant given, "" for the default, None where unknown."""

    __slots__ = ("reduction",)

    def __init__(
        self, site: Site, where: Where, library: str, reduction: str | None, cls: UserClass | None = None
    ) -> None:
        super().__init__(site, where, library, cls)
        self.reduction = reduction


class Variable(Object):
    """A `tf.Variable`. `counts_steps`: it is an optimizer's `iterations`; `is_handed_out`: code that is not known has
    it."""

    __slots__ = ("counts_steps", "dtype", "is_handed_out")

    def __init__(self, site: Site, where: Where, dtype: str | None = None, counts_steps: bool = False) -> None:
        super().__init__(site, where, "tensorflow.Variable")
        self.dtype = dtype
        self.counts_steps = counts_steps
        self.is_handed_out = False


class Tape(Object):
    """A `tf.GradientTape`. `is_persistent` where it is so for certain and nobody else has it."""

    __slots__ = ("is_persistent",)

    def __init__(self, site: Site, where: Where, is_persistent: bool) -> None:
        super().__init__(site, where, "tensorflow.GradientTape")
        self.is_persistent = is_persistent


class Reduced(NamedTuple):
    """How a loss came to be one number: "mean" or "sum", and where. "scaled" when it was divided on purpose,
    "default" when a Keras loss object did it with its default reduction, "none" when it is one number for each example:
    a gradient of these is that of their sum."""

    how: str
    site: Site


class Summand(NamedTuple):
    """One gradient in a sum of them: `taken` is a number of its own, for each time that one is taken."""

    taken: int
    factors: tuple[Symbol, ...] = ()
    """What it was multiplied with and divided by since."""


NOTHING_SUMMED: frozenset[Summand] = frozenset()


class Gradient(NamedTuple):
    """Where a gradient was taken and of which loss; of a sum of gradients, the first one's."""

    site: Site
    where: Where
    loss: Value
    accumulated: bool
    scaled: bool
    summands: frozenset[Summand] = NOTHING_SUMMED
    """All that it is the sum of; empty where it is none, or not known to be."""


class Tensor(Value):
    """A tensor. `device` is where an explicit scope put it; None elsewhere."""

    __slots__ = (
        "compiled",
        "device",
        "dtype",
        "from_data",
        "gradient",
        "layer",
        "masks",
        "of_weights",
        "on_host",
        "reduced",
        "rows",
        "scaled",
        "scope",
        "shape_of",
        "single",
        "site",
        "state",
        "static",
        "symbolic",
    )

    is_plain = True

    def __init__(
        self,
        site: Site,
        device: DeviceName | None = None,
        dtype: str | None = None,
        reduced: Reduced | None = None,
        gradient: Gradient | None = None,
        scope: Site | None = None,
        shape_of: bool = False,
        from_data: bool = False,
        layer: Layer | None = None,
        on_host: bool = False,
        single: bool = False,
        symbolic: bool = False,
        scaled: bool = False,
        compiled: bool = False,
        of_weights: bool = False,
        state: Variable | None = None,
        static: bool = False,
        masks: bool = False,
        rows: bool | None = None,
    ) -> None:
        self.site = site
        self.rows = rows
        """Several examples, as a batch of data is: the next rows of a collection, rows that were drawn. False where it
        is known to be none: a number, a list of numbers that the program spells out, zeros."""
        self.masks = masks
        """Truths, or zeros and ones: what compares, perhaps cast."""
        self.state = state
        """The variable whose content this is, perhaps scaled, clipped or cast."""
        self.of_weights = of_weights
        """Computed of variables alone, not of a batch."""
        self.compiled = compiled
        """What a `tf.function` gave to eager code."""
        self.scaled = scaled
        """A loss that was scaled for float16."""
        self.symbolic = symbolic
        """Of a Keras model that is being built: comes of an `Input`."""
        self.single = single
        """A batch of one example."""
        self.layer = layer
        """The layer that gives it."""
        self.on_host = on_host
        """In host memory wherever the op runs: strings, shapes, what is read from files."""
        self.device = device
        self.dtype = dtype
        self.reduced = reduced
        self.gradient = gradient
        self.scope = scope
        """The `tf.device` call of the scope that it was made in."""
        self.shape_of = shape_of
        """Read off the shape of another tensor, so a per-replica size."""
        self.static = static
        """No tensor, but numbers that Python has: the shape that another tensor is known to have."""
        self.from_data = from_data
        """An element of a plain dataset."""

    @property
    def call_key(self) -> tuple[Any, ...]:
        return ("tensor", self.site, self.device, self.reduced)


def one_of_many(tensors: Sequence[Tensor]) -> Tensor:
    """What stands for tensors that are too many to tell apart: what all agree on, and what any of them may be that is
    not known to be a fault."""
    first = tensors[0]
    made = Tensor(first.site)
    for name in ("device", "dtype", "reduced", "gradient", "layer", "scope", "state", "single", "masks", "rows"):
        if all(getattr(other, name) == getattr(first, name) for other in tensors):
            setattr(made, name, getattr(first, name))
    for name in ("shape_of", "static", "from_data", "on_host", "symbolic", "scaled", "compiled", "of_weights"):
        setattr(made, name, any(getattr(other, name) for other in tensors))
    return made


class PerReplica(Value):
    """What `strategy.run` or a distributed dataset gives: one value per replica."""

    __slots__ = ("site", "strategy", "value")

    def __init__(self, site: Site, strategy: Strategy, value: Value) -> None:
        self.site = site
        self.strategy = strategy
        self.value = value


class Step(NamedTuple):
    """One transformation of a tf.data pipeline. `effects` are the stateful operations of the function that it maps."""

    name: str
    site: Site
    arguments: Arguments
    effects: tuple[Effect, ...] = ()
    operations: int = 0
    """How many tensor operations that function calls, as far as is known."""


class Effect(NamedTuple):
    """A stateful operation in a function that is traced: `kind` is "random", "python", "array" (Python that works on
    arrays as a whole), "names" (Python that gives texts), "variable" or "other". `path` are the conditions on which it
    is traced."""

    kind: str
    name: str
    site: Site
    path: Path = EVERYWHERE


def effects_within(effects: Iterable[Effect], path: Path) -> tuple[Effect, ...]:
    """Effects of something that was reached on a path, each with the conditions that it adds itself."""
    return tuple(effect._replace(path=effect.path - path) for effect in effects)


def effects_on(effects: Iterable[Effect], path: Path) -> Iterator[Effect]:
    """The same effects where they happen on another path."""
    return (effect._replace(path=effect.path | path) for effect in effects)


class Dataset(Value):
    """A tf.data pipeline: where it starts and what was done to it, in order."""

    __slots__ = (
        "arguments",
        "batch",
        "distributed",
        "element",
        "for_samples",
        "gives_names",
        "inputs",
        "options",
        "site",
        "source",
        "steps",
    )

    def __init__(
        self,
        site: Site,
        source: str,
        steps: tuple[Step, ...] = (),
        batch: Batch | None = None,
        distributed: Strategy | None = None,
        element: Value | None = None,
        arguments: Arguments | None = None,
        inputs: tuple[Dataset, ...] = (),
        options: tuple[tuple[str, Value], ...] = (),
    ) -> None:
        self.site = site
        self.source = source
        self.steps = steps
        self.batch = batch
        self.distributed = distributed
        self.element = element
        self.arguments = arguments if arguments is not None else Arguments()
        """What its source was given."""
        self.inputs = inputs
        """The datasets that its source goes over (`zip`)."""
        self.options = options
        """Settings of `tf.data.Options`, by dotted name, the later ones last."""
        self.for_samples: Site | None = None
        """Where the Python generator that it starts from works for each sample of an element."""
        self.gives_names = False
        """That generator gives names of what others read."""

    def but(
        self,
        *,
        steps: tuple[Step, ...] | None = None,
        batch: Batch | None = None,
        distributed: Strategy | None = None,
        options: tuple[tuple[str, Value], ...] | None = None,
    ) -> Dataset:
        """It, with some of this changed."""
        changed = Dataset(
            self.site,
            self.source,
            self.steps if steps is None else steps,
            self.batch if batch is None else batch,
            distributed or self.distributed,
            self.element,
            self.arguments,
            self.inputs,
            self.options if options is None else options,
        )
        changed.for_samples, changed.gives_names = self.for_samples, self.gives_names
        return changed


class Batch(NamedTuple):
    """A batch size: its value and the place that sets it."""

    size: Value
    site: Site
    where: Where
    blame: Site | None
    evaluates: bool = False
    """Whether the pipeline went by a name that says it is for evaluation."""


class Transformation(Value):
    """What a function of `tf.data.experimental` gives for `Dataset.apply`: a method of datasets and its arguments."""

    __slots__ = ("arguments", "method")

    def __init__(self, method: str, arguments: Arguments) -> None:
        self.method = method
        self.arguments = arguments


class DeviceList(Value):
    """What `tf.config.list_physical_devices` and its like return; `slice_` narrows it: (start, stop)."""

    __slots__ = ("listing", "part", "type")

    is_its_copy = True

    def __init__(self, listing: str, type: str, part: tuple[int | None, int | None] | None = None) -> None:
        self.listing = listing
        """ "physical", "logical" or "visible". """
        self.type = type
        self.part = part

    @property
    def symbol(self) -> Symbol:
        return symbol(("devices", self.type, self.part))


class ListedDevice(Value):
    """One element of a device list: by constant index, or None for whichever a loop is at."""

    __slots__ = ("index", "list", "turn")

    def __init__(self, list: DeviceList, index: int | None, turn: int = 0) -> None:
        self.list = list
        self.index = index
        self.turn = turn
        """Which round of a loop over the list it stands for."""

    @property
    def symbol(self) -> Symbol:
        return symbol(("item", self.list.symbol, self.index))


class Manager(Value):
    """A context manager that is not entered yet."""

    __slots__ = ("site", "state")

    def __init__(self, site: Site) -> None:
        self.site = site
        self.state: dict[str, Any] = {}


class GeneratorManager(Manager):
    """A call of a function behind `contextlib.contextmanager`."""

    __slots__ = ("arguments", "function")

    def __init__(self, site: Site, function: Value, arguments: Arguments) -> None:
        super().__init__(site)
        self.function = function
        self.arguments = arguments


class NullManager(Manager):
    """`contextlib.nullcontext` and its like; `value` is what `as` binds."""

    __slots__ = ("value",)

    def __init__(self, site: Site, value: Value) -> None:
        super().__init__(site)
        self.value = value


class ExitStackManager(Manager):
    """A `contextlib.ExitStack`."""

    __slots__ = ()


class DeviceManager(Manager):
    """`tf.device(named)`."""

    __slots__ = ("named", "scope")

    def __init__(self, site: Site, scope: DeviceScope, named: Value) -> None:
        super().__init__(site)
        self.scope = scope
        self.named = named


class ScopeManager(Manager):
    """`strategy.scope()`."""

    __slots__ = ("strategy",)

    def __init__(self, site: Site, strategy: Strategy) -> None:
        super().__init__(site)
        self.strategy = strategy


class Descriptor(Value):
    """A function in a class body behind `property`, `staticmethod` or `classmethod` (`kind`)."""

    __slots__ = ("function", "kind")

    def __init__(self, kind: str, function: Value) -> None:
        self.kind = kind
        self.function = function


class Super(Value):
    """`super()` in a method of `cls`, called on `receiver`."""

    __slots__ = ("cls", "receiver")

    def __init__(self, cls: UserClass, receiver: Value) -> None:
        self.cls = cls
        self.receiver = receiver


class Imported(Value):
    """A project module, or a name of one (`attribute`), that is not read before it is used."""

    __slots__ = ("attribute", "dotted", "path")

    def __init__(self, path: str, dotted: str, attribute: str | None) -> None:
        self.path = path
        self.dotted = dotted
        self.attribute = attribute


class Arguments(NamedTuple):
    """What a call passes. `open` is true when a `*` or `**` of unknown content is among it."""

    positional: tuple[Value, ...] = ()
    keywords: dict[str, Value] = {}  # noqa: RUF012 - a NamedTuple default, never written
    open: bool = False
    sites: dict[str | int, Site] = {}  # noqa: RUF012
    handed_on: dict[str, Site] = {}  # noqa: RUF012
    """Where callers wrote the keywords that come of the function's own `**` parameter."""

    @property
    def written(self) -> dict[str, Site]:
        """Where each keyword was written, here or by a caller."""
        return {**self.handed_on, **{key: site for key, site in self.sites.items() if isinstance(key, str)}}

    def get(self, name: str, position: int | None = None) -> Value | None:
        """The argument of that keyword, or at that position."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def of(self, name: str, params: tuple[str, ...]) -> Value | None:
        """The argument for the parameter `name`, given the names of the positional ones."""
        return self.get(name, params.index(name) if name in params else None)

    def all(self) -> tuple[Value, ...]:
        return (*self.positional, *self.keywords.values())

    def with_receiver(self, receiver: Value) -> Arguments:
        """The arguments of a method, its receiver first."""
        sites: dict[Any, Site] = {key + 1 if isinstance(key, int) else key: site for key, site in self.sites.items()}
        return self._replace(positional=(receiver, *self.positional), sites=sites)

    def merged(self, more: Arguments) -> Arguments:
        """The arguments of a partial, then those of its call."""
        return Arguments(
            self.positional + more.positional,
            {**self.keywords, **more.keywords},
            self.open or more.open,
            more.sites,
        )


def function_of(value: Value) -> Function | None:
    """The function of the program that a method, a partial or a `tf.function` calls."""
    if isinstance(value, Bound):
        return function_of(value.method) if isinstance(value.method, Value) else None
    if isinstance(value, (Partial, Traced)):
        return function_of(value.function)
    return value if isinstance(value, Function) else None


def named(value: Value, name: str) -> Value:
    """The value after it went through a variable, an attribute or a key of that name: whole numbers know it, and
    pipelines whether it says that they are for evaluation."""
    if type(value) is Constant and type(value.value) is int and name not in value.named:
        return value.through(name)
    if type(value) is Dataset and value.batch is not None and EVALUATES & words(name) and "train" not in words(name):
        return value.but(batch=value.batch._replace(evaluates=True))
    return value


EVALUATES = frozenset({"test", "eval", "evaluate", "evaluation", "val", "valid", "validate", "validation", "dev"})
"""Words in names of what is for evaluation."""


def known(value: Value | None) -> object:
    """The Python value of a constant, or Ellipsis where it is not known."""
    return value.value if isinstance(value, Constant) else ...


def symbol_of(value: Value) -> Symbol:
    """A structural name of a value, for conditions about it."""
    if isinstance(value, Tensor):
        return symbol(("tensor", value.site))
    own = getattr(value, "symbol", None)
    return own if isinstance(own, Symbol) else symbol(("value", value.serial))


def same(a: Any, b: Any) -> bool:
    """Whether two values are certainly the same one, or made alike of the same: a method that was looked up twice, a
    function that one place wrapped again."""
    if a is b:
        return True
    if isinstance(a, Value) or isinstance(b, Value):
        if type(a) is not type(b):
            return False
        if isinstance(a, Constant):
            return type(a.value) is type(b.value) and bool(a.value == b.value)
        if isinstance(a, Unknown):
            return bool(a.symbol == b.symbol)
        if isinstance(a, Bound):
            return a.receiver is b.receiver and same(a.method, b.method)
        if isinstance(a, Traced):
            return a.site == b.site and same(a.function, b.function) and same(a.jit, b.jit)
        return isinstance(a, External) and bool(a.name == b.name)
    return bool(a == b)
