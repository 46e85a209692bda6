"""GPU213."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import (
    Draft,
    Edit,
    JustifyingComment,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    together,
    unsafe,
    values,
)
from gpulint.plugin.fixes import calls, scopes
from gpulint.plugin.queries import blamed
from gpulint.plugin.words import STRATEGY_WORDS


class VariableOutsideScope(Rule):
    """Variable created outside the scope, updated by replicas

    ## What it does
    Finds a `tf.Variable` or metric that is created with no strategy in force and updated in a replica function. Metric
    classes of the program are recognised by the weights that they add.

    ## Why is this bad
    There is no error: there is one copy, every replica accesses its device, and it is updated once per replica (two
    replicas and `assign_add(1)` give 2.0; measured on TensorFlow 2.21). In the scope, each replica has a copy. Without
    an `aggregation` each updates its own, and reading the variable gives that of the first replica only.

    ## Example
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    steps = tf.Variable(0)


    def step():
        steps.assign_add(1)


    @tf.function
    def train():
        strategy.run(step)


    train()
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        steps = tf.Variable(0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)


    def step():
        steps.assign_add(1)


    @tf.function
    def train():
        strategy.run(step)


    train()
    ```

    ## What is not reported
    Counters on the host, variables that are only read, metrics created in the scope, and variables that a comment says
    are created outside on purpose.

    ## Fix
    Unsafe: puts the statement into `with strategy.scope():`, if the strategy has a name there. A variable to which
    replicas assign a literal number gets `aggregation=ONLY_FIRST_REPLICA`. There is no fix for one to which they assign
    anything else, or that a helper or a constructor creates: only the author knows how the values are to be combined.

    ## At run time
    One copy with as many updates as there are replicas.
    """

    code = "GPU213"
    name = "variable-outside-scope"
    severity = Severity.ERROR
    in_one_replica = False
    any_of_names = STRATEGY_WORDS
    why = "all replicas update a single copy on one GPU, and wait for each other in every step"
    instead = "create it inside `with strategy.scope():`"
    yields_to = ("GPU201",)

    def on_state_updated(self, event: events.StateUpdated, plan: Plan) -> Iterator[Report]:
        replica = event.where.context.replica
        made = event.target.where
        if replica is None or not made.context.is_outside:
            return
        if together(event.where, made, replica.strategy.where):
            place = blamed(event.target, replica.strategy)
            is_assigned = event.method.startswith("assign")
            is_variable = isinstance(event.target, values.Variable)
            what = "variable" if is_variable else "metric"
            strategy = self.name_of(replica.strategy.site, place, "strategy")
            yield Report(
                place,
                f"the {what} is created outside `strategy.scope()` and updated by every replica",
                why=_COUNTED if is_variable else "",
                instead=(_AGGREGATED if is_variable else _CREATED).format(what=what, strategy=strategy),
                confidence=confidence(event.where, made, replica.strategy.where),
                related=(
                    (replica.strategy.site, "the strategy is created here"),
                    (event.site, f"each replica updates the {what} here"),
                ),
                unless=JustifyingComment((place,), frozenset({"outside"}), frozenset({"scope"})),
                fix=unsafe(
                    _FIX_ASSIGNED if is_assigned else _FIX,
                    _in_scope,
                    place,
                    replica.strategy.site,
                    event.site if is_assigned else None,
                ).one_at_a_time("scope")
                if place == event.target.site or not is_assigned
                else None,
            )


_FIX = "Create it inside `strategy.scope()`: each replica then updates its own copy"

_FIX_ASSIGNED = "Create it inside `strategy.scope()`, with `aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA`"

_COUNTED = (
    "all replicas update a single copy on one GPU, so a step counter advances once per replica instead of once per step"
)

_CREATED = "create the {what} inside `with {strategy}.scope():`"

_AGGREGATED = (
    "create the {what} inside `with {strategy}.scope():` with an `aggregation`: `tf.VariableAggregation.SUM` for a "
    "total, `ONLY_FIRST_REPLICA` for a step counter"
)


def _in_scope(draft: Draft, place: Site, strategy: Site, update: Site | None) -> list[Edit]:
    """Create the variable in the scope. If each replica assigns the same value, it needs an `aggregation`."""
    edits = scopes.in_scope(draft, place, strategy, ())
    if update is not None:
        given = calls.call_around(draft, update).arguments[:1]
        if not given or not draft.source(given[0].value).isdigit():
            raise Refused("replicas may assign different values: choose an `aggregation`")
        edits += calls.with_argument(draft, place, "aggregation", "tensorflow.VariableAggregation.ONLY_FIRST_REPLICA")
    return edits
