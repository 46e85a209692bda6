"""GPU904."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Draft, Edit, Plan, Refused, Report, Rule, Severity, Site, confidence, events, unsafe, values
from gpulint.plugin.facts import LEGACY_OPTIMIZERS, fact
from gpulint.plugin.queries import is_version_checked


class IgnoredByOptimizer(Rule):
    """Optimizer code that Keras 3 ignores

    ## What it does
    Finds `optimizer.lr = …`, and optimizers of the program that define `_resource_apply_dense`,
    `_resource_apply_sparse` or `get_updates` but no `update_step`.

    ## Why is this bad
    Keras 3 has no attribute `lr`: the assignment creates one that nothing reads, and the learning rate stays what it
    was. It calls `update_step` only: an optimizer that derives from Adam updates as Adam does, one that derives from
    `Optimizer` raises NotImplementedError in the first step (measured on TensorFlow 2.21 with Keras 3.15).

    ## Example
    ```python
    import tensorflow as tf

    optimizer = tf.keras.optimizers.Adam(0.001)
    optimizer.lr = 0.0001
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    optimizer = tf.keras.optimizers.Adam(0.001)
    optimizer.learning_rate = 0.0001
    ```

    ## What is not reported
    Optimizers that have `update_step` as well; optimizers of other packages and of `tf.compat.v1`; programs on Keras 2;
    assignments behind a version check. As this depends on the release, the rule is on by default only for files whose
    TensorFlow release is known.

    ## Fix
    Unsafe: writes `learning_rate`. The learning rate then changes.

    ## At run time
    The learning rate, and the operations of a step.
    """

    code = "GPU904"
    name = "ignored-by-optimizer"
    severity = Severity.ERROR
    asks_release = True
    context_insensitive = True
    any_of_names = frozenset({"_resource_apply_dense", "_resource_apply_sparse", "get_updates", ".lr"})
    why = "Keras 3 never reads `lr`: the learning rate does not change"
    instead = "set `optimizer.learning_rate`"

    def on_attribute_set(self, event: events.AttributeSet, plan: Plan) -> Iterator[Report]:
        optimizer = event.owner
        if (
            event.name == "lr"
            and isinstance(optimizer, values.Optimizer)
            and optimizer.cls is None
            and optimizer.is_private is False
            and optimizer.library.startswith("tensorflow.keras.")
            and not optimizer.library.startswith(LEGACY_OPTIMIZERS)
            and plan.runs_keras_3
            and not is_version_checked(event.where)
        ):
            yield Report(
                event.site,
                "setting `lr` of this optimizer has no effect",
                confidence=confidence(event.where),
                related=((optimizer.site, "the optimizer is created here"),),
                fix=unsafe("Set `learning_rate` instead: the learning rate then changes", _spelled_out, event.site),
            )

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for cls in plan.classes.values() if plan.runs_keras_3 else ():
            if not _is_optimizer(cls) or cls.find("update_step"):
                continue
            for name in _HOOKS:
                method = cls.namespace.get(name)
                if isinstance(method, values.Function):
                    yield Report(
                        method.definition_site,
                        f"`{name}` of this optimizer is never called",
                        why="your update rule never runs: Keras 3 calls the inherited `update_step` instead",
                        instead="define `update_step(self, gradient, variable, learning_rate)` in its place",
                    )
                    break


_HOOKS = ("_resource_apply_dense", "_resource_apply_sparse", "get_updates")
"""Methods by which Keras 2 updated the variables."""


def _is_optimizer(cls: values.UserClass) -> bool:
    """Whether a class derives from an optimizer of Keras 3 and from no unknown class."""
    libraries = cls.libraries()
    known = [fact(name) for name in libraries]
    return (
        not cls.is_open
        and not cls.is_private
        and not any(name.startswith(LEGACY_OPTIMIZERS) for name in libraries)
        and any(one is not None and one.kind == "optimizer" for one in known)
    )


def _spelled_out(draft: Draft, site: Site) -> list[Edit]:
    node = draft.node(site)
    text = draft.source(node)
    if not text.endswith(".lr"):
        raise Refused("the attribute is not written as `.lr`")
    return [draft.rewrite(node, f"{text[:-2]}learning_rate")]
