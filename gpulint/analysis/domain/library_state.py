"""State of the libraries that a program uses: the process that it configures, and what its unknown objects are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.generator_work import GeneratorWork
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import Arguments, Constant
from gpulint.analysis.domain.values.objects import Model, Optimizer
from gpulint.analysis.domain.values.tensors import Gradient
from gpulint.places import Site


@dataclass(slots=True)
class LibraryState:
    """What the models of libraries remember while a program runs.

    `runtime`, `environment`, `configuration` and `policy` belong to the process. They are written through the store, so
    that branches can be undone; everything else only grows.
    """

    runtime: dict[str, Any] = field(default_factory=lambda: {"state": Constant("no"), "since": Constant(None)})
    """Whether TensorFlow's runtime is initialised ("no", "yes", "maybe"), and since which place."""

    environment: dict[str, Any] = field(default_factory=dict)
    """Environment variables that the program set, by name."""

    configuration: dict[str, Any] = field(default_factory=dict)
    """Settings of the runtime, by what they set."""

    policy: dict[str, Any] = field(default_factory=lambda: {"global": Constant("float32")})
    """Keras's global dtype policy, by name."""

    imported_with: dict[str, Any] | None = None
    """Configuration that an import of the file leaves: without what follows `if __name__ == "__main__":`."""

    models: dict[Symbol, Model] = field(default_factory=dict)
    """Models inferred from a Keras-style `compile()` on an otherwise unknown object, keyed by its symbol."""

    optimizers: dict[Symbol, Optimizer] = field(default_factory=dict)
    """Optimizers inferred from `apply_gradients()` on an otherwise unknown object, keyed by the method's symbol."""

    tuners: dict[Symbol, Arguments] = field(default_factory=dict)
    """Arguments of KerasTuner's constructors, keyed by the symbol of the tuner."""

    properties: dict[Symbol, Object] = field(default_factory=dict)
    """Library objects of which a property was read that used to be a method, keyed by the symbol of the result."""

    options: dict[object, str | None] = field(default_factory=dict)
    """Types of command-line options, keyed by attribute name."""

    gradients_read: dict[Site, Gradient] = field(default_factory=dict)
    """Gradients that the host reads, keyed by place."""

    generator: GeneratorWork | None = None
    """Work of the Python generator that is being run for a pipeline, if there is one."""

    is_private: bool = False
    """Whether a name of TensorFlow's private copy of Keras 2 is being called."""

    @property
    def process(self) -> frozenset[int]:
        """Identities of the dicts that belong to the process."""
        return frozenset(map(id, (self.runtime, self.configuration, self.environment, self.policy)))
