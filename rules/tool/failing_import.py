"""GPU006."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, events


class FailingImport(Rule):
    """Import of a name that its module does not have

    ## What it does
    Finds `from module import name` where the module is a file of the project that does not define the name. The rest of
    the program is checked as if the name were unknown.

    ## Why is this bad
    The import raises ImportError. Code that only the missing name leads to was not checked.

    ## Example
    `helpers.py`:

    ```python
    def crop(image):
        return image[:, 8:-8, 8:-8]
    ```

    ```python
    import tensorflow as tf
    from helpers import crop, flip

    with tf.device("/cpu:0"):
        images = flip(crop(tf.zeros((32, 64, 64, 3))))
    ```

    ## Use instead
    `helpers.py`:

    ```python
    def crop(image):
        return image[:, 8:-8, 8:-8]


    def flip(image):
        return image[:, :, ::-1]
    ```

    ```python
    import tensorflow as tf
    from helpers import crop, flip

    with tf.device("/cpu:0"):
        images = flip(crop(tf.zeros((32, 64, 64, 3))))
    ```

    ## What is not reported
    Imports in a `try`, an `if` or a function; names of modules that use a star import, `__getattr__`, `globals()`,
    `exec` or the like; packages that have a module of that name; programs without any code that other rules look at.

    ## At run time
    ImportError.
    """

    code = "GPU006"
    name = "failing-import"
    severity = Severity.INFO
    on_by_default = True
    raises = True
    in_graph_mode = True
    any_of_names = frozenset()
    why = "the import raises ImportError, and code reached only through this name was not checked"
    instead = "import a name that the module defines"

    def on_import_failed(self, event: events.ImportFailed, plan: Plan) -> Iterator[Report]:
        yield Report(
            event.site,
            f"`{event.module}` has no `{event.name}`",
            related=((Site(event.file, 0), f"`{event.module}`"),),
        )
