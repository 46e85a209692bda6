"""GPU204."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from gpulint.api import (
    STRATEGY_WORDS,
    Plan,
    Report,
    Rule,
    Severity,
    Site,
    callers,
    confidence,
    events,
    makers,
    scopes,
    unsafe,
)


class ScopeNotEntered(Rule):
    """Strategy scope never entered

    ## What it does
    Finds `strategy.scope()` whose result nobody enters, and calls of a helper that returns a scope, if nobody uses what
    they give.

    ## Why is this bad
    `scope()` only makes a context manager. Without `with`, whatever follows is built outside the strategy.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    strategy.scope()
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
    `ExitStack.enter_context`, `__enter__`, scopes that are returned to whoever enters them, stored or passed on, and
    `.scope()` of anything that is no strategy; a `with` on what a name holds that no run comes to, as behind an early
    `return`.

    ## Fix
    Unsafe: makes the call the header of a `with` around the statements behind it that make models, optimizers,
    metrics and variables.

    ## At run time
    Variables outside the strategy.
    """

    code = "GPU204"
    name = "scope-not-entered"
    severity = Severity.ERROR
    speaks_of = STRATEGY_WORDS
    why = "a scope that is not entered does nothing: what follows is built outside the strategy"
    instead = "write `with strategy.scope():`"

    def __init__(self) -> None:
        self._made: dict[Site, events.ScopeMade] = {}
        self._entered: set[Site] = set()
        self._dropped: dict[Site, events.ScopeDropped] = {}

    def on_scope_made(self, event: events.ScopeMade, plan: Plan) -> None:
        self._made.setdefault(event.site, event)

    def on_scope_entered(self, event: events.ScopeEntered, plan: Plan) -> None:
        self._entered.add(event.made)

    def on_scope_dropped(self, event: events.ScopeDropped, plan: Plan) -> None:
        self._dropped.setdefault(event.site, event)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        left: list[events.ScopeMade | events.ScopeDropped] = []
        if plan.is_complete:
            is_passed_by = cache(plan.is_passed_by)
            left += [
                made
                for site, made in self._made.items()
                if site not in self._entered and not _is_passed_by(made, is_passed_by)
            ]
        left += [dropped for dropped in self._dropped.values() if dropped.made in self._entered]
        making = makers(plan) if left else frozenset()
        for event in left:
            yield Report(
                event.site,
                "`scope()` is called but the scope is never entered",
                confidence=confidence(event.where),
                related=((event.strategy.site, "the strategy is made here"),),
                fix=unsafe(
                    "Enter it for what is made behind it: models then train on every replica",
                    scopes.with_entered,
                    event.site,
                    making,
                ).one_at_a_time("scope"),
            )


def _is_passed_by(made: events.ScopeMade, is_passed_by: Callable[[Site | None], bool]) -> bool:
    """Whether the functions that the scope was made for may enter it where no run has come to."""
    return any(is_passed_by(caller.definition) for caller in callers(made.where.caller))
