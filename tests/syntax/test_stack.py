"""Threads with deep stacks, several at a time."""

from __future__ import annotations

import gc
import os
import sys
import threading

import pytest

from gpulint.linting.deep_stack import RECURSION_LIMIT, on_deep_stack
from gpulint.syntax.stack import on_stack

Settings = tuple[int, int, tuple[int, int, int]]


def settings() -> Settings:
    return sys.getrecursionlimit(), threading.stack_size(), gc.get_threshold()


def deep(levels: int) -> int:
    """Recurse through C, too, which needs stack space."""
    return 1 + max([deep(levels - 1)], key=lambda each: each) if levels else 0


def test_threads_that_overlap_have_their_stacks_and_leave_the_process_as_it_was() -> None:
    before = settings()
    failures: list[BaseException] = []
    first_is_done = threading.Event()

    def slow() -> int:
        first_is_done.wait(60)
        assert sys.getrecursionlimit() == RECURSION_LIMIT, "somebody else took the limit back"
        return deep(5_000)

    def run(work: object, ends: bool) -> None:
        try:
            on_deep_stack(work)  # type: ignore[arg-type]
        except BaseException as error:
            failures.append(error)
        if ends:
            first_is_done.set()

    threads = [threading.Thread(target=run, args=(slow, False)) for _ in range(3)]
    threads.append(threading.Thread(target=run, args=(lambda: deep(5_000), True)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert settings() == before


def test_what_the_work_raises_is_raised_and_the_process_is_as_it_was() -> None:
    before = settings()
    with pytest.raises(KeyError, match="wrong"):
        on_stack(lambda: {}["wrong"], 64 * 1024 * 1024, 5_000)
    assert settings() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_forked_meanwhile_has_the_limits_of_before() -> None:
    before = sys.getrecursionlimit()
    inside, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        go_on.wait(60)

    thread = threading.Thread(target=lambda: on_deep_stack(wait))
    thread.start()
    inside.wait(60)
    child = os.fork()
    if not child:
        good = sys.getrecursionlimit() == before and on_deep_stack(lambda: deep(5_000)) == 5_000
        os._exit(0 if good and sys.getrecursionlimit() == before else 1)
    status = os.waitpid(child, 0)[1]
    go_on.set()
    thread.join()
    assert status == 0
    assert sys.getrecursionlimit() == before
