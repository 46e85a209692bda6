"""GPU001."""

from __future__ import annotations

from gpulint.plugin import Rule, Severity


class UnreadableFile(Rule):
    """File that cannot be read

    ## What it does
    Reports a file that cannot be read, decoded or parsed, once. The rest of the run continues. The rule cannot be
    turned off. In a notebook it reports each cell, and in a Markdown file each block, that is not valid Python; the
    others are checked.

    ## Why is this bad
    Nothing in the file was checked.

    ## Example
    ```python
    import tensorflow as tf

    with tf.device("/gpu:0")
        pass
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    print(tf.__version__)
    ```
    """

    code = "GPU001"
    name = "syntax-error"
    severity = Severity.ERROR
    why = "nothing in this file was checked"
    instead = "fix the file, or exclude it with `extend-exclude`"
    on_by_default = True
