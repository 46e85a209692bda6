"""Loggers and progress bars: calls that print their arguments, or send them away as numbers."""

from __future__ import annotations

from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import Arguments
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import tensors
from gpulint.places import Site

PREFIXES = ("logging.", "absl.logging.", "loguru.logger.")
"""Prefixes of functions that print their arguments."""

FUNCTIONS = frozenset({"mlflow.log_metric", "mlflow.log_metrics", "wandb.log"})
"""Functions that convert the tensors in their arguments to numbers."""

_METHODS = {
    "comet_ml.Experiment": frozenset({"log_metric", "log_metrics"}),
    "csv.DictWriter": frozenset({"writerow"}),
    "csv.writer": frozenset({"writerow"}),
    "logging.getLogger": frozenset({"critical", "error", "exception", "info", "log", "warning"}),
    "tensorboardX.SummaryWriter": frozenset({"add_scalar", "add_scalars"}),
    "torch.utils.tensorboard.SummaryWriter": frozenset({"add_scalar", "add_scalars"}),
    "wandb.init": frozenset({"log"}),
}
"""Methods that do so, by the function or class that makes the object."""

_OF_PROGRESS_BARS = frozenset({"set_description", "set_description_str", "set_postfix", "set_postfix_str"})


def print_arguments(machine: Machine, arguments: Arguments, site: Site) -> None:
    """Record that the content of tensors among the arguments, or in lists and dicts among them, is read."""
    for value in arguments.all():
        tensors.read_all_at(machine, value, "print", site)


def method_called(machine: Machine, owner: Symbol, method: str, arguments: Arguments, site: Site) -> None:
    """Read what is passed to a method of a logger or progress bar."""
    if method in _OF_PROGRESS_BARS or any(
        method in methods and is_made_by(owner, name) for name, methods in _METHODS.items()
    ):
        print_arguments(machine, arguments, site)


def is_made_by(owner: Symbol, name: str) -> bool:
    """Whether a value is the result of calling a library function whose name starts with `name`."""
    called = symbol(owner.parts[1]) if owner.parts[0] == "call" else owner
    return called.parts[0] == "external" and str(called.parts[1]).startswith(name)
