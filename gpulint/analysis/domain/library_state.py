"""State of the libraries that a program uses: settings of the process, and what is inferred about unknown objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.generator_work import GeneratorWork
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import FALSE, Arguments, Constant
from gpulint.analysis.domain.values.objects import Model, Optimizer
from gpulint.analysis.domain.values.tensors import Gradient
from gpulint.places import Site


@dataclass(slots=True)
class LibraryState:
    """State of the library models while a program is analysed.

    `runtime`, `environment`, `configuration` and `policy` belong to the process. They are written through the store, so
    that branches can be undone. Everything else only grows.
    """

    runtime: dict[str, Any] = field(default_factory=lambda: {"state": Constant("no"), "since": Constant(None)})
    """Whether TensorFlow's runtime is initialised ("no", "yes", "maybe"), and the site that initialised it."""

    environment: dict[str, Any] = field(default_factory=dict)
    """Environment variables set by the program, keyed by name."""

    configuration: dict[str, Any] = field(default_factory=dict)
    """Settings of the runtime, keyed by what they configure."""

    policy: dict[str, Any] = field(
        default_factory=lambda: {"global": Constant("float32"), "is_kept": FALSE, "is_graph": FALSE}
    )
    """Name of Keras's global dtype policy, whether `clear_session` keeps it, and whether the program has switched to
    TensorFlow 1's graph mode."""

    imported_with: dict[str, Any] | None = None
    """Configuration that an import of the file leaves behind, without the code under `if __name__ == "__main__":`."""

    datasets: set[Symbol] = field(default_factory=set)
    """Parameters of unknown value that are annotated as a `tf.data.Dataset`."""
    models: dict[Symbol, Model] = field(default_factory=dict)
    """Models inferred from the use of an otherwise unknown object, such as a Keras-style `compile()`, keyed by its
    symbol."""

    optimizers: dict[Symbol, Optimizer] = field(default_factory=dict)
    """Optimizers inferred from `apply_gradients()` on an otherwise unknown object, keyed by the method's symbol."""

    tuners: dict[Symbol, Arguments] = field(default_factory=dict)
    """Arguments of KerasTuner's constructors, keyed by the tuner's symbol."""

    properties: dict[Symbol, Object] = field(default_factory=dict)
    """Library objects from which a property was read that used to be a method, keyed by the symbol of the result."""

    options: dict[object, str | None] = field(default_factory=dict)
    """Types of command-line options, keyed by attribute name."""

    gradients_read: dict[Site, Gradient] = field(default_factory=dict)
    """Gradients that the host reads, keyed by site."""

    environment_steps: set[Site] = field(default_factory=set)
    """Definitions of the `step` methods of environments that the program defines."""

    generator: GeneratorWork | None = None
    """Work of the Python generator that is presently run for a pipeline; None outside such a generator."""

    is_private: bool = False
    """Whether a name of TensorFlow's private copy of Keras 2 is being called."""

    @property
    def process(self) -> frozenset[int]:
        """Identities (`id`) of the dicts that belong to the process."""
        return frozenset(map(id, (self.runtime, self.configuration, self.environment, self.policy)))
