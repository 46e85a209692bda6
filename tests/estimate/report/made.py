"""A hand-written estimate."""

from __future__ import annotations

import os
from dataclasses import replace

from gpulint.estimate import cards
from gpulint.estimate.result import Estimate, Holder, Memory, Moment, Timing
from gpulint.estimate.time.bounds import LAUNCH
from gpulint.probe.capture.records import Where
from tests.estimate.time.made import dense, op, tensor

GIB = 1 << 30


def memory(limit: int) -> Memory:
    """9.5 GiB at the peak, which does not fit into 8 GiB."""
    return Memory(
        limit=limit,
        steady_peak=19 * GIB // 2,
        least_peak=9 * GIB,
        first_step_peak=10 * GIB,
        process=11 * GIB,
        fits="yes" if limit > 9.5 * GIB else "no",
        largest_batch=limit // (GIB // 8),
        by_group={"activations": 8 * GIB, "weights": GIB, "slots": GIB // 2},
        holders=[
            Holder("train.py", 10, "activations", 8 * GIB, "dense"),
            Holder("train.ipynb", 11, "weights", GIB, cell=2),
            Holder("", 0, "slots", GIB // 2),
        ],
        curve=[Moment(number * GIB // 100, "MatMul", "train.py", 10) for number in range(951)],
        changes=["mixed precision saves 2 GiB (21 %)"],
    )


def estimate(names: str = "H200,memory=8GiB", with_memory: bool = True) -> Estimate:
    """Two matrix products at train.py:10 and :11, one of them with an FFT, on an H200 and on a card by numbers."""
    graph = dense(64, 16384, 16384, layers=2)
    fft = op("fft", "FFT", [4], [tensor(64, 16384, dtype="complex64")])
    operations = (*graph.body.operations, fft)
    step = replace(graph, body=replace(graph.body, operations=operations, must_run=(5,)), unknown=("x[1]",))
    doubled = dense(128, 16384, 16384, layers=2)
    timing = Timing(step, doubled)
    chosen = [timing.on(card, [8], LAUNCH, memory(card.limit) if with_memory else None) for card in cards.cards(names)]
    others = (("train_generator", Where(os.path.abspath("train.py"), 30)),)
    return Estimate(step, timing.steps, chosen, True, LAUNCH, ("Memory: liveness.",), others)
