"""GPU005."""

from __future__ import annotations

from gpulint.plugin import Rule, Severity


class UnmatchedSuppression(Rule):
    """`enable` without a `disable`

    ## What it does
    Finds `# gpulint: enable[…]` with no `disable[…]` of the same rules before it.

    ## Why is this bad
    It re-enables nothing. Often the two lists differ by a typo.

    ## Example
    ```python
    import tensorflow as tf

    # gpulint: enable[GPU101]
    x = tf.constant(1.0)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    # gpulint: disable[GPU101] one card in this machine
    with tf.device("/gpu:0"):
        x = tf.constant(1.0)
    # gpulint: enable[GPU101]
    ```
    """

    code = "GPU005"
    name = "unmatched-suppression"
    severity = Severity.WARNING
    why = "it re-enables nothing"
    instead = "list the same rules in both comments"
    on_by_default = True
