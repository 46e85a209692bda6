"""Keras, once the program has imported it: calls of its models, and the data passed to `fit`."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from gpulint.probe.agent.callbacks import Callbacks
from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.holders import Holder, Holders, array_bytes
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.shares import Shares, of_arrays, of_dataset
from gpulint.probe.agent.states import States
from gpulint.probe.agent.tally import Tally
from gpulint.probe.agent.writer import Writer

METHODS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
"""Methods of `keras.Model` that are counted and timed."""

STAGES = {"evaluate": "evaluation", "predict": "prediction"}
"""Methods that are a stage of the program by themselves → the name of the stage."""

NAMES = ("keras", "tf_keras")
"""Keras packages; the second is Keras 2 beside TensorFlow from 2.16 on."""

TRAINING = "fit"

ARRAYS, DATASET, GENERATOR, OTHER = "arrays", "dataset", "generator", "other"
LOADER, LIBRARY, SEQUENCE = "PyDataset", "PyDataset of a library", "Sequence"
"""Kinds of data that are passed to `fit`. A `PyDataset` of a library is one that the program did not write; `Sequence`
is Keras 2's."""

LOADERS = (LOADER, LIBRARY, SEQUENCE)
"""Kinds that Python loads in `workers`."""

_KINDS = {"PyDataset": LOADER, "Sequence": SEQUENCE, "DatasetV2": DATASET, "DistributedDatasetInterface": DATASET}
"""Name of a base class of the data → its kind."""


class Models:
    """Counts calls of models by method and line, with their seconds, and the data passed to `fit`."""

    def __init__(
        self, writer: Writer, places: Places, hooks: Hooks, fault: Guard, holders: Holders, states: States
    ) -> None:
        self._writer, self._places, self._hooks, self._states = writer, places, hooks, states
        self._holders = holders
        self._callbacks = Callbacks(places, hooks, fault, states)
        self._size = guarded("arrays", fault, array_bytes)
        self._note = guarded("models", fault, self._count)
        self._note_data = guarded("data of models", fault, self._count_data)
        self.calls = Tally("models")
        self.data = Tally("data")
        self.splits = Tally("splits")
        """Batches of `fit` under a strategy, by the elements of each replica."""
        self._note_shares = guarded("shares of replicas", fault, self._count_shares)
        self._value_of: Callable[[Any], Any] | None = None
        self.begun = 0
        """Calls started so far, of all methods."""
        self.on_ended: Callable[[], None] | None = None
        """If set, called when a method has ended."""

    def watch(self, internals: Internals) -> None:
        """TensorFlow has been imported."""
        self._value_of = internals.value_of

    def imported(self, keras: Any) -> None:
        """Keras has just been imported."""
        self._writer.write("keras", name=keras.__name__, version=str(getattr(keras, "__version__", "")))
        for name in METHODS:
            if (method := getattr(keras.Model, name, None)) is not None:
                self._hooks.replace(keras.Model, name, self._counted(name, method))
        self._callbacks.imported(keras)

    def _counted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        states = self._states
        nothing = nullcontext()

        @functools.wraps(method)
        def counted(*arguments: Any, **keywords: Any) -> Any:
            self.begun += 1
            if name == TRAINING:
                self._note_data(arguments[1] if len(arguments) > 1 else keywords.get("x"), keywords)
            size = self._size((arguments[1:], keywords)) or 0
            holding = self._holders.during(Holder("", "input", self._places.here(2), name), size) if size else nothing
            began = time.perf_counter()
            depth = states.depth
            if name == TRAINING:
                self._callbacks.depth = depth
            elif (stage := STAGES.get(name)) is not None:
                states.begin_stage(stage, self._places.here(2))
            try:
                with holding:
                    result = method(*arguments, **keywords)
                if name == TRAINING:
                    self._note_shares(arguments, keywords, result)
                return result
            finally:
                if self.on_ended is not None:
                    self.on_ended()
                states.end_stages(depth)
                self._note(name, time.perf_counter() - began)

        return counted

    def _count(self, name: str, seconds: float) -> None:
        self.calls.add(self._places.here(), name, numbers=(1, seconds))

    def _count_data(self, data: Any, keywords: dict[str, Any]) -> None:
        kind = _kind(data)
        if kind == LOADER and self._places.of_function(type(data).__getitem__) is None:
            kind = LIBRARY
        workers = keywords.get("workers", getattr(data, "workers", 1)) if kind in LOADERS else 0
        batch = keywords.get("batch_size") or 0
        self.data.count(self._places.here(), kind, int(workers), int(batch))

    def _count_shares(self, arguments: tuple[Any, ...], keywords: dict[str, Any], history: Any) -> None:
        """`fit` has returned, after all batches of each epoch."""
        given = {**dict(zip(("model", "x", "y", "batch_size"), arguments, strict=False)), **keywords}
        strategy = getattr(given.get("model"), "distribute_strategy", None)
        replicas = getattr(strategy, "num_replicas_in_sync", 1)
        if strategy is None or replicas < 2 or len(strategy.extended.worker_devices) < replicas:
            return
        if keywords.get("steps_per_epoch") or keywords.get("validation_split"):
            return
        data = given.get("x")
        kind = _kind(data)
        found: Counter[Shares] = Counter()
        if kind == ARRAYS:
            found = of_arrays(data, given.get("batch_size"), replicas)
        elif kind == DATASET and self._value_of is not None:
            found = of_dataset(data, replicas, self._value_of)
        for sizes, count in found.items():
            self.splits.add(self._places.here(), sizes, numbers=(count * len(getattr(history, "epoch", ())),))


def _kind(data: Any) -> str:
    for base in type(data).__mro__:
        if base.__name__ in _KINDS and base.__module__.partition(".")[0] in (*NAMES, "tensorflow"):
            return _KINDS[base.__name__]
    if isinstance(data, (list, tuple, dict)) or hasattr(data, "shape"):
        return ARRAYS
    return GENERATOR if hasattr(data, "__next__") else OTHER
