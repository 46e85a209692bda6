"""Work that a Python generator does for each element of a tf.data pipeline."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.generator_work import GeneratorWork
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.traversal import leaves
from gpulint.analysis.domain.values.base import NONE, Arguments, symbol_of
from gpulint.analysis.domain.values.functions import Bound, Function, Partial
from gpulint.analysis.engine.machine import Machine
from gpulint.knowledge.watched import TENSOR_READERS
from gpulint.places import Site

_SLOW = (
    *("PIL.", "SimpleITK.", "albumentations.", "cv2.", "imageio.", "imgaug.", "librosa.", "nibabel.", "pydicom."),
    *("rasterio.", "rdkit.", "scipy.", "skimage.", "soundfile.", "tifffile."),
    *("h5py.File", "matplotlib.image.imread", "matplotlib.pyplot.imread", "pandas.read_", "wave.open"),
    *("numpy.fft.", "numpy.fromfile", "numpy.genfromtxt", "numpy.linalg.", "numpy.load"),
    *("tensorflow.keras.preprocessing.image.load_img", "tensorflow.keras.utils.load_img"),
)
"""Prefixes of the names of functions that read a file or compute a lot on the host."""


MAX_STEPS = 2_000
"""Maximum number of expressions and statements of a generator that are evaluated."""


def record_call(machine: Machine, name: str, site: Site) -> None:
    """Record a library call by the generator that is being run, if there is one."""
    work = machine.library_state.generator
    if work is None:
        return
    if name.startswith(_SLOW):
        work.called(site, machine.context.loops)
    if name.startswith((*_SLOW, *TENSOR_READERS)):
        work.has_read(machine.context.loops)


def give_names(types: list[str]) -> bool:
    """Whether these dtypes are those of names and labels: a string first, or a string and no floats."""
    text = "tensorflow.string"
    return text in types and (types[0] == text or not any("float" in one for one in types))


def gives_names(arguments: Arguments, work: GeneratorWork) -> bool:
    """Whether `from_generator` declares names, and its generator does not read the files they name."""
    given = [arguments.get("output_types", 1) or NONE, arguments.get("output_signature") or NONE]
    types = [_type_of(symbol_of(leaf)) for value in given for leaf in leaves(value) if leaf is not NONE]
    return give_names(types) and not work.reads


def _type_of(name: Symbol) -> str:
    """Dtype that a symbol names, directly or in a `TensorSpec`. Empty for others than strings and floats."""
    return next((word for word in sorted(name.words) if word == "tensorflow.string" or "float" in word), "")


def run_generator(machine: Machine, arguments: Arguments, site: Site) -> GeneratorWork:
    """Work of the generator passed to `from_generator`; empty where the generator is unknown."""
    function = machine.choose(arguments.get("generator", 0) or NONE)
    if not isinstance(function, (Function, Partial, Bound, Object)):
        return GeneratorWork()
    before = machine.library_state.generator
    machine.library_state.generator = work = GeneratorWork()
    with machine.speculate(MAX_STEPS):
        machine.context = machine.context._replace(devices=(), scopes=(), replica=None, traced=None, loops=())
        machine.call(function, Arguments(open=True), site)
        work.has_ended = True
    machine.library_state.generator = before
    return work
