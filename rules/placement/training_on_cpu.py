"""GPU108."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpulint.plugin import JustifyingComment, Plan, Report, Rule, Severity, Site, confidence, events, together, values
from gpulint.plugin.facts import LOADS_MODEL
from gpulint.plugin.queries import are_few, callers, is_test, known, updates, without_gpus
from gpulint.plugin.words import DEVICE_WORDS, ENVIRONMENT_WORDS


class TrainingOnCpu(Rule):
    """Training that the program keeps off the GPU

    ## What it does
    Finds `os.environ["CUDA_VISIBLE_DEVICES"] = "-1"` (or `""`) and `tf.config.set_visible_devices([], "GPU")` in a
    program that trains a convolutional or recurrent network, one with attention, or a ready-made one, and `fit` of such
    a network within `with tf.device("/CPU:0"):`.

    ## Why is this bad
    Such a line is often left over from debugging. TensorFlow then trains on the CPU, without a warning, while the GPU
    is idle. Rules about speed and memory have nothing to say about a program that hides all GPUs: this note is the only
    one about it.

    ## Example
    ```python
    import os

    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Conv1D(64, 3), tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.zeros((64, 8, 4)), tf.zeros((64, 6, 1)), epochs=100)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Conv1D(64, 3), tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.zeros((64, 8, 4)), tf.zeros((64, 6, 1)), epochs=100)
    ```

    ## What is not reported
    Settings under a condition, in a function that is not part of the training, or with a comment or docstring that says
    that the CPU is meant (one that the GPUs are disabled only repeats the line); variables that are set too late to
    have an effect; programs that only predict, convert or evaluate; networks of dense layers alone, which a CPU may
    train as fast; programs that also name a GPU, or that fit the same model elsewhere, too, as in a comparison; beside
    another `fit`, one of a single epoch; test files.

    ## At run time
    The operations on the GPU: there are none.
    """

    code = "GPU108"
    name = "training-on-cpu"
    severity = Severity.INFO
    any_of_names = DEVICE_WORDS | ENVIRONMENT_WORDS | {"set_visible_devices"}
    source_pattern = r"(?i)visible_devices|cpu"
    why = "TensorFlow does not use the GPU, which sits idle for the whole run"
    instead = "remove the line; if it is intended, the comment `# train on the CPU` beside it suppresses this finding"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        if not any(map(_needs_gpu, self.all(events.LayerBuilt, events.ModelBuilt))):
            return
        fits = self.all(events.ModelFitted)
        steps = [event for event in updates(plan) if not are_few(event.where.context.loops)]
        for entry, event in without_gpus(plan).items():
            work = _first((*fits, *steps), event, entry)
            if work is not None and not is_test(event.site.path) and not self._is_optional(event):
                yield Report(
                    event.site,
                    "all GPUs are hidden from a program that trains a model",
                    confidence=confidence(event.where),
                    related=((work.site, "the training runs on the CPU"),),
                    unless=_meant(event.site),
                )
        named = (one.scope.device for one in self.all(events.DeviceEntered))
        if any(one is None or one.is_gpu for one in named):
            return
        elsewhere = [one.model for one in fits if not one.where.context.is_on_cpu]
        for fitted in fits:
            scope = fitted.where.context.device
            if scope is None or not fitted.where.context.is_on_cpu or scope.chosen or fitted.where.path:
                continue
            if self._is_optional(fitted) or any(_are_alike(fitted.model, one) for one in elsewhere):
                continue
            epochs = fitted.arguments.get("epochs", 3)
            if elsewhere and (epochs is None or known(epochs) == 1 or not self._needs_gpu(fitted.model)):
                continue
            if not is_test(fitted.site.path):
                yield Report(
                    scope.site,
                    "`fit` runs on the CPU, within this device scope",
                    why="all operations of `fit` are placed on the CPU: the GPU sits idle",
                    instead="remove it; if it is intended, the comment `# train on the CPU` suppresses this finding",
                    confidence=confidence(fitted.where),
                    related=((fitted.site, "the training"),),
                    unless=_meant(scope.site),
                )

    def _needs_gpu(self, model: values.Model) -> bool:
        """Whether a model, or one that it is created from or calls, has a layer that takes many times as long on a
        CPU."""
        built = self.all(events.LayerBuilt, events.ModelBuilt, events.ModelCalled)
        models = [index for index, one in enumerate(built) if isinstance(one, events.ModelBuilt)]
        seen, pending = set[int](), [model]
        while pending:
            sought = pending.pop()
            if id(sought) in seen:
                continue
            seen.add(id(sought))
            for place, index in enumerate(models):
                event = built[index]
                if not isinstance(event, events.ModelBuilt) or event.model is not sought:
                    continue
                # a class creates its layers after the model exists, a function before
                after = models[place + 1] if place + 1 < len(models) else len(built)
                before = models[place - 1] + 1 if place else 0
                own = built[index:after] if sought.cls is not None else built[before : index + 1]
                if any(map(_needs_gpu, own)):
                    return True
                pending += [*event.parts, *(one.model for one in own if isinstance(one, events.ModelCalled))]
        return False

    def _is_optional(self, event: events.Event) -> bool:
        """Whether an event is in a branch that an option of the program decides about."""
        if event.where.context.flags:
            return True
        if not event.where.context.guards:
            return False
        import libcst as cst  # slow to import, and seldom needed
        import libcst.matchers as m

        tests = [node.test for node in map(self.node, event.where.context.guards) if isinstance(node, cst.If)]
        return not tests or not all(m.findall(test, m.Name("__name__")) for test in tests)


def _are_alike(one: values.Model, other: values.Model) -> bool:
    """Whether two models are created in the same place or are of one class, as those of a comparison are."""
    return one.site == other.site or (one.cls is not None and one.cls is other.cls)


def _needs_gpu(event: events.Event) -> bool:
    """Whether a layer or model is of a kind that takes many times as long on a CPU, or is read from a file."""
    if isinstance(event, events.ModelBuilt):
        return event.model.library == LOADS_MODEL or event.model.library.startswith(_READY)
    return isinstance(event, events.LayerBuilt) and event.layer.library.rpartition(".")[2].startswith(_HEAVY)


_READY = ("tensorflow.keras.applications.", "transformers.")

_HEAVY = ("Conv", "Depthwise", "GRU", "LSTM", "MultiHeadAttention", "SeparableConv")
"""First letters of the names of layers that compute much."""


def _first(work: Iterable[events.Event], setting: events.Event, entry: Site | None) -> events.Event | None:
    """The first event that trains where an entry point hides all GPUs; for None, where the program does."""
    for event in work:
        around = {caller.definition for caller in callers(event.where.caller)}
        if (entry is None or entry in around) and together(event.where, setting.where):
            return event
    return None


def _meant(place: Site) -> JustifyingComment:
    return JustifyingComment((place,), frozenset({"cpu", "cpus"}), _SUBJECTS)


_SUBJECTS = frozenset(
    {"force", "on", "only", "run", "running", "runs", "the", "to", "train", "training", "use", "using"}
)
"""Words beside "CPU" in a comment that says that it is meant: "run on the CPU", "CPU only"."""
