"""The agent and TensorFlow's log agree on devices."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from gpulint.probe.capture.contents import Capture
from gpulint.probe.expectations.expectation import Expectation, Level, Run, violated
from gpulint.probe.measures.reasons import is_bookkeeping

_ID = "sources-disagree"
_ONEDNN = re.compile(r"^_Mkl(?:Native)?(?=[A-Z])")


def check(run: Run) -> Iterator[Expectation]:
    """Each kind of operation that both place, if they have no device in common.

    There is a log if the program asks for it, or if it stands in for lost evidence. An operation in only one source is
    no contradiction: TensorFlow logs each graph once, drops lines by log level, and moves operations after logging
    them. Nothing is compared in a simulation, whose GPUs are CPUs in the log.
    """
    capture = run.capture
    if capture.simulated or any(log.torn for log in capture.logs.values()):
        return
    yield from _compared("ran", _eager(capture), _devices(log.ran for log in capture.logs.values()))
    yield from _compared("put", _built(capture), _devices(log.placed for log in capture.logs.values()))


def _eager(capture: Capture) -> dict[str, Counter[str]]:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for ran, count in capture.executions.items():
        if ran.device:
            found[ran.op][ran.device] += count
    return found


def _built(capture: Capture) -> dict[str, Counter[str]]:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for node, count in capture.nodes.items():
        if node.assigned:
            found[node.op][node.assigned] += count
    return found


def _devices(logs: Iterable[Mapping[tuple[str, str], int]]) -> dict[str, Counter[str]]:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for log in logs:
        for (op, device), count in log.items():
            found[_ONEDNN.sub("", op)][device] += count
    return found


def _compared(verb: str, agent: Mapping[str, Counter[str]], log: Mapping[str, Counter[str]]) -> Iterator[Expectation]:
    for op, seen in agent.items():
        printed = log.get(op)
        if not printed or is_bookkeeping(op) or seen.keys() & printed.keys():
            continue
        yield violated(
            _ID,
            f"where `{op}` was {verb}" if verb == "put" else f"where `{op}` {verb}",
            f"{_in_words(printed)}, as TensorFlow's placement log says",
            f"{_in_words(seen)}, as the probe saw",
            evidence=(
                f"the log names {_in_words(printed, counted=True)}",
                f"the probe saw {_in_words(seen, counted=True)}",
            ),
            level=Level.WARN,
        )


def _in_words(devices: Counter[str], counted: bool = False) -> str:
    return ", ".join(f"{count:,} × {device}" if counted else device for device, count in devices.most_common())
