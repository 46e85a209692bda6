"""GPU211."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Caller, Plan, Report, Rule, Severity, Where, confidence, events, possible, unsafe, values
from gpulint.plugin.facts import parse_device
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import is_test
from gpulint.plugin.symbols import Path
from gpulint.plugin.words import STRATEGY_WORDS


class SingleDeviceStrategy(Rule):
    """Strategy with a single GPU

    ## What it does
    Finds a `MirroredStrategy` with exactly one literal GPU, and a silent fallback to `OneDeviceStrategy` on a literal
    GPU in an `except`.

    ## Why is this bad
    There is one replica: the strategy costs its overhead and the other GPUs idle. The fallback hides that the intended
    strategy could not be created.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(devices=["/gpu:0"])
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    ```

    ## What is not reported
    A choice by a flag or by what the machine has, devices that the program computes, CPU devices, tests, and functions
    that also create other strategies, to compare them.

    ## Fix
    Unsafe: removes `devices`. There is then a replica on every visible GPU, and each gets a part of the batch.

    ## At run time
    One replica.
    """

    code = "GPU211"
    name = "single-device-strategy"
    severity = Severity.WARNING
    any_of_names = STRATEGY_WORDS
    why = "there is one replica: the other GPUs idle"
    instead = "remove `devices` to use every visible GPU"

    def __init__(self) -> None:
        self._built: list[events.StrategyBuilt] = []
        self._pinned: list[tuple[Caller, Report]] = []

    def on_strategy_built(self, event: events.StrategyBuilt, plan: Plan) -> Iterator[Report]:
        if event.strategy.is_multi_replica:
            self._built.append(event)
        devices = _literal_gpus(event.strategy.devices, event)
        fell_back = any(literal.condition.operator == "handler" for literal in event.where.path)
        chosen = self._chosen(event.where) if fell_back else event.where.path
        if is_test(event.site.path) or devices is None or len(devices) != 1 or not _only_failed(chosen):
            return
        if event.strategy.kind == "mirrored" and not fell_back:
            report = Report(
                event.site,
                f"the strategy uses only one GPU, `{devices[0]}`",
                confidence=confidence(event.where),
                supersedes=(event.site,),
                fix=unsafe(
                    "Remove `devices`: it takes every visible GPU",
                    calls.without_argument,
                    event.site,
                    "devices",
                ),
            )
            self._pinned.append((event.where.caller, report))
        elif event.strategy.kind in ("one_device", "mirrored") and fell_back:
            yield Report(
                event.site,
                f"silently falls back to one GPU, `{devices[0]}`",
                confidence=confidence(event.where),
            )

    def _chosen(self, where: Where) -> Path:
        """Conditions of a place, without those under which the same function first tried a better strategy."""
        tried = [one.where.path for one in self._built if one.where.caller is where.caller]
        return min((where.path - path for path in tried), key=len, default=where.path)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        """Report pinned strategies, except in functions that create several strategies to compare them."""
        for caller, report in self._pinned:
            if not any(one.where.caller is caller and one.site != report.site for one in self._built):
                yield report


def _literal_gpus(value: values.Value | None, event: events.StrategyBuilt) -> list[str] | None:
    """Literal GPU names in `devices`, None where the program chooses them or one is not a GPU."""
    found: list[str] = []
    for option in possible(value, event.where):
        items = option.items if isinstance(option, values.Items) else (option,)
        for item in items or ():
            text = item.value if isinstance(item, values.Constant) else None
            device = parse_device(text) if isinstance(text, str) else None
            if device is None or not device.is_gpu or (isinstance(item, values.Constant) and item.named):
                return None
            found.append(str(text))
    return found


def _only_failed(path: Path) -> bool:
    """Whether a place is reached by exceptions at most, and under no other condition of the program."""
    return all(literal.condition.operator in ("completes", "handler") for literal in path)
