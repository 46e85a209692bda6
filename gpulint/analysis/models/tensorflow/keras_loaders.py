"""Keras's Python loaders: subclasses of `PyDataset` (formerly `Sequence`), whose `__getitem__` prepares a batch."""

from __future__ import annotations

from contextlib import suppress

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.values.base import Arguments, Unknown, Value
from gpulint.analysis.domain.values.functions import UserClass
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.plan import events
from gpulint.knowledge.watched import IMAGE_READERS, TENSOR_READERS
from gpulint.places import Site

_LOADERS = frozenset({"tensorflow.keras.utils.PyDataset", "tensorflow.keras.utils.Sequence"})

_PARALLEL = ("workers", "use_multiprocessing")
"""Arguments of the constructor, and properties, that decide how many threads or processes prepare batches."""

_SLOW = (
    *IMAGE_READERS,
    *("albumentations.", "cv2.warp", "h5py.File", "imgaug.", "librosa.", "numpy.load", "scipy.io.", "scipy.ndimage."),
    *("skimage.transform.", "soundfile."),
)
"""Prefixes of the names of functions that read a file or transform an image."""


def record_call(machine: Machine, name: str, site: Site) -> None:
    """Record a call of a library function that takes long for each sample."""
    if name.startswith(_SLOW) or (name.startswith(TENSOR_READERS) and not machine.context.may_be_traced):
        machine.emit(events.SampleRead(site, machine.where(), name))


def is_loader(value: Value) -> bool:
    return isinstance(value, Instance) and value.cls is not None and _is_of_keras(value.cls)


def _is_of_keras(cls: UserClass) -> bool:
    return not _LOADERS.isdisjoint(cls.libraries())


def constructed(machine: Machine, receiver: Value, arguments: Arguments) -> None:
    """Note the number of workers that the constructor of Keras's class receives."""
    if isinstance(receiver, Instance) and is_loader(receiver):
        for name in _PARALLEL:
            given = arguments.get(name, _PARALLEL.index(name))
            if given is None and arguments.open:
                given = Unknown((name, receiver.site))
            if given is not None:
                machine.state.write(receiver.attributes, name, given)


def prepare_batch(machine: Machine, loader: Value, site: Site) -> None:
    """Run `__getitem__` as `fit` does, in a thread and outside all scopes."""
    if isinstance(loader, Instance) and loader.cls is not None and is_loader(loader):
        if (found := loader.cls.find("__getitem__")) is not None:
            here = machine.context._replace(devices=(), scopes=(), replica=None, traced=None, loops=())
            with machine.within(here), suppress(PathEnds):
                machine.call_method(loader, found[0], Arguments((Unknown(("index", site)),)), site)
