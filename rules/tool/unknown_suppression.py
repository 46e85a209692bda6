"""GPU003."""

from __future__ import annotations

from gpulint.plugin import Rule, Severity


class UnknownSuppression(Rule):
    """Suppression of a rule that does not exist

    ## What it does
    Finds `# gpulint:` comments that name no rule.

    ## Why is this bad
    It suppresses nothing, though somebody meant it to.

    ## Example
    ```python
    import tensorflow as tf

    x = tf.constant(1.0)  # gpulint: ignore[GPU999]
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    x = tf.constant(1.0)
    ```
    """

    code = "GPU003"
    name = "unknown-suppression"
    severity = Severity.WARNING
    why = "it suppresses nothing"
    instead = "use a code or name that `gpulint rule --all` lists"
    on_by_default = True
