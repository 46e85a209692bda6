"""GPU605."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Where, confidence, events, possible, together
from gpulint.plugin.facts import CLEARS_SESSION, SETS_POLICY
from gpulint.plugin.queries import callers, computes_in, predates_keras_3, trained_models
from gpulint.plugin.words import POLICY_WORDS


class PolicyReset(Rule):
    """Mixed precision that `clear_session` switches off

    ## What it does
    Finds `clear_session()` between `set_global_policy("mixed_float16")` and the creation of a model that the program
    trains.

    ## Why is this bad
    Keras 3 also resets the global dtype policy (run on 3.15; Keras 2 kept it): the model computes in float32, as if no
    policy had been set, and the Tensor Cores for float16 are idle.

    ## Example
    ```python
    import tensorflow as tf

    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    for fold in range(5):
        tf.keras.backend.clear_session()
        model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1, dtype="float32")])
        model.compile(optimizer="adam", loss="mse")
        model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    for fold in range(5):
        tf.keras.backend.clear_session()
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1, dtype="float32")])
        model.compile(optimizer="adam", loss="mse")
        model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
    ```

    ## What is not reported
    A policy that is set again before the model is created; models that were created before, or that are not trained;
    `mixed_bfloat16`; programs for Keras 2, also such that import what Keras 3 lacks (`tensorflow_addons`).

    ## At run time
    Matrix products in float32.
    """

    code = "GPU605"
    name = "policy-reset"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = POLICY_WORDS
    all_of_name_sets = (frozenset({"clear_session"}),)
    why = "Keras 3 resets the dtype policy when it clears the session: models created afterwards compute in float32"
    instead = "set the policy again after each `clear_session()`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        if not plan.runs_keras_3 or predates_keras_3(plan):
            return
        trained = {id(model) for model in trained_models(plan)}
        policy: events.LibraryCalled | None = None
        cleared: events.LibraryCalled | None = None
        for event in plan.events:
            if isinstance(event, events.LibraryCalled) and event.name in SETS_POLICY:
                policy, cleared = (event if _is_half(event) else None), None
            elif isinstance(event, events.LibraryCalled) and event.name in CLEARS_SESSION:
                cleared = cleared or (event if policy is not None and _follows(event.where, policy.where) else None)
            elif isinstance(event, events.ModelBuilt) and policy is not None and cleared is not None:
                wheres = policy.where, cleared.where, event.where
                if id(event.model) in trained and _follows(event.where, cleared.where) and together(*wheres):
                    yield Report(
                        cleared.site,
                        "`clear_session` resets the dtype policy: the model is trained in float32",
                        instead=f"after each `clear_session()`, call `{self.short(policy.site, _SET)}` again",
                        confidence=confidence(*wheres),
                        related=((policy.site, "the policy is set here"), (event.site, "the model is created here")),
                        happens_at=cleared.site,
                    )
                    policy = None


_SET = 'tf.keras.mixed_precision.set_global_policy("mixed_float16")'


def _is_half(event: events.LibraryCalled) -> bool:
    given = event.arguments.get("policy", 0) or event.arguments.get("dtype_policy", 0)
    is_kept = ".experimental." in event.name  # a function of Keras 2
    return not is_kept and any(computes_in(one, "float16") for one in possible(given, event.where))


def _follows(where: Where, before: Where) -> bool:
    """Whether a moment is in the same run of an entry point as an earlier one, or that one is in the program's body."""
    first = [caller.definition for caller in callers(before.caller) if caller.definition is not None]
    return not first or before.caller.known or first[-1] in {caller.definition for caller in callers(where.caller)}
