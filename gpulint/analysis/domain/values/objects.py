"""Objects of TensorFlow and Keras."""

from __future__ import annotations

from gpulint.analysis.domain.context import NOWHERE, DeviceScope, Object, Strategy, Where
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import NONE, Value
from gpulint.analysis.domain.values.functions import UserClass
from gpulint.analysis.domain.values.managers import Manager
from gpulint.places import Site


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
