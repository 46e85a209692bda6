"""GPU105."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Draft, Edit, Plan, Refused, Report, Rule, Severity, Site, confidence, events, unsafe
from gpulint.plugin.facts import has_gpu_kernel
from gpulint.plugin.fixes import scopes, statements
from gpulint.plugin.words import DEVICE_NAMES, DEVICE_WORDS


class NoGpuKernel(Rule):
    """Pinned to a GPU without a GPU kernel

    ## What it does
    Finds operations in an explicit GPU scope for which TensorFlow has no GPU kernel, or none for the dtype (from the
    kernel registry of the CUDA build, `knowledge/kernels.json`), and functions that run such an operation for any
    arguments.

    ## Why is this bad
    The operation runs on the CPU anyway, with a copy each way. With soft placement off it fails with an error.

    ## Example
    ```python
    import tensorflow as tf

    with tf.device("/gpu:0"):
        words = tf.strings.lower(tf.constant(["A", "B"]))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    words = tf.strings.lower(tf.constant(["A", "B"]))
    ```

    ## What is not reported
    The operation outside the device scope, dtypes that have a kernel, functions that reach such an operation for some
    arguments only or also multiply matrices (`tf.nn.sampled_softmax_loss`), functions of a `tf.data` pipeline (they run
    on the host anyway).

    ## Fix
    Unsafe: moves the statement out of the scope if it is the first or the only one in it, else puts it in a CPU scope.
    Its result is then explicitly in host memory, where it already was.

    ## At run time
    Operations requested on the GPU that ran on the CPU.
    """

    code = "GPU105"
    name = "no-gpu-kernel"
    severity = Severity.WARNING
    why = (
        "it runs on the CPU, so its data is copied between GPU and CPU; without soft placement, TensorFlow raises an "
        "error"
    )
    instead = "call it outside the device scope"
    any_of_names = DEVICE_WORDS
    source_pattern = DEVICE_NAMES

    def on_op_called(self, event: events.OpCalled, plan: Plan) -> Iterator[Report]:
        scope = event.where.context.device
        if scope is None or scope.device is None or not scope.device.is_gpu:
            return
        if has_gpu_kernel(event.name, event.dtype) is False:
            name = self._written(event)
            yield Report(
                event.site,
                f"`{name}` has no GPU kernel"
                + (f" for {event.dtype}" if has_gpu_kernel(event.name, None) is None else ""),
                confidence=confidence(event.where),
                instead=f"call it outside `with {self.short(scope.site, 'tf.device(…)')}:`",
                related=((scope.site, f"the operation is pinned to `{scope.device}` here"),),
                supersedes=(scope.site,),
                fix=unsafe("Move it out of the scope: it runs on the CPU anyway", _on_cpu, event.site, scope.site),
            )

    def _written(self, event: events.OpCalled) -> str:
        """Name of the operation as the code has it, if it says at least the last part of that."""
        import libcst as cst  # slow to import, and seldom needed

        name = event.name.replace("tensorflow.", "tf.", 1)
        node = self.node(event.site)
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute | cst.Name):
            return name
        written = self.source(node.func)
        return written if written.rpartition(".")[2] == name.rpartition(".")[2] else name


def _on_cpu(draft: Draft, operation: Site, scope: Site) -> list[Edit]:
    """Move a statement out of the scope if it is the first or only one there. Otherwise place it on the CPU by name."""
    statement = draft.statement(draft.node(operation))
    within = scopes.managed(draft, scope)
    if within == [statement]:
        return statements.without_manager(draft, scope)
    if draft.node(operation) is not getattr(statement, "value", None):
        raise Refused("other operations are in the same statement")
    if within[:1] == [statement]:
        return statements.moved_out(draft, statement)
    device = draft.source(draft.node(scope)).partition("(")[0]
    return statements.wrapped(draft, statement, f"with {device}({draft.quoted('/CPU:0')}):")
