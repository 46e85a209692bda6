"""GPU902."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events, possible, values
from gpulint.plugin.facts import LOADS_MODEL, SAVES_MODEL
from gpulint.plugin.queries import is_version_checked, known, symbol_of
from gpulint.plugin.symbols import Symbol


class FileFormat(Rule):
    """File format that Keras 3 does not have

    ## What it does
    Finds paths in `save`, `save_weights`, `load_weights`, `load_model` and `ModelCheckpoint` whose ending Keras 3
    refuses: a folder, `.ckpt`, weights that do not end in `.weights.h5`, and `save_format="tf"`.

    ## Why is this bad
    The call raises ValueError. That of `save` is usually the last line of a training run, which is then lost (measured
    on TensorFlow 2.21 with Keras 3.15).

    ## Example
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.save("trained")
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.save("trained.keras")
    ```

    ## What is not reported
    Paths whose ending is unknown; objects other than Keras models; programs on Keras 2; calls behind a version check or
    in a `try` whose handler goes on. As this depends on the release, the rule is on by default only for files whose
    TensorFlow release is known.

    ## At run time
    ValueError.
    """

    code = "GPU902"
    name = "file-format"
    severity = Severity.ERROR
    asks_release = True
    context_insensitive = True
    raises = True
    any_of_names = frozenset(
        {".save(", ".save_weights", ".load_weights", "load_model", "save_model", "ModelCheckpoint", "save"}
    )
    why = "Keras 3 raises ValueError, often only once training has finished"
    instead = "use a file name that ends in `.keras`"

    def on_weights_used(self, event: events.WeightsUsed, plan: Plan) -> Iterator[Report]:
        owner = event.owner
        if not isinstance(owner, values.Model) or owner.is_private is not False:
            return
        if owner.library.startswith("tensorflow.keras.") and event.how in _ENDINGS:
            yield from self._refused(event, event.how, plan)

    def on_library_called(self, event: events.LibraryCalled, plan: Plan) -> Iterator[Report]:
        if event.is_private:
            return
        last = event.name.rpartition(".")[2]
        if event.name in SAVES_MODEL:
            yield from self._refused(event, "save", plan, position=1)
        elif event.name == LOADS_MODEL:
            yield from self._refused(event, "load_model", plan)
        elif last == "ModelCheckpoint":
            only = event.arguments.get("save_weights_only", 4)
            if only is None or isinstance(known(only), bool):
                how = "save_weights" if only is not None and known(only) else "checkpoint"
                yield from self._refused(event, how, plan)

    def _refused(
        self, event: events.WeightsUsed | events.LibraryCalled, how: str, plan: Plan, position: int = 0
    ) -> Iterator[Report]:
        """The report about a path or format that Keras 3 refuses."""
        if not plan.runs_keras_3 or is_version_checked(event.where):
            return
        told = event.arguments.get("save_format") if how == "save" else None
        if known(told) in ("tf", "tensorflow"):
            message, instead = "Keras 3 cannot save a model in TensorFlow's SavedModel format", _EXPORT
        else:
            ways = possible(event.arguments.get("filepath", position), event.where)
            endings = [_ending(one) for one in ways]
            if not endings or not all(one is not None and _is_refused(one, how) for one in endings):
                return
            shown = _shown(str(endings[0]))
            what = f"a path that ends in `{shown}`" if "." in shown else f"a path without an extension: `{shown}`"
            message = f"Keras 3 cannot {_DOES[how]} {what}"
            instead = _INSTEAD[how]
            if endings == [_LATEST]:
                message = "Keras 3 cannot load weights from a checkpoint of `tf.train.Checkpoint`"
        why = "Keras 3 raises ValueError" if how.startswith("load") else ""
        yield Report(event.site, message, why=why, instead=instead, confidence=confidence(event.where))


_OF_MODELS = (".keras", ".h5", ".hdf5")
_ENDINGS = {
    "save": _OF_MODELS,
    "save_weights": (".weights.h5", ".weights.json"),
    "load_weights": (*_OF_MODELS, ".weights.json"),
    "load_model": _OF_MODELS,
    "checkpoint": (".keras", ".h5"),
}
"""How a file is written or read → the endings that Keras 3.0 to 3.15 accept for it."""

_EXPORT = "save to a file name that ends in `.keras`; `model.export(folder)` writes a SavedModel for serving"
_WEIGHTS = "use a file name that ends in `.weights.h5`"
_INSTEAD = {
    "save": _EXPORT,
    "save_weights": _WEIGHTS,
    "load_weights": "save the weights to a `.weights.h5` file; read a TensorFlow checkpoint with "
    "`tf.train.Checkpoint(model=model).restore(path)`",
    "load_model": "save the model to a `.keras` file; a SavedModel is read by `tf.saved_model.load` or "
    "`keras.layers.TFSMLayer`",
    "checkpoint": "use a file name that ends in `.keras`",
}

_DOES = {
    "save": "save a model to",
    "save_weights": "save weights to",
    "load_weights": "load weights from",
    "load_model": "load a model from",
    "checkpoint": "save a model to",
}

_LATEST = "ckpt-1"
"""Ending of what `tf.train.latest_checkpoint` returns, by way of example."""


def _ending(path: values.Value) -> str | None:
    """End of a path, None if it is unknown."""
    if isinstance(path, values.PartialString):
        return path.parts[-1] or None
    text = known(path)
    if isinstance(text, str):
        return text or None
    return _ending_of(symbol_of(path))


def _ending_of(name: Symbol) -> str | None:
    """End of the path that a call of `os.path.join` or `tf.train.latest_checkpoint` returns."""
    kind, *rest = name.parts
    if kind != "call" or len(rest) != 2 or not isinstance(rest[1], tuple):
        return None
    called, given = rest
    if called == ("external", "tensorflow.train.latest_checkpoint"):
        return _LATEST
    if called != ("external", "os.path.join") or not given:
        return None
    last = given[-1]
    kind, *text = last.parts if isinstance(last, Symbol) else last
    if kind == "constant" and isinstance(text[-1], str):
        return f"/{text[-1]}"
    return str(text[0][-1]) if kind == "text" and text[0][-1] else None


def _is_refused(ending: str, how: str) -> bool:
    """Whether no path with this ending is accepted. A part of an ending may be preceded by the rest."""
    allowed = _ENDINGS[how]
    if how == "load_weights" and "." not in ending.rpartition("/")[2] and ending != _LATEST:
        return False  # Orbax reads folders
    return not any(ending.endswith(one) or one.endswith(ending) for one in allowed)


def _shown(ending: str) -> str:
    """The extension of a path; the last part if there is none."""
    last = ending.rpartition("/")[2] or ending
    stem, dot, extension = last.rpartition(".")
    return f"{dot}{extension}" if stem else last
