"""GPU103."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.plugin import Draft, Edit, Plan, Refused, Report, Rule, Severity, Site, confidence, events, safe
from gpulint.plugin.fixes import calls
from gpulint.plugin.words import DEVICE_NAMES, DEVICE_WORDS, STRATEGY_WORDS


class MalformedDevice(Rule):
    """Device name that TensorFlow rejects

    ## What it does
    Finds device strings that TensorFlow cannot parse, in `tf.device`, `tf.DeviceSpec` and the device lists of
    strategies.

    ## Why is this bad
    TensorFlow raises ValueError, often only on the machine that has the GPUs.

    ## Example
    ```python
    import tensorflow as tf

    with tf.device("gpu0"):
        x = tf.zeros(4)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    with tf.device("/cpu:0"):
        x = tf.zeros(4)
    ```

    ## What is not reported
    Every legal spelling (`/cpu`, `gpu:*`, `/job:worker/task:1/device:GPU:0`, the empty string), `None`, and strings
    passed to other libraries.

    ## Fix
    Safe where there is no doubt which device is meant (`gpu0`, `cuda:0`): writes it in TensorFlow's syntax. Unfixed,
    the program fails with ValueError.

    ## At run time
    The ValueError.
    """

    code = "GPU103"
    name = "malformed-device"
    severity = Severity.ERROR
    why = "TensorFlow raises ValueError when it parses the name"
    instead = "name one device, such as `/GPU:0`; to use several GPUs, create a `tf.distribute.MirroredStrategy`"
    in_graph_mode = True
    context_insensitive = True
    any_of_names = DEVICE_WORDS | STRATEGY_WORDS
    source_pattern = DEVICE_NAMES

    def on_device_named(self, event: events.DeviceNamed, plan: Plan) -> Iterator[Report]:
        if event.device is not None:
            return
        meant = _meant(event.text)
        yield Report(
            event.site,
            f"`{event.text}` is not a device name",
            instead=f"write `{meant}`" if meant else "",
            confidence=confidence(event.where),
            related=((event.call, "TensorFlow parses the name here"),) if event.call != event.site else (),
            supersedes=(event.call,),
            fix=safe(f"Replace it with `{meant}`", _rewritten, event.site, event.call, meant) if meant else None,
        )


_MEANT = re.compile(r"/?(?:device:)?(gpu|cpu|cuda)[ :_-]?(\d+)\Z", re.IGNORECASE)


def _meant(text: str) -> str:
    """Device that a malformed name means, "" where there is any doubt."""
    match = _MEANT.match(text.strip())
    return f"/{'CPU' if match[1].lower() == 'cpu' else 'GPU'}:{match[2]}" if match else ""


def _rewritten(draft: Draft, literal: Site, call: Site, meant: str) -> list[Edit]:
    """Write the name as TensorFlow parses it, unless PyTorch may parse it, too."""
    if "torch" in draft.module.words and draft.statement(draft.node(literal)) is not draft.statement(draft.node(call)):
        raise Refused("it may be a PyTorch device name")
    return calls.literal(draft, literal, meant)
