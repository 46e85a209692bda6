"""GPU304."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import (
    Draft,
    Edit,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    possible,
    safe,
    values,
)
from gpulint.plugin.words import ENVIRONMENT_WORDS


class EnvNotString(Rule):
    """Environment variable that is not a string

    ## What it does
    Finds `os.environ[…] = 0` and similar assignments of values that are not strings.

    ## Why is this bad
    TypeError: str expected, not int.

    ## Example
    ```python
    import os
    import tensorflow as tf

    os.environ["CUDA_VISIBLE_DEVICES"] = 0
    ```

    ## Use instead
    ```python
    import os
    import tensorflow as tf

    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    ```

    ## What is not reported
    Strings, `str(…)`, unknown values, None where a test or the end of a loop has ruled it out.

    ## Fix
    Safe for an integer that is written in the statement: puts quotes around it. Unfixed, the program fails.

    ## At run time
    The TypeError.
    """

    code = "GPU304"
    name = "env-not-string"
    severity = Severity.ERROR
    why = "Python raises TypeError: `os.environ` values must be strings"
    instead = "put it in quotes, or convert it with `str(…)`"
    context_insensitive = True
    any_of_names = ENVIRONMENT_WORDS
    source_pattern = r"environ|putenv"
    in_graph_mode = True

    def on_environment_set(self, event: events.EnvironmentSet, plan: Plan) -> Iterator[Report]:
        if event.option is not None:
            yield Report(
                event.site,
                f"`{event.key or 'an environment variable'}` is set to an option of type {event.option}",
                confidence=confidence(event.where),
            )
        name = f"`{event.key or 'an environment variable'}`"
        for value in possible(event.value, event.where):
            if isinstance(value, values.Constant) and not isinstance(value.value, str):
                kind = f"the {type(value.value).__name__} " if value.value is not None else ""
                yield Report(
                    event.site,
                    f"{name} is set to {kind}`{value.value!r}`; it must be a string",
                    instead=_unset(event.key) if value.value is None else f'write `"{value.value!r}"`, with quotes',
                    confidence=confidence(event.where),
                    fix=safe(f'Write it as a string, `"{value.value!r}"`', _quoted, event.site, value.origin)
                    if type(value.value) is int and value.origin is not None
                    else None,
                )
                return


def _unset(variable: str | None) -> str:
    """What to write instead of None."""
    hide = '; to hide all GPUs, set it to `"-1"`' if variable == "CUDA_VISIBLE_DEVICES" else ""
    return f"to unset it, call `os.environ.pop({variable!r}, None)`{hide}" if variable else "remove it to unset it"


def _quoted(draft: Draft, setting: Site, number: Site) -> list[Edit]:
    """Put quotes around the number if it is in the statement itself."""
    literal = draft.node(number)
    if draft.statement(literal) is not draft.statement(draft.node(setting)):
        raise Refused("the number is also used elsewhere")
    return [draft.rewrite(literal, draft.quoted(draft.source(literal)))]
