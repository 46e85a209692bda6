"""Python runs the program's own code between steps: callbacks, and lines of a loop."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes.eager_step import EAGER_OPERATIONS, eager_lines
from gpulint.probe.agent.graphs import PIPELINE, STEP
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.functions import Function, Functions
from gpulint.probe.measures.time_spent import CODE, PartAt
from gpulint.probe.measures.time_words import duration, percent

CALLS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
"""The operations of `numpy_function` and `py_function`."""


_OF_KERAS = {
    "TensorBoard.on_epoch_end": "Write histograms of the weights less often: pass a larger `histogram_freq`, or 0.",
    "TensorBoard.on_train_batch_end": 'Write less often: pass a larger `update_freq`, or "epoch".',
}
"""Methods of Keras's callbacks → what makes them faster."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Lines between steps, and within them."""
    yield from _between(observed)
    yield from _within(observed)


def _within(observed: Observed) -> Iterator[Candidate]:
    """The `numpy_function` of a step: other threads run Python while the step's function runs. What pipelines run there
    cannot be told from it."""
    calls = Counter({one: count for one, count in observed.capture.nodes.items() if one.op in CALLS})
    in_step = Counter[Where | None]()
    for one, count in calls.items():
        in_step[one.where] += count if one.part == STEP else 0
    functions = (one for one in observed.time.by_line if one.name == "launch" and one.detail != EAGER_OPERATIONS)
    launching = sum(one.seconds for one in functions)
    if not any(in_step.values()) or any(one.part == PIPELINE for one in calls):
        return
    looked, lines = 0, Counter[Where | None]()
    for sample, count in observed.capture.samples.items():
        if sample.state == "launch":
            looked += count if sample.thread == "looked" else 0
            lines[sample.where] += count if sample.thread == "outside" else 0
    if not looked or not lines.total():
        return
    share = min(1.0, lines.total() / looked)
    (ran, _), *_ = lines.most_common()
    line = f" {ran.in_short}" if ran is not None else ""
    yield Candidate(
        "slow-python",
        in_step.most_common(1)[0][0],
        "each step waits for a function that Python runs",
        f"Python ran{line} in {percent(share)} of the time of the step's function.",
        "Use TensorFlow operations, or compute it in the input pipeline.",
        {"launch": launching * share},
    )


def _between(observed: Observed) -> Iterator[Candidate]:
    """Each callback; and each line, unless it is that of a `fit`, whose Python is Keras's, or launches eager
    operations. The lines of a function count together."""
    fits = {one.where for one in observed.capture.data}
    eager = {one.where for one in observed.time.by_line if (one.name, one.detail) == ("launch", EAGER_OPERATIONS)}
    aside = fits | eager | eager_lines(observed).keys()
    functions = _called_by_steps(observed)
    lines: dict[Where | tuple[str, int | None, Function], list[PartAt]] = defaultdict(list)
    for one in observed.time.by_line:
        if one.name != "python" or one.where is None:
            continue
        if "." in one.detail:
            fix = _OF_KERAS.get(one.detail, "Let this callback do less, or less often.")
            if one.where not in fits:
                fix = "Do it once per epoch, or in a separate thread."
            yield _candidate(observed, one.where, one.seconds, one.few, f"steps wait for `{one.detail}`", fix)
        elif one.detail == CODE and one.where not in aside:
            around = functions(one.where)
            key = one.where if around is None else (one.where.path, one.where.cell, around)
            lines[key].append(one)
    for key, parts in lines.items():
        most_of_all = max(parts, key=lambda part: part.seconds)
        seconds = sum(part.seconds for part in parts)
        few = max(part.few for part in parts) if most_of_all.few else 0
        text, most = "steps wait for Python on this line", ""
        if len(parts) > 1 and not isinstance(key, Where):
            text = f"steps wait for Python in `{key[2].name}`"
            most = f", {percent(most_of_all.seconds / seconds)} of it on this line"
        fix = "Do it in the input pipeline, less often, or in a separate thread."
        if few:
            fix = "Do it less often, or in a separate thread."
        meanwhile = _of_other_threads(observed, most_of_all.where)
        if meanwhile:
            fix = "Do less there, or let these threads work while the next steps run."
        yield _candidate(observed, most_of_all.where, seconds, few, text, fix, most, meanwhile)


def _of_other_threads(observed: Observed, where: Where | None) -> str:
    """What other threads ran, as a sentence, if a line waits for them; else ""."""
    waiting = 0
    lines = Counter[Where | None]()
    for sample, count in observed.capture.samples.items():
        if sample.state == "python":
            waiting += count if (sample.thread, sample.where) == ("training", where) else 0
            lines[sample.where] += count if sample.thread == "outside" else 0
    (ran, times), *_ = lines.most_common(1) or [(None, 0)]
    if ran is None or ran == where or 2 * lines.total() < waiting or not times:
        return ""
    return f" Meanwhile, other threads ran {ran.in_short}."


def _called_by_steps(observed: Observed) -> Callable[[Where], Function | None]:
    """Finds the function around a line, unless it contains the training loop."""
    functions = Functions(observed.capture)
    steps = [one.where for one in observed.capture.steps.values() if one.where is not None]
    loops = {(one.path, one.cell, function) for one in steps for function in functions.around(one)}

    def find(where: Where) -> Function | None:
        around = functions.around(where)
        return around[-1] if around and (where.path, where.cell, around[-1]) not in loops else None

    return find


def _candidate(
    observed: Observed,
    where: Where | None,
    seconds: float,
    few: int,
    text: str,
    fix: str,
    most: str = "",
    meanwhile: str = "",
) -> Candidate:
    time, steps = observed.time, max(observed.time.steps, 1)
    took = f"It takes {duration(seconds / steps)} of a {duration(time.seconds / steps)} step{most}."
    if few:
        took = f"It takes {duration(seconds / few)} each time, in {few:,} of {steps:,} steps{most}."
    return Candidate("slow-python", where, text, took + meanwhile, fix, {"python": seconds})
