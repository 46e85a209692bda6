"""The vocabulary of `# run:` lines.

A line first says what the stage holds and how the program is started, then what is claimed:

    # run: devices=2 ok busy=1
    # run: gpus=2 raises=ValueError here text="Memory growth cannot differ"

=====================  =========================================================================================
`gpus=N`               N entries in the list of physical GPUs (nothing behind them; see `tests.claims.stage`)
`devices=N`            N logical CPU devices that stand for GPU 0 … N-1
`args="--gpu 1"`       the program's command line
`tensorflow>=2.18`     the claim holds from this release on; older ones leave it out
`ok`                   the program ends without an error
`raises=NAME`          it ends with this exception (its class name)
`hangs`                it does not end (it is stopped after `PATIENCE` seconds; its like need two)
`text="…"`             … whose message holds this text
`here`                 … raised while a row with an expectation was being run
`prints="…"`           standard output holds this text
`logs="…"`             standard error holds this text
`busy=N`               its matrix work (products, convolutions) went to N devices
`copies`               on every row that expects GPU102, an operation outside device scopes read from two devices
=====================  =========================================================================================
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

NUMBERS = frozenset({"gpus", "devices", "busy"})
TEXTS = frozenset({"args", "raises", "text", "prints", "logs"})
FLAGS = frozenset({"ok", "hangs", "here", "copies"})


@dataclass(frozen=True, slots=True)
class Claim:
    """A parsed `# run:` line."""

    gpus: int = 0
    devices: int = 0
    args: str = ""
    since: tuple[int, ...] = ()
    ok: bool = False
    hangs: bool = False
    raises: str = ""
    text: str = ""
    here: bool = False
    prints: str = ""
    logs: str = ""
    busy: int | None = None
    copies: bool = False


def parse_claim(line: str) -> Claim:
    """Reads the text after `# run:`; ValueError for a word outside the vocabulary or a line that claims nothing."""
    found: dict[str, Any] = {}
    for word in shlex.split(line):
        key, equals, value = word.partition("=")
        if word.startswith("tensorflow>="):
            found["since"] = tuple(int(part) for part in word.removeprefix("tensorflow>=").split("."))
        elif equals and key in NUMBERS:
            found[key] = int(value)
        elif equals and key in TEXTS:
            found[key] = value
        elif word in FLAGS:
            found[word] = True
        else:
            raise ValueError(f"no such word in a claim: {word}")
    claim = Claim(**found)
    if [claim.ok, claim.hangs, bool(claim.raises)].count(True) != 1:
        raise ValueError(f"a claim says one of ok, hangs and raises=…: {line}")
    if (claim.text or claim.here) and not claim.raises:
        raise ValueError(f"text and here describe an error: {line}")
    return claim
