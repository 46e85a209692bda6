"""GPU002."""

from __future__ import annotations

from gpulint.plugin import Rule, Severity


class UnusedSuppression(Rule):
    """Suppression that suppresses nothing

    ## What it does
    Finds `# gpulint:` comments for rules that are on and find nothing there. Off by default.

    ## Why is this bad
    It would hide the next finding on the line.

    ## Example
    ```python
    import tensorflow as tf

    x = tf.constant(1.0)  # gpulint: ignore[GPU101] kept on the first card
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    x = tf.constant(1.0)
    ```

    ## Fix
    Safe: removes the comment. One that shares its line with another comment stays, and so do `disable` and `noqa`.
    """

    code = "GPU002"
    name = "unused-suppression"
    severity = Severity.WARNING
    why = "it would hide the next finding here"
    instead = "remove the comment"
    on_by_default = False
