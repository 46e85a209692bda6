"""How values and conditions depend on what is not known. Not covered by `VERSION`."""

from __future__ import annotations

from gpulint.analysis.domain.changing_numbers import changing_in, differ_in_numbers
from gpulint.analysis.domain.host_arrays import SMALL_IMAGE, HostArray, host_array, images_in, is_training_data
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.path_conditions import (
    EVERYWHERE,
    Condition,
    Literal,
    Path,
    compatible,
    is_complete,
    length_of,
    literal_of,
    mentions,
    words_of,
)
from gpulint.analysis.domain.random_draws import is_drawn
from gpulint.analysis.domain.symbolic import COUNTER, Symbol, constants_in
from gpulint.analysis.domain.symbolic_patterns import (
    is_array,
    is_batch,
    is_given,
    is_next_batch,
    is_observed,
    is_of_batch,
    is_prepared,
    is_read_element,
    is_single,
    is_small_part,
    numpy_functions,
    round_trip,
    varies,
)

__all__ = [
    "COUNTER",
    "EVERYWHERE",
    "SMALL_IMAGE",
    "Condition",
    "HostArray",
    "Literal",
    "Path",
    "Symbol",
    "changing_in",
    "compatible",
    "constants_in",
    "differ_in_numbers",
    "host_array",
    "images_in",
    "is_array",
    "is_batch",
    "is_complete",
    "is_drawn",
    "is_given",
    "is_next_batch",
    "is_observed",
    "is_of_batch",
    "is_prepared",
    "is_read_element",
    "is_single",
    "is_small_part",
    "is_training_data",
    "length_of",
    "literal_of",
    "mentions",
    "numpy_functions",
    "round_trip",
    "varies",
    "words",
    "words_of",
]
