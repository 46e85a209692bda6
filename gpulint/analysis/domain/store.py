"""Mutable state of abstract execution, with a trail to undo changes.

A branch is run, its changes are undone and set aside, the other branch is run, and the two sets of changes are joined.
The cost of a branch is therefore proportional to what it changes, not to the whole state.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from gpulint.analysis.domain.host_arrays import images_in
from gpulint.analysis.domain.path_conditions import EVERYWHERE, MAX_CONDITIONS, Path, compatible, one_of
from gpulint.analysis.domain.values.base import Constant, Union, Unknown, Value
from gpulint.analysis.domain.values.containers import CREATED, Items
from gpulint.analysis.domain.values.functions import Function, UserClass, same
from gpulint.analysis.domain.values.objects import Model
from gpulint.analysis.domain.values.tensors import Tensor, one_of_many

MAX_ALTERNATIVES = 12
"""Maximum number of alternatives in a join. Beyond it the value is Unknown."""

MAX_DEFINITIONS = 100
"""The same where all are functions and classes. The first ones represent the others."""

MAX_COMPARED = 100
"""Maximum number of alternatives of a join that a new one is compared with: a loop may have a thousand exits."""


class _Missing:
    """Marker for a key that is not in a dict."""


MISSING: Any = _Missing()

Container: TypeAlias = dict[Any, Any]
Changes: TypeAlias = dict[tuple[int, Any], tuple[Container, Any]]


class Outcome:
    """End of one branch: its path and its changes."""

    __slots__ = ("changes", "path")

    def __init__(self, path: Path, changes: Changes) -> None:
        self.path = path
        self.changes = changes


def common_path(outcomes: list[Outcome]) -> Path:
    """Conditions common to the paths of several outcomes."""
    return frozenset.intersection(*(outcome.path for outcome in outcomes))


def make_exclusive(outcomes: list[Outcome], base: Path) -> list[Outcome]:
    """Make the outcomes of a statement that started on `base` exclusive, in the order in which they are reached.

    Each is taken only if none before it was. This distinguishes what a loop leaves behind when it finds something from
    what it leaves when it finds nothing.
    """
    if len(outcomes) > MAX_ALTERNATIVES:
        return outcomes
    exclusive: list[Outcome] = []
    for index, outcome in enumerate(outcomes):
        path = outcome.path
        ways = [one.path - base for one in outcomes[:index] if compatible(one.path, path)]
        for way in dict.fromkeys(ways):
            left = way - path
            if not left:
                continue  # equal conditions can differ in value: what they test may have changed in between
            untaken = frozenset({next(iter(left)).negation if len(left) == 1 else one_of([left]).negation})
            if compatible(path, untaken):
                path |= untaken
        exclusive.append(Outcome(path, outcome.changes))
    return exclusive


class State:
    """Writes to the dicts of frames and objects, recorded in order."""

    __slots__ = ("_trail",)

    def __init__(self) -> None:
        self._trail: list[tuple[Container, Any, Any]] = []

    def write(self, container: Container, key: Any, value: Any) -> None:
        """Set `container[key]`, undoable by `take_back`."""
        self._trail.append((container, key, container.get(key, MISSING)))
        container[key] = value

    def delete(self, container: Container, key: Any) -> None:
        """Remove `container[key]`, undoable by `take_back`."""
        self._trail.append((container, key, container.pop(key, MISSING)))

    def mark(self) -> int:
        """Position in the trail, for `take_back` and `changes_since`."""
        return len(self._trail)

    def changes_since(self, mark: int) -> Changes:
        """Changes since `mark`, with the present values."""
        return {
            (id(container), key): (container, container.get(key, MISSING)) for container, key, _ in self._trail[mark:]
        }

    def has_changed(self, mark: int, ignored: Container) -> bool:
        """Whether anything except one scope has changed since `mark`."""
        return any(container is not ignored for container, _, _ in self._trail[mark:])

    def take_back(self, mark: int) -> None:
        """Undo everything since `mark`."""
        trail = self._trail
        while len(trail) > mark:
            container, key, old = trail.pop()
            if old is MISSING:
                container.pop(key, None)
            else:
                container[key] = old

    def apply(self, changes: Changes) -> None:
        for (_, key), (container, value) in changes.items():
            if value is MISSING:
                self.delete(container, key)
            else:
                self.write(container, key, value)

    def join(self, outcomes: list[Outcome], base: Path, since: int | None = None) -> None:
        """Apply the changes of several branches that started here on `base`, each on its own path. Containers that were
        created after `since` are those of the one branch that changed them."""
        if len(outcomes) == 1:
            self.apply(outcomes[0].changes)
            return
        keys: dict[tuple[int, Any], Container] = {}
        for outcome in outcomes:
            for identity, (container, _) in outcome.changes.items():
                keys[identity] = container
        lists: dict[int, tuple[Container, Any, Any]] = {}
        for identity, container in keys.items():
            key = identity[1]
            before = container.get(key, MISSING)
            if since is not None and container.get(CREATED, 0) > since:
                before = MISSING
            elif key in ("items", "element"):
                lists.setdefault(identity[0], (container, container.get("items"), container.get("element")))
            alternatives = [
                (outcome.path - base, outcome.changes[identity][1] if identity in outcome.changes else before)
                for outcome in outcomes
            ]
            value = join(alternatives, ("joined", identity))
            if value is not MISSING:
                self.write(container, key, value)
            elif before is not MISSING:
                self.delete(container, key)
        for container, items, element in lists.values():
            if container.get("items") is None and container.get("element") is None:
                self.write(container, "element", _content(container, outcomes, items, element))


def _content(container: Container, outcomes: list[Outcome], items: Any, element: Any) -> Value | None:
    """Gradient or image that represents the contents of a list to which some branches add one and others nothing.

    A training step that skips some variables still is a step, and a loop that skips some files still reads a folder.
    `items` and `element` are the list's previous contents.
    """
    found: Value | None = None
    for outcome in outcomes:
        held = outcome.changes.get((id(container), "items"), (container, items))[1]
        one = outcome.changes.get((id(container), "element"), (container, element))[1] or (held[0] if held else None)
        if one is not None and not _stands_for_more(one):
            return None
        found = found or one
    return found


def _stands_for_more(value: Value) -> bool:
    """Whether a value is a gradient or an image, or a row that contains one."""
    row = value.items or () if isinstance(value, Items) else (value,)
    return any(
        (isinstance(one, Tensor) and one.gradient is not None)
        or (type(one) is Unknown and images_in(one.symbol) is not None)
        for one in row
    )


def join(alternatives: list[tuple[Path, Any]], symbol: Any) -> Any:
    """One value for several, each on its path. Missing ones are left out, since reading them would raise an
    exception."""
    flat: list[tuple[Path, Any]] = []
    for path, value in alternatives:
        if value is MISSING:
            continue
        if isinstance(value, Union):
            for inner, part in value.alternatives:
                if compatible(path, inner):
                    _add(flat, path | inner if len(inner) < MAX_CONDITIONS else inner, part)
        else:
            _add(flat, path, value)
    if not flat:
        return MISSING
    if len(flat) == 1:
        return flat[0][1]
    if len(flat) > MAX_ALTERNATIVES and all(type(value) is Tensor for _, value in flat):
        return one_of_many([value for _, value in flat])
    if len(flat) > MAX_ALTERNATIVES and all(type(value) is Model for _, value in flat):
        flat = flat[:MAX_ALTERNATIVES]
    if len(flat) > MAX_ALTERNATIVES and all(isinstance(value, (Function, UserClass)) for _, value in flat):
        flat = flat[:MAX_DEFINITIONS]
    elif len(flat) > MAX_ALTERNATIVES:
        flat = _fewer(flat)
        if len(flat) > MAX_ALTERNATIVES or _is_undecided(flat):
            return Unknown(symbol)
    if not all(isinstance(value, Value) for _, value in flat):
        return _weakest([value for _, value in flat])
    return Union(tuple(flat))


def _add(flat: list[tuple[Path, Any]], path: Path, value: Any) -> None:
    """Add an alternative. Merge it with an equal value if the merged path is exactly the union of the two."""
    kind = type(value) if isinstance(value, Value) else None
    for index, (other, present) in enumerate(flat if len(flat) <= MAX_COMPARED else flat[:MAX_COMPARED]):
        is_same = present is value or ((kind is None or type(present) is kind) and same(present, value))
        if is_same and _is_exact(path, other):
            flat[index] = (path & other, present)
            return
    flat.append((path, value))


def _is_exact(a: Path, b: Path) -> bool:
    """Whether the common part of two paths covers exactly their union."""
    longer = len(a) - len(b)
    if longer:
        return b <= a if longer > 0 else a <= b
    only = a - b
    if len(only) > 1:
        return False
    return all(literal.negation in b and literal.negation not in a for literal in only)


def _fewer(flat: list[tuple[Path, Any]]) -> list[tuple[Path, Any]]:
    """Merge equal alternatives, each on the common part of its paths. Stops early beyond `MAX_ALTERNATIVES`."""
    merged: list[tuple[Path, Any]] = []
    for path, value in flat:
        for index, (other, present) in enumerate(merged):
            if same(present, value):
                merged[index] = (path & other, present)
                break
        else:
            merged.append((path, value))
            if len(merged) > MAX_ALTERNATIVES:
                break
    return merged


def _is_undecided(flat: list[tuple[Path, Any]]) -> bool:
    """Whether the paths no longer distinguish True from False, so that a condition on the value would be
    meaningless."""
    paths = {value.value: path for path, value in flat if isinstance(value, Constant) and type(value.value) is bool}
    return len(paths) == 2 and compatible(paths[True], paths[False])


def _weakest(values: list[Any]) -> Any:
    """Joined state other than values (contents of containers, flags): what all branches agree on, else None."""
    first = values[0]
    return first if all(same(first, other) for other in values[1:]) else None


def choose(value: Value, path: Path) -> Value:
    """The alternatives of a value that are possible on a path."""
    if type(value) is not Union:
        return value
    chosen = value.chosen.get(path, MISSING)
    if chosen is MISSING:
        possible = tuple([pair for pair in value.alternatives if compatible(path, pair[0])])
        if len(possible) == 1:
            chosen = possible[0][1]
        elif len(possible) == len(value.alternatives) or not possible:
            chosen = None
        else:
            chosen = Union(possible)
        value.chosen[path] = chosen
    return value if chosen is None else chosen


def alternatives(value: Value, path: Path) -> tuple[tuple[Path, Value], ...]:
    """All values that are possible on a path, each with its own path."""
    value = choose(value, path)
    return value.alternatives if isinstance(value, Union) else ((EVERYWHERE, value),)
