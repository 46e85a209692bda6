"""GPU003."""

from __future__ import annotations

from gpulint.plugin import Rule, Severity


class InvalidSuppression(Rule):
    """Suppression comment that cannot work

    ## What it does
    Finds `# gpulint:` comments that name no rule, that have another form than `ignore[…]`, `disable[…]`, `enable[…]` or
    `file-ignore[…]`, and `enable[…]` with no `disable[…]` of the same rules before it.

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
    name = "invalid-suppression"
    severity = Severity.WARNING
    why = "it suppresses nothing"
    instead = "write `# gpulint: ignore[GPU101] reason`, with a code or name that `gpulint rule --all` lists"
