"""The largest batch that fits into the memory that was too small."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Data, Where
from gpulint.probe.measures.holders import Held, Holder
from gpulint.probe.measures.out_of_memory import Fitting, largest_batch, needed_to_run, refused, with_needed

HERE = Where("/p/train.py", 9)
MIB = 1 << 20


def failed(batch: int, size: int, **contents: Any) -> Capture:
    error = contents.pop("error", f"ResourceExhaustedError: OOM when allocating {size} bytes beyond the limit")
    seen = {"data": Counter({Data(HERE, "arrays", 0, 8): 1, Data(HERE, "arrays", 0, batch): 1})}
    return Capture(error=error, error_at=HERE, **{"limits": {"GPU:0": 300 * MIB}, **seen, **contents})


def held(**sizes: int) -> list[Held]:
    holders = tuple(Holder("GPU:0", group, None, size * MIB) for group, size in sizes.items())
    return [Held("GPU:0", sum(sizes.values()) * MIB, None, None, None, holders)]


@pytest.mark.parametrize(
    ("batch", "size", "holders", "known"),
    [
        (4096, 400, {"weights": 50, "slots": 100}, Fitting(4096, 1536)),  # 150 of 400 MiB are left
        (64, 100, {"weights": 100, "activations": 200}, Fitting(64, 42)),  # 200 of 300 MiB
        (64, 100, {"weights": 300}, Fitting(64, 0)),
        (0, 400, {"weights": 100}, Fitting(32, 16)),  # the batch of Keras
        (64, 10, {"weights": 100, "activations": 100}, None),  # it would have fitted, were memory not in pieces
    ],
)
def test_what_grows_with_the_batch_must_fit_beside_what_does_not(
    batch: int, size: int, holders: dict[str, int], known: Fitting | None
) -> None:
    seen = {"data": Counter({Data(HERE, "arrays", 0, 0): 1})} if not batch else {}
    assert largest_batch(failed(batch, size * MIB, **seen), held(**holders)) == known


def test_a_function_without_room_on_simulated_gpus_needed_all_that_is_not_held() -> None:
    error = (
        f"ResourceExhaustedError: OOM when allocating {100 * MIB} bytes beyond the {300 * MIB} of all simulated GPUs"
    )
    seen = failed(64, 0, error=f"{error} [Op:__inference_train_step_417]", simulated=1)
    assert needed_to_run(seen, held(weights=50, python=50)) == ("train_step", 300 * MIB)
    assert largest_batch(seen, held(weights=50, python=50)) == Fitting(64, 42)  # 200 of 300 MiB
    others = [*held(weights=50), held(weights=50)[0]._replace(device="GPU:1")]
    assert largest_batch(seen, others) is None
    assert needed_to_run(failed(64, 9), []) is None
    (full,) = with_needed(seen, held(weights=50, python=50))
    assert (full.peak, full.holders[0]) == (400 * MIB, Holder("GPU:0", "other", HERE, 300 * MIB))
    assert with_needed(seen, others) == tuple(others)


def test_nothing_is_reported_where_something_is_unknown() -> None:
    assert largest_batch(failed(64, 400 * MIB, limits={}), held(weights=100)) is None
    assert largest_batch(failed(64, 400 * MIB), []) is None
    assert largest_batch(failed(64, 400 * MIB, data=Counter()), held(weights=100)) is None
    assert largest_batch(Capture(), held(weights=100)) is None


@pytest.mark.parametrize(("gpus", "device"), [((), ""), (("GPU:0",), "GPU:0"), (("GPU:0", "GPU:1"), "")])
def test_an_error_that_names_no_device_is_that_of_the_only_gpu(gpus: tuple[str, ...], device: str) -> None:
    assert refused(failed(64, 400 * MIB, logical=("CPU:0", *gpus))) == (device, 400 * MIB)
