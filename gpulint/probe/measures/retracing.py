"""Why functions were traced again, in words, and what helps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Function, Retrace

MOST_FIXES = 2
MOST_ARGUMENTS = 3

_LAST = re.compile(r"\((\d+)(,.*)\) → \((\d+)\2\)")
"""An example of a shape whose first dimension changed."""

_TEXTS = {
    "shape": "the shape of `{argument}` changed, first {example}",
    "dtype": "the dtype of `{argument}` changed, first {example}",
    "value": "the Python value of `{argument}` changed, first {example}",
    "object": "`{argument}` was another object, first {example}",
    "model": "`{argument}` was another model, first {example}",
    "structure": "`{argument}` was passed in another form, first {example}",
    "function": "it was another function object",
    "context": "it was called under another device, strategy or function",
}

_FIXES = {
    "shape": "give it an `input_signature` with `None` where the shape of {argument} changes, "
    "or `reduce_retracing=True`",
    "dtype": "cast {argument} to one dtype before the call",
    "value": "pass {argument} as a tensor",
    "object": "pass the same object as {argument} each time, or the tensors in it",
    "model": "pass the same model as {argument} each time, with other weights (`set_weights`) if need be",
    "structure": "always pass {argument} in the same form",
    "function": "create the function once, outside the loop",
    "context": "call it under one device and strategy",
}

_OF_LIBRARY = "give all batches one shape and dtype: `drop_remainder=True`, `padded_batch`, `tf.cast`"
"""The program cannot change a library's function, such as the training step of `fit`."""


def causes_of(name: str, capture: Capture) -> Counter[Retrace]:
    """The causes of a function's retraces."""
    return Counter({one: count for one, count in capture.retraces.items() if one.function == name})


def in_words(causes: Counter[Retrace]) -> list[str]:
    """Each cause with its number, the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for one, count in causes.items():
        key = one.cause, one.argument
        counts[key] += count
        examples.setdefault(key, one.example)
    return [
        f"{count} ×: {_TEXTS[cause].format(argument=argument, example=examples[cause, argument])}"
        for (cause, argument), count in counts.most_common()
        if cause in _TEXTS
    ]


def fixes(causes: Counter[Retrace]) -> str:
    """Fixes for the most frequent causes, "" if none is known."""
    found: dict[str, list[Retrace]] = {}
    for one, _ in causes.most_common():
        fix = _FIXES.get(one.cause, "")
        if not one.own:
            fix = _OF_LIBRARY if one.cause in ("shape", "dtype") else ""
        found.setdefault(fix, []).append(one)
    return "; ".join(_fix(fix, ones) for fix, ones in [*found.items()][:MOST_FIXES] if fix)


def _fix(fix: str, causes: Iterable[Retrace]) -> str:
    """A fix for all arguments with the same cause."""
    arguments = list(dict.fromkeys(f"`{one.argument}`" for one in causes))[:MOST_ARGUMENTS]
    named = fix.format(argument=" and ".join(filter(None, (", ".join(arguments[:-1]), arguments[-1]))))
    if fix == _FIXES["shape"] and all(_is_last(one.example) for one in causes):
        return f"make all batches the same size (`batch(…, drop_remainder=True)`), or {named}"
    return named


def _is_last(example: str) -> bool:
    """Whether only the first dimension changed, and became smaller, as that of the last batch does."""
    found = _LAST.search(example)
    return found is not None and int(found[3]) < int(found[1])


def needed(causes: Counter[Retrace]) -> int:
    """Number of retraces that no change saves: a line that calls the function with one other model needs its graph.
    A line that does so again and again may be a loop over models that one could serve."""
    return sum(count for one, count in causes.items() if one.cause == "model" and count == 1)


def is_recreated(function: Function, capture: Capture, most: int) -> bool:
    """Whether a function is created for each call: more than `most` functions of its code ran only once. The objects of
    a class and the folds of a validation have a function each, too, but that runs more often."""
    again = sum(count for one, count in causes_of(function.name, capture).items() if one.cause == "function")
    steps = sum(one.taken + one.merged for one in capture.steps.values() if one.name == function.name)
    runs = function.runs + steps
    return again >= most and 0 < runs <= function.made
