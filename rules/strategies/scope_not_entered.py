"""GPU204."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, unsafe
from gpulint.plugin.fixes import scopes
from gpulint.plugin.queries import callers, makers
from gpulint.plugin.words import STRATEGY_WORDS


class ScopeNotEntered(Rule):
    """Strategy scope never entered

    ## What it does
    Finds `strategy.scope()` whose result is never entered, and calls of a helper that returns a scope, if the result is
    not used.

    ## Why is this bad
    `scope()` only creates a context manager. Without `with`, everything after it is built outside the strategy.

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
    `ExitStack.enter_context`, `__enter__`, scopes that are returned to a caller, stored or passed on, `.scope()` of
    objects that are not strategies, and a scope entered in code that no run reaches, as after an early `return`.

    ## Fix
    Unsafe: turns the call into the header of a `with` around the statements after it that create models, optimizers,
    metrics and variables.

    ## At run time
    Variables outside the strategy.
    """

    code = "GPU204"
    name = "scope-not-entered"
    severity = Severity.ERROR
    any_of_names = STRATEGY_WORDS
    why = "a scope that is not entered does nothing: everything after it is created outside the strategy"
    instead = "write `with strategy.scope():`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        entered = {event.made for event in self.all(events.ScopeEntered)}
        made: dict[Site, events.ScopeMade] = {}
        for scope in self.all(events.ScopeMade):
            made.setdefault(scope.site, scope)
        dropped: dict[Site, events.ScopeDropped] = {}
        for lost in self.all(events.ScopeDropped):
            dropped.setdefault(lost.site, lost)
        left: list[events.ScopeMade | events.ScopeDropped] = []
        if plan.is_complete:
            has_unreached_with = cache(plan.has_unreached_with)
            left += [
                one
                for site, one in made.items()
                if site not in entered and not _has_unreached_with(one, has_unreached_with)
            ]
        left += [one for one in dropped.values() if one.made in entered]
        making = makers(plan) if left else frozenset()
        for event in left:
            yield Report(
                event.site,
                "`scope()` is called but the scope is never entered",
                confidence=confidence(event.where),
                related=((event.strategy.site, "the strategy is created here"),),
                fix=unsafe(
                    "Enter it for the code that follows: models then train on every replica",
                    scopes.with_entered,
                    event.site,
                    making,
                ).one_at_a_time("scope"),
            )


def _has_unreached_with(made: events.ScopeMade, has_unreached_with: Callable[[Site | None], bool]) -> bool:
    """Whether functions that the scope was created for may enter it in code that no run reaches."""
    return any(has_unreached_with(caller.definition) for caller in callers(made.where.caller))
