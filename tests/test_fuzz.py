"""A small budget of improbable input; `benchmarks/fuzz.py` has a large one."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import fuzzing
from tests.security.fuzzing import JUDGES

seeds = st.integers(0, 2**32)


@given(seeds)
@settings(max_examples=30)
def test_any_program_gets_an_answer(seed: int) -> None:
    fuzzing.judge_program("fuzzed.py", fuzzing.program(random.Random(seed)))


@given(seeds)
@settings(max_examples=50)
def test_any_notebook_gets_an_answer(seed: int) -> None:
    fuzzing.judge_program("fuzzed.ipynb", fuzzing.notebook(random.Random(seed)))


@given(seeds)
@settings(max_examples=100)
def test_any_log_is_read_alike_in_any_pieces(seed: int) -> None:
    rng = random.Random(seed)
    fuzzing.judge_log(rng, fuzzing.log(rng))


@given(seeds)
@settings(max_examples=40)
def test_any_capture_is_reported_or_refused(seed: int) -> None:
    fuzzing.judge_capture(fuzzing.capture(random.Random(seed)))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files and links")
@pytest.mark.parametrize("kind", JUDGES)
def test_a_hostile_repository_is_checked_to_its_end(kind: str) -> None:
    for seed in range(10):
        JUDGES[kind](random.Random(seed))


def test_programs_of_the_whole_grammar_get_an_answer() -> None:
    hypothesmith = pytest.importorskip("hypothesmith")

    @given(hypothesmith.from_node(), seeds)
    @settings(max_examples=5)
    def judge(program: str, seed: int) -> None:
        fuzzing.judge_program("fuzzed.py", fuzzing.with_tensorflow(random.Random(seed), program))

    judge()
