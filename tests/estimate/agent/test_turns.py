"""Threads of a program take turns in looking for the step."""

from __future__ import annotations

import threading

from gpulint.estimate.agent.turns import Turns

SECONDS = 10.0


def in_a_thread(turns: Turns, trains: bool) -> tuple[threading.Thread, list[bool]]:
    """A thread that asks for the turn, and what it was told."""
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(turns.begin(lambda: trains)))
    thread.start()
    return thread, answers


def test_the_thread_that_has_the_turn_goes_on() -> None:
    turns = Turns()
    assert turns.begin(lambda: True)
    assert not turns.begin(lambda: True)


def test_a_thread_that_trains_waits_for_the_turn() -> None:
    turns = Turns()
    turns.begin(lambda: True)
    thread, answers = in_a_thread(turns, trains=True)
    thread.join(0.2)
    assert thread.is_alive()
    turns.end()
    thread.join(SECONDS)
    assert answers == [True]


def test_a_thread_that_does_not_train_goes_on_without_the_turn() -> None:
    turns = Turns()
    turns.begin(lambda: True)
    thread, answers = in_a_thread(turns, trains=False)
    thread.join(SECONDS)
    assert answers == [False]


def test_a_thread_of_tensorflow_never_waits() -> None:
    class Replica(threading.Thread):
        """As `tensorflow.python.distribute.mirrored_run` starts them."""

        __module__ = "tensorflow.python.distribute.mirrored_run"
        answer: bool | None = None

        def run(self) -> None:
            self.answer = turns.begin(lambda: True)

    turns = Turns()
    turns.begin(lambda: True)
    replica = Replica()
    replica.start()
    replica.join(SECONDS)
    assert replica.answer is False
