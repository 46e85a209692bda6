"""Objects of TensorFlow and Keras."""

from __future__ import annotations

from gpulint.analysis.domain.context import NOWHERE, DeviceScope, Object, Strategy, Where
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import NONE, Value
from gpulint.analysis.domain.values.functions import UserClass
from gpulint.analysis.domain.values.managers import Manager
from gpulint.places import Site


class Model(Object):
    """A Keras model. Its facts include `ObjectFact.COMPILED`. `part_of` is the symbol of the model whose inputs
    it was created from, or None if it has its own inputs."""

    __slots__ = ("part_of",)

    def __init__(self, site: Site, where: Where, library: str, cls: UserClass | None = None) -> None:
        super().__init__(site, where, library, cls)
        self.part_of: Symbol | None = None


class Layer(Object):
    """A Keras layer. `policy` is the name of its dtype policy."""

    __slots__ = ("policy",)

    def __init__(
        self, site: Site, where: Where, library: str, cls: UserClass | None = None, policy: Value = NONE
    ) -> None:
        super().__init__(site, where, library, cls)
        self.policy = policy

    @property
    def hands_on(self) -> bool:
        """Whether the layer outputs its input unchanged except for the shape."""
        return self.cls is None and self.library.rpartition(".")[2] in _HAND_ON


_HAND_ON = frozenset({"Flatten", "Identity", "InputLayer", "Permute", "RepeatVector", "Reshape"}) | {
    f"{name}{rank}D" for name in ("Cropping", "ZeroPadding") for rank in (1, 2, 3)
}


class Optimizer(Object):
    """An optimizer.

    `scales`: it is a `LossScaleOptimizer`; None if it may be one. `accumulates`: it sums the gradients of several
    steps. `may_accumulate`: the number of such steps is, or may be, configured. `has_slots`: it creates variables for
    those of the model, unlike SGD without momentum.
    """

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
    """A loss object. `reduction` is the constant passed, "" for the default, None if unknown."""

    __slots__ = ("reduction",)

    def __init__(
        self, site: Site, where: Where, library: str, reduction: str | None, cls: UserClass | None = None
    ) -> None:
        super().__init__(site, where, library, cls)
        self.reduction = reduction


class Variable(Object):
    """A `tf.Variable`, or a variable of Keras (`library`). `counts_steps`: it is an optimizer's `iterations`.
    `is_handed_out`: unknown code has a reference to it."""

    __slots__ = ("counts_steps", "dtype", "is_handed_out")

    def __init__(
        self,
        site: Site,
        where: Where,
        dtype: str | None = None,
        counts_steps: bool = False,
        library: str = "tensorflow.Variable",
    ) -> None:
        super().__init__(site, where, library)
        self.dtype = dtype
        self.counts_steps = counts_steps
        self.is_handed_out = False


class Tape(Object):
    """A `tf.GradientTape`. `is_persistent`: it certainly is persistent and no other code has a reference to it."""

    __slots__ = ("is_persistent",)

    def __init__(self, site: Site, where: Where, is_persistent: bool) -> None:
        super().__init__(site, where, "tensorflow.GradientTape")
        self.is_persistent = is_persistent


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
