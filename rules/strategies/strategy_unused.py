"""GPU203."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import dropwhile

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, together, unsafe
from gpulint.plugin.fixes import scopes
from gpulint.plugin.queries import callers, is_run_by_program, makers
from gpulint.plugin.words import STRATEGY_WORDS


class StrategyUnused(Rule):
    """Strategy created and never entered

    ## What it does
    Finds a multi-replica strategy that is neither entered, run, passed on, returned, stored nor set as the
    default, in a program that trains; `strategy.scope()` whose result is never entered; and calls of a helper that
    returns a scope, if the result is not used.

    ## Why is this bad
    Creating a strategy or a scope changes nothing by itself: what follows is built outside the strategy, training runs
    on one GPU, and the others reserve memory and idle.

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
    Factories that return it, configurations that take it, attributes that others read,
    `tf.distribute.experimental_set_strategy`, modules that only create it, and training that precedes it or that uses
    another strategy; `ExitStack.enter_context`, `__enter__`, scopes that are returned to a caller, stored or passed on,
    `.scope()` of objects that are not strategies, and a scope entered in code that no run reaches, as after an early
    `return`.

    ## Fix
    For a scope that is not entered, unsafe: turns the call into the header of a `with` around the statements after it
    that create models, optimizers, metrics and variables.

    ## At run time
    One replica, and variables outside the strategy.
    """

    code = "GPU203"
    name = "strategy-unused"
    severity = Severity.WARNING
    any_of_names = STRATEGY_WORDS
    why = "training runs on one GPU, and the others sit idle: a strategy has an effect only inside its scope"
    instead = "build and compile the model inside `with strategy.scope():`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        yield from self._scopes(plan)
        if plan.is_complete:
            yield from self._strategies()

    def _strategies(self) -> Iterator[Report]:
        used = {event.strategy.site for event in self.all(events.StrategyUsed) if event.how != "attribute"}
        built = [event for event in self.all(events.StrategyBuilt) if event.strategy.is_multi_replica]
        for event in built:
            if event.strategy.site not in used and self._trains_after(event):
                yield Report(
                    event.site,
                    "the strategy is created, but its `scope()` is never entered",
                    instead=f"build and compile the model inside `with {self._name(event)}.scope():`",
                    confidence=confidence(event.where),
                )

    def _scopes(self, plan: Plan) -> Iterator[Report]:
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
                "`scope()` is called, but no `with` enters the scope",
                why="the code after it runs outside the strategy: training uses one GPU, and the others sit idle",
                instead=f"write `with {self.short(event.site, 'strategy.scope()')}:`, and indent the code below",
                severity=Severity.ERROR,
                confidence=confidence(event.where),
                related=((event.strategy.site, "the strategy is created here"),),
                fix=unsafe(
                    "Wrap the code that follows in `with`: models are then trained on every replica",
                    scopes.with_entered,
                    event.site,
                    making,
                ).one_at_a_time("scope"),
            )

    def _name(self, built: events.StrategyBuilt) -> str:
        return self.name_of(built.site, built.site, "strategy")

    def _trains_after(self, built: events.StrategyBuilt) -> bool:
        """Whether a model is trained outside all strategies after this one was created."""
        kinds = (events.StrategyBuilt, events.ModelFitted, events.GradientsApplied, events.StateUpdated)
        later = dropwhile(lambda event: event is not built, self.all(*kinds))
        return any(_trains_outside(event) and together(built.where, event.where) for event in later)


def _trains_outside(event: events.Event) -> bool:
    if isinstance(event, events.ModelFitted):
        made = event.model.where.context
        is_foreign = made.maybe_scoped and event.model.cls is None
        return made.is_outside or (is_foreign and event.where.context.is_outside and is_run_by_program(event.where))
    is_update = isinstance(event, events.GradientsApplied) or (isinstance(event, events.StateUpdated) and event.is_move)
    return is_update and event.where.context.is_outside


def _has_unreached_with(made: events.ScopeMade, has_unreached_with: Callable[[Site | None], bool]) -> bool:
    """Whether functions that the scope was created for may enter it in code that no run reaches."""
    return any(has_unreached_with(caller.definition) for caller in callers(made.where.caller))
