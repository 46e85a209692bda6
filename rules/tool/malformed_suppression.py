"""GPU004."""

from __future__ import annotations

from gpulint.plugin import Rule, Severity


class MalformedSuppression(Rule):
    """Suppression that cannot be read

    ## What it does
    Finds `# gpulint:` comments of another form than `ignore[…]`, `disable[…]`, `enable[…]` or `file-ignore[…]`.

    ## Why is this bad
    It suppresses nothing, although it was meant to.

    ## Example
    ```python
    import tensorflow as tf

    x = tf.constant(1.0)  # gpulint: ignore
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    x = tf.constant(1.0)
    ```
    """

    code = "GPU004"
    name = "malformed-suppression"
    severity = Severity.WARNING
    why = "it suppresses nothing"
    instead = "write `# gpulint: ignore[GPU101] reason`"
    on_by_default = True
