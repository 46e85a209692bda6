"""GPU901."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.plugin import (
    Draft,
    Edit,
    Offer,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    safe,
    unsafe,
)
from gpulint.plugin.facts import release, removed, successor
from gpulint.plugin.fixes import calls, names
from gpulint.plugin.queries import is_run_by_program, is_version_checked


class RemovedApi(Rule):
    """Name that was removed from TensorFlow

    ## What it does
    Finds names, methods, modules and arguments that the targeted TensorFlow (`target-tensorflow`) and its Keras no
    longer have, calls of what is now a property (`optimizer.variables()`), names of weights that `add_weight` gets by
    position, and names that the package `keras` lacks since Keras 3 though `tf.keras` still has them.

    ## Why is this bad
    It raises AttributeError, ImportError, TypeError or ValueError when the line runs, often after hours. The table is
    generated from the wheels of 1.15 and 2.0 to 2.21 (`scripts/removed_api.py`); every name in it was tried on 2.21.

    ## Example
    ```python
    import tensorflow as tf

    tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    ```

    ## What is not reported
    `tf.compat.v1`; names from `tensorflow.python.keras`; names behind a version check, `hasattr`, or an `except` after
    which the program continues (not one that raises again or exits); files that the other checked files import only
    behind such a test; programs on `tf_keras` (Keras 2); names that exist in the release pinned by the project's
    requirements; methods of objects that an `isinstance` test has shown to be of an unrelated class. A file written for
    TensorFlow 1 throughout gets one finding of all rules, unless it uses TensorFlow 2 as well and may run without these
    names. A name gets one finding: its other uses are related places.

    The rule is on by default for files whose TensorFlow release is known: set as `target-tensorflow`, pinned by
    requirements, a lock file, a container image or a notebook, or taken from an environment with `--python`. For other
    files the last line of the output says how many findings there are; `--extend-select GPU9` shows them.

    ## Fix
    Writes the new name where the old one is written with its module; removes the parentheses after a property. Safe
    where both names mean the same thing; unsafe for TensorFlow 1 names whose arguments were renamed. Removed names
    without a replacement have no fix.

    ## At run time
    AttributeError; TypeError for an argument, or ValueError where a layer is created.
    """

    code = "GPU901"
    name = "removed-api"
    context_insensitive = True
    asks_release = True
    once_a_file = True
    severity = Severity.ERROR
    in_graph_mode = True
    any_of_names = frozenset()
    why = "the program raises an error when it reaches this line"
    instead = "remove it, or use what TensorFlow's documentation names in its place"

    @staticmethod
    def own_words(text: str, words: frozenset[str]) -> frozenset[str]:
        imported = {name for line in _IMPORT.findall(text) for name in re.findall(r"\w+", line)}
        present = words.union(imported)
        found = set(removed.telling_words() & present)
        kept = {name for pair in _COMPAT.findall(text) for name in pair if name} - set(_WHOLE.findall(text))
        if found:
            whole = [chain for chain in _CHAIN.findall(text) if ".compat.v1" not in chain]
            chains = [names for chain in whole if (names := [*map(str.strip, chain.split("."))])[0] not in kept]
            named = {name for line in _IMPORT_OF_OURS.findall(text) for name in re.findall(r"\w+", line)}
            found &= named.union(_KEYWORD.findall(text), *chains)
        found |= {name for name, module in removed.BESIDE.items() if name in words and module in present}
        if _KERAS_ITSELF.search(text):
            owned = (name.split(".")[-2:] for name in removed.only_tf())
            found |= words & {name for module, name in owned if module in present}
        found |= _passed(text, words)
        if "add_weight" in words and _WEIGHT_NAMED.search(text):
            found.add("add_weight")
        for module, name in _PAIR.findall(text):
            if module not in kept and (_TOP.get(module, module), name) in removed.telling_pairs():
                found.add(name)
        return frozenset(found)

    def on_end(self, plan: Plan) -> Iterator[Report]:
        used_in: dict[str, list[events.RemovedNameUsed]] = defaultdict(list)
        for event in self.all(events.RemovedNameUsed):
            is_gone = release(event.since) <= plan.release_of_target
            own = event.site.path == plan.path or event.of_object
            if is_gone and own and not _is_checked(event):
                used_in[event.site.path].append(event)
        if not used_in:
            return
        legacy_keras = plan.may_run_keras_2
        for used in used_in.values():
            found = [event for event in used if not (event.of_object and _may_have(event, plan))]
            found.sort(key=lambda event: event.site.node)
            old = [event for event in found if event.since == "2.0" and "(" not in event.name]
            of_first = {event.name for event in old}
            graph = any(event.where.graph_mode for event in found) or not plan.referenced & _TENSORFLOW_2
            if len(of_first) >= MANY or len(old) >= 2 * MANY or (len(old) > 1 and graph):
                first = old[0]
                fails = any(not event.where.path and is_run_by_program(event.where) for event in old)
                yield Report(
                    first.site,
                    f"the file is written for TensorFlow 1: `{_short(first.name)}`" + _and_others(len(of_first) - 1),
                    why="the file does not run on TensorFlow 2",
                    instead=_CONVERT,
                    confidence=confidence(first.where),
                    is_all=graph or fails,
                )
                continue
            lost = Counter(_module(event.name) for event in {event.site: event for event in found}.values())
            for event in found:
                if legacy_keras and ".keras." in event.name:
                    continue
                if event.name in removed.only_tf():
                    module = _module(event.name).removeprefix("tensorflow.")
                    many = lost[_module(event.name)] > OFTEN
                    yield Report(
                        event.site,
                        f"`{module}` lost most of its names in Keras 3"
                        if many
                        else f"`{module}.{event.name.rpartition('.')[2]}` was removed in Keras 3",
                        instead=f"use `tensorflow.{module}`, which still has it",
                        confidence=confidence(event.where),
                    )
                    continue
                yield Report(
                    event.site,
                    f"{_called(event.name)} was removed in TensorFlow {event.since}",
                    why=self._error(event),
                    instead=self._instead(event),
                    confidence=confidence(event.where),
                    fix=_renaming(event),
                )

    def _error(self, event: events.RemovedNameUsed) -> str:
        """Which error the line raises; "" if it is one of its own."""
        if "(" in event.name or removed.raises_since(event.name) is not None:
            return ""
        import libcst as cst  # slow to import, and seldom needed

        imports = isinstance(self.node(event.site), (cst.ImportAlias, cst.ImportFrom, cst.Import))
        return f"the program raises {'ImportError' if imports else 'AttributeError'} when it reaches this line"

    def _instead(self, event: events.RemovedNameUsed) -> str:
        if event.name.endswith("()"):
            return "remove the parentheses: it is a property now"
        if (new := _new_method(event.name) or event.replacement) is not None:
            return f"use `{_short(new)}`"
        if (member := removed.renamed_member(event.name)) is not None and successor(event.name) is None:
            return f"use its members by their new names, such as `{_short(member)}`"
        return successor(event.name) or f"look up its replacement in the release notes of TensorFlow {event.since}"


def _module(name: str) -> str:
    return name.rpartition(".")[0]


def _and_others(others: int) -> str:
    if not others:
        return " was removed"
    return f" and {others} other name{'s' if others > 1 else ''} were removed"


def _new_method(name: str) -> str | None:
    """The new name of a renamed method."""
    owner, _, method = name.rpartition(".")
    return next((new for of, old, new in METHODS if method == old and owner.startswith(of)), None)


def _renaming(event: events.RemovedNameUsed) -> Offer | None:
    """Fix for a name that was only renamed."""
    site = event.site
    if (new := _new_method(event.name)) is not None:
        return safe(f"Rename it to `{new}`", _method_renamed, site, new)
    if event.name.endswith("()"):
        return safe("Remove the parentheses", _uncalled, site)
    if event.of_object and event.replacement is not None:
        return safe(f"Rename it to `{event.replacement}`", _argument_renamed, site, event.replacement)
    if event.of_object:
        return None
    if event.replacement is None and removed.renamed_member(event.name) is None:
        return None
    name = f"`{_short(event.replacement)}`" if event.replacement is not None else "the new names of its members"
    if event.since != "2.0" or ".compat.v1." in (event.replacement or ""):
        return safe(f"Use {name}", _renamed, site, event.name)
    return unsafe(f"Use {name}: its arguments may be named differently", _renamed, site, event.name)


_CONVERT = "convert it with `tf_upgrade_v2`, or import `tensorflow.compat.v1 as tf` and call `tf.disable_v2_behavior()`"

METHODS = (
    ("tensorflow.distribute.", "experimental_run_v2", "run"),
    ("tensorflow.keras.Metric", "reset_states", "reset_state"),
    ("tensorflow.keras.metrics.", "reset_states", "reset_state"),
)
"""Prefix of the class name, removed method, and its new name."""


def _method_renamed(draft: Draft, site: Site, new: str) -> list[Edit]:
    return [calls.renamed(draft, site, new)]


def _uncalled(draft: Draft, site: Site) -> list[Edit]:
    return [calls.uncalled(draft, site)]


def _argument_renamed(draft: Draft, site: Site, new: str) -> list[Edit]:
    return [calls.keyword_renamed(draft, site, new)]


def _renamed(draft: Draft, site: Site, old: str) -> list[Edit]:
    """Replace the qualified old name, or that of a removed module, with the new one."""
    node, name = names.whole(draft, draft.node(site), old)
    new = removed.replacement(name)
    if new is None or not names.is_spelled(draft, node, name):
        raise Refused("the name is an alias, or has no replacement")
    text, imports = names.spelled(draft, new, node)
    return [*imports, draft.rewrite(node, text)]


OFTEN = 3
"""Number of uses of names that a Keras module lost from which on the module is reported rather than each name."""

MANY = 4
"""Number of TensorFlow 1 names that make a file a TensorFlow 1 file."""

_TENSORFLOW_2 = frozenset({"keras", "GradientTape", "distribute", "list_physical_devices", "set_seed", "autograph"})
"""A file with a TensorFlow 1 name and none of these words is a TensorFlow 1 file."""


def _passed(text: str, words: frozenset[str]) -> frozenset[str]:
    """Keyword arguments in a text that a called function no longer accepts, judged by names and brackets only.

    With `**`, any word may be such an argument.
    """
    passed = removed.passed_to()
    gone_of = {name: passed[name] for name in words & passed.keys()}
    found: set[str] = set()
    by_any: set[str] = set()
    nothing: frozenset[str] = frozenset()
    around: list[
        tuple[frozenset[str], int]
    ] = []  # for each open bracket: removed parameters of the called function, and where to stop
    for piece in _PIECE.finditer(text) if gone_of else ():
        word, mark = piece[1], piece[0][-1]
        if mark in "([{":
            around.append((gone_of.get(word, nothing), piece.end() + MAX_CALL))
        elif around and mark in ")]}":
            around.pop()
        elif around and around[-1][0] and piece.end() <= around[-1][1]:
            if mark == "*":
                by_any |= around[-1][0]
            elif word in around[-1][0]:
                found.add(word)
    if by_any:
        found |= by_any.intersection(re.findall(r"\w+", text))
    return frozenset(found)


MAX_CALL = 2_000
"""Number of characters of a call that are searched for keywords."""

_PIECE = re.compile(r"\b(\w+)\s*(?:\(|=(?!=))|[()\[\]{}]|(?<=[(,\s])\*\*(?=[\w({])")
"""Bracket with the name before it, keyword, or two stars."""
_PAIR = re.compile(r"\b(\w+)(?=(?:\.|\s+import\s+)(\w+))")
_CHAIN = re.compile(r"(?:\b\w+|[)\]])(?:\s*\.[ \t]*\w+)+")
_KEYWORD = re.compile(r"\b(\w+)\s*=(?!=)")
_IMPORT = re.compile(r"(?m)^[ \t\f]*(?:from|import) (?!tensorflow\.compat)(.*)")
_IMPORT_OF_OURS = re.compile(r"(?m)^[ \t\f]*(?:from|import) (?!tensorflow\.compat)((?:\.|\w*keras|tensorflow|tf_).*)")
"""Imports of TensorFlow, and those of the project that may re-export it."""
_COMPAT = re.compile(
    r"(?m)^[ \t\f]*(?:import tensorflow\.compat\.v1 as (\w+)|from tensorflow\.compat import v1 as (\w+))[ \t]*(?:#.*)?$"
)
"""Imports of `tf.compat.v1`, which keeps what was removed elsewhere."""
_WHOLE = re.compile(r"(?m)^[ \t\f]*import tensorflow as (\w+)")
_WEIGHT_NAMED = re.compile(r"""\badd_weight\(\s*f?["']""")
"""A weight with its name as first argument, which Keras 3 refuses."""
_TOP = {"tf": "tensorflow"}
_KERAS_ITSELF = re.compile(r"(?m)^[ \t]*(?:from|import)[ \t]+keras\b")


def _may_have(event: events.RemovedNameUsed, plan: Plan) -> bool:
    """Whether the object may be of a program class that has the method, or a dataset of `tf.compat.v1`."""
    if event.of_library:
        return False
    owner, _, method = event.name.rpartition(".")
    return ("(" not in method and plan.mentions(f"def {method}(")) or (
        owner.startswith("tensorflow.data.") and plan.referenced.issuperset(("compat", "v1"))
    )


def _called(name: str) -> str:
    """A removed name in words: `tf.keras.optimizers.Adam(lr)` is an argument."""
    function, _, argument = name.removesuffix(")").partition("(")
    return f"the argument `{argument}` of `{_short(function)}`" if argument else f"`{_short(name)}`"


def _short(name: str) -> str:
    return name.replace("tensorflow.", "tf.", 1)


def _is_checked(event: events.RemovedNameUsed) -> bool:
    """Whether the program first tests what TensorFlow has: a version check, a feature test, a fallback."""
    return is_version_checked(event.where, "(" in event.name or removed.raises_since(event.name) is not None)
