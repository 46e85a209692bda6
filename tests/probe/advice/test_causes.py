"""Only causes whose cure gains time are advised."""

from __future__ import annotations

import pkgutil

from gpulint.probe.advice import causes
from gpulint.probe.advice.advice import CAUSES
from gpulint.probe.advice.advise import advise
from gpulint.probe.capture.contents import Capture
from tests.probe.advice.seen import HERE, capture, heavy, opened
from tests.probe.advice.times import spent


def test_ignored_causes_are_left_out() -> None:
    time = spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 4))
    (one,) = advise(capture(), (), time, ignored=("retracing",))
    assert not advise(capture(), (), time, ignored=("retracing", one.cause))


def test_a_run_without_a_cause_gets_no_advice() -> None:
    time = spent({"gpu": 9.6, "launch": 0.1, "input": 0.1, "python": 0.2}, busy={"GPU:0": 0.96})
    assert not advise(heavy("bfloat16"), (), time)
    assert not advise(capture(logical=("CPU:0",)), (), spent({"launch": 9.9, "python": 0.1}))
    assert not advise(Capture(), (), None)


def test_each_cause_of_the_contract_has_a_module() -> None:
    assert {one.name.replace("_", "-") for one in pkgutil.iter_modules(causes.__path__)} == set(CAUSES)
