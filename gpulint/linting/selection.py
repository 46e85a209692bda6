"""Which rules are enabled for a file, and their severity."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from copy import copy
from typing import NamedTuple

from gpulint.analysis.project.slicing import Subject
from gpulint.analysis.queries.moments import is_test
from gpulint.linting import moved, pack
from gpulint.linting.finding import Severity
from gpulint.linting.own_codes import ABOUT_FILES
from gpulint.linting.pack import Pack
from gpulint.linting.rule import Rule
from gpulint.settings import LintSettings, Settings, SettingsError, SettingsFinder
from gpulint.settings.toml import row_of
from gpulint.sources.containment import relative_to
from gpulint.sources.globs import MAX_WEIGHT, TOO_HEAVY, Globs
from gpulint.sources.releases import release

MAX_WORD = 100
"""Maximum length of a word for which a similar code or name is suggested: the search takes quadratic memory."""

MAX_MISSING = 20
"""Maximum number of codes without a rule that are listed: to find their rows, the configuration is read."""

EXACT = 100
"""Precision of a code or name as a selector; those of prefixes are lower."""

MIN_CLOSENESS = 0.6
"""Minimum `SequenceMatcher.ratio` of a word and the code or name that is suggested for it."""


_OF_OPTIONS = frozenset({"select", "ignore", "extend-select", "extend-ignore", "per-file-ignores"})
"""Keys of the table `lint` that have an option of the same name."""


class Place(NamedTuple):
    """A key of the table `lint`, and the configuration file that sets it; "" for options."""

    file: str
    key: str

    def of(self, word: str = "") -> str:
        """The place of a word among the values, with its row if the file has them on one: `file:row: lint.key`."""
        if not self.file:
            return f"--{self.key}" if self.key in _OF_OPTIONS else f"--config: lint.{self.key}"
        row = row_of(self.file, self.key, word) or row_of(self.file, word)
        return f"{self.file}{f':{row}' if row else ''}: lint.{self.key}"


class Catalogue:
    """The rules of a pack by code and name. Unless `is_complete`, some rules were not loaded: `faults` has a line for
    each pack that could not be, with the traceback."""

    def __init__(self, pack: Pack, is_complete: bool = True, faults: tuple[tuple[str, str], ...] = ()) -> None:
        self.pack = pack
        self.is_complete = is_complete
        self.faults = faults
        self.notes: dict[str, None] = {}
        """Settings without effect, one line each."""
        self._missing = 0
        """Number of codes in settings that no rule has."""
        self._by_name = {rule.name: rule.code for rule in pack}
        self._by_code = {rule.code: rule for rule in pack}
        self._replaced = {word.lower(): rule.code for rule in pack for word in rule.replaces}

    @classmethod
    def load(cls, sources: pack.Sources) -> Catalogue:
        """The rules of all sources. Raises PackError for the shipped rules and for a folder that does not exist."""
        loaded = pack.load_each(sources.folders, sources.installed)
        return cls(loaded.rules, not (sources.withheld or loaded.faults), loaded.faults)

    def code(self, word: str) -> str | None:
        """The code for a present or former code or name, None if there is no such rule."""
        word = moved.present(word)
        if word.upper() in self._by_code:
            return word.upper()
        return self._by_name.get(word.lower()) or self._replaced.get(word.lower())

    def codes(self, word: str) -> tuple[str, ...]:
        """The codes for a code, a prefix with a digit, such as `GPU1`, or a name; none if there is no such rule. A rule
        that was removed keeps its code: a comment for it is not wrong, and silences nothing."""
        if (code := self.code(word)) is not None:
            return (code,)
        if moved.reason_removed(word) is not None:
            return (word.upper(),)
        return self._with_prefix(word) if any(map(str.isdigit, word)) else ()

    def _with_prefix(self, word: str) -> tuple[str, ...]:
        return tuple(code for code in self._by_code if word and code.startswith(word.upper()))

    def rule(self, word: str) -> type[Rule] | None:
        code = self.code(word)
        return self._by_code[code] if code is not None else None

    def yields_to(self, code: str) -> tuple[str, ...]:
        """Codes of the rules whose reports replace those of this one at the same place."""
        rule = self._by_code.get(code)
        return rule.yields_to if rule is not None else ()

    def is_context_insensitive(self, code: str) -> bool:
        """Whether the reports of a rule do not depend on the callers of a function."""
        rule = self._by_code.get(code)
        return rule is not None and rule.context_insensitive

    def asks_release(self, code: str) -> bool:
        """Whether what a rule finds depends on the TensorFlow release."""
        rule = self._by_code.get(code)
        return rule is not None and rule.asks_release

    def is_once_a_row(self, code: str) -> bool:
        """Whether a rule reports only once per row."""
        rule = self._by_code.get(code)
        return rule is not None and rule.once_a_row

    def is_once_a_file(self, code: str) -> bool:
        """Whether equal reports of a rule in one file are one finding."""
        rule = self._by_code.get(code)
        return rule is not None and rule.once_a_file

    def nearest(self, word: str) -> str | None:
        """The code or name most similar to the first `MAX_WORD` letters of a word; among equally similar ones, the one
        with the longest common run of letters."""
        word = word[:MAX_WORD]

        def closeness(name: str) -> tuple[float, int]:
            matcher = difflib.SequenceMatcher(None, name, word.upper() if name in self._by_code else word)
            return matcher.ratio(), matcher.find_longest_match().size

        near = max([*self._by_name, *self._by_code], key=closeness, default=None)
        return near if near is not None and closeness(near)[0] >= MIN_CLOSENESS else None

    def _misspelt(self, word: str) -> str | None:
        """The only code that differs from a word in one character, None if there is none or several."""
        word = word.upper()
        near = [code for code in self._by_code if len(code) == len(word) and sum(map(str.__ne__, code, word)) == 1]
        return near[0] if len(near) == 1 else None

    def _longest_prefix(self, word: str) -> str | None:
        """The prefix of existing codes that a wrong one such as `GPU1x` starts with."""
        shorter = [word[:length].upper() for length in range(min(len(word), MAX_WORD) - 1, 3, -1)]
        return next((one for one in shorter if any(code.startswith(one) for code in self._by_code)), None)

    def expand(self, words: Iterable[str], place: Place, is_off: bool = False) -> dict[str, int]:
        """The codes that codes, prefixes, names or ALL select, each with the precision of its selector.

        Raises SettingsError for a word that selects nothing, unless the catalogue is incomplete or the rule was
        removed. With `is_off` the rules are to be turned off: a code that does not exist is only noted, since it can be
        that of another release.
        """
        chosen: dict[str, int] = {}
        for word in dict.fromkeys(words):
            if moved.reason_removed(word) is not None:
                continue
            if word.upper() == "ALL":
                matches, weight = list(self._by_code), 1
            elif (code := self.code(word)) is not None:
                matches, weight = [code], EXACT
            else:
                matches = [*self._with_prefix(word)]
                weight = 1 + len(word)
            if not matches and is_off and pack.CODE.match(word.upper()):
                self._note_missing(word, place)
            elif not matches and self.is_complete:
                near = self._misspelt(word) or self._longest_prefix(word) or self.nearest(word)
                hint = f"; did you mean `{near}`?" if near else ""
                raise SettingsError(f"{place.of(word)}: there is no rule `{word}`{hint}")
            for code in matches:
                chosen[code] = max(weight, chosen.get(code, 0))
        return chosen

    def _note_missing(self, word: str, place: Place) -> None:
        self._missing += 1
        if self._missing <= MAX_MISSING:
            self.notes[f"{place.of(word)}: there is no rule `{word}`; nothing to turn off"] = None
        else:
            self.notes[f"more than {MAX_MISSING} codes in settings have no rule; the others are not listed"] = None


class Selection:
    """The rules that settings enable."""

    def __init__(self, catalogue: Catalogue, settings: Settings) -> None:
        """Raises SettingsError."""
        lint = settings.lint

        def at(key: str) -> Place:
            return Place(settings.source, key)

        self._severity = _severities(catalogue, lint, at("severity"))
        on = _selected(catalogue, lint, at)
        off = _ignored(catalogue, lint, at)
        self.codes = frozenset(
            code for code, weight in on.items() if off.get(code, -1) < weight and self._severity.get(code) != "off"
        )
        self.named = frozenset(code for code in self.codes if on[code] > 0)
        """Codes of the rules that are on because a selector names them."""
        self.rules = tuple(rule for rule in catalogue.pack if rule.code in self.codes)
        fixable = catalogue.expand(lint.fixable, at("fixable"))
        unfixable = catalogue.expand(lint.unfixable, at("unfixable"), is_off=True)
        self.fixable = frozenset(code for code, weight in fixable.items() if unfixable.get(code, -1) < weight)
        """Codes of the rules whose findings may be fixed."""
        self._per_file = Globs(pattern for pattern, _ in lint.per_file_ignores)
        if self._per_file.weight > MAX_WEIGHT:
            raise SettingsError(f"{at('per-file-ignores').of()}: {TOO_HEAVY}")
        self._off = [
            frozenset(catalogue.expand(words, at("per-file-ignores"), is_off=True))
            for _, words in lint.per_file_ignores
        ]
        self._root = settings.root
        self.rules_of_tests = tuple(rule for rule in self.rules if not (rule.is_performance or rule.raises))
        self._target = settings.target_tensorflow
        self._withheld = frozenset(rule.code for rule in self.rules if rule.asks_release) - self.named
        self._subjects: dict[tuple[bool, bool], frozenset[Subject] | None] = {}
        """Subjects by whether they are of tests, and whether the release is known."""

    def below(self, root: str) -> Selection:
        """The same for settings with another root."""
        other = copy(self)
        other._root = root
        return other

    def subjects_of(self, path: str, knows_release: bool) -> frozenset[Subject] | None:
        """The words that the rules of a file look for, None if a rule looks at every program.

        Without a known release, the words of rules that ask for it count only in the file itself: their findings are
        counted, but not shown.
        """
        key = is_test(path), knows_release
        if key not in self._subjects:
            withheld = frozenset() if knows_release else self._withheld
            self._subjects[key] = _subjects(self.rules_of(path), self._target, withheld)
        return self._subjects[key]

    def rules_of(self, path: str) -> tuple[type[Rule], ...]:
        """The rules that check a file."""
        return self.rules_of_tests if is_test(path) else self.rules

    def ignored_in(self, path: str) -> frozenset[str]:
        """Codes that `per-file-ignores` disables in a file."""
        if not self._off:
            return frozenset()
        relative = relative_to(path, self._root).replace(os.sep, "/")
        return frozenset().union(*(self._off[number] for number in self._per_file.matching(relative)))

    def is_empty_for(self, path: str) -> bool:
        """Whether no rule about programs is on in a file."""
        programs = {rule.code for rule in self.rules} - ABOUT_FILES
        return programs <= self.ignored_in(path)

    def severity(self, rule: type[Rule], own: Severity | None = None) -> Severity:
        """The severity of a report, which can have its `own`."""
        return Severity(self._severity.get(rule.code, own or rule.severity))


def _selected(catalogue: Catalogue, lint: LintSettings, at: Callable[[str], Place]) -> dict[str, int]:
    """The codes of the rules that `select` and `extend-select` enable, each with the precision of its selector, 0 by
    default. Raises SettingsError."""
    if lint.select:
        on = catalogue.expand(lint.select, at("select"))
    else:
        on = {rule.code: 0 for rule in catalogue.pack if rule.on_by_default}
    on |= catalogue.expand(lint.extend_select, at("extend-select"))
    for rule in catalogue.pack:
        if rule.deprecated and on.get(rule.code) == EXACT:
            catalogue.notes[f"{rule.code} is deprecated: {rule.deprecated}"] = None
        is_held_back = (rule.preview and not lint.preview) or (rule.deprecated and on.get(rule.code, 0) > 0)
        if is_held_back and on.get(rule.code, EXACT) < EXACT:
            del on[rule.code]
    return on


def _severities(catalogue: Catalogue, lint: LintSettings, place: Place) -> dict[str, str]:
    """The severities that `severity` sets by code. Of several selectors of a rule the most precise one counts. Raises
    SettingsError."""
    found: dict[str, tuple[int, str]] = {}
    for word, value in lint.severity:
        for code, weight in catalogue.expand([word], place).items():
            if code not in found or found[code][0] < weight:
                found[code] = weight, value
    return {code: value for code, (_, value) in found.items()}


def _ignored(catalogue: Catalogue, lint: LintSettings, at: Callable[[str], Place]) -> dict[str, int]:
    """The codes of the rules that `ignore` and `extend-ignore` disable, each with the precision of its selector. Raises
    SettingsError."""
    off = catalogue.expand(lint.ignore, at("ignore"), is_off=True)
    for code, weight in catalogue.expand(lint.extend_ignore, at("extend-ignore"), is_off=True).items():
        off[code] = max(weight, off.get(code, -1))
    return off


class Selections:
    """The selection for each file, computed once for all files with the same settings."""

    def __init__(self, finder: SettingsFinder, catalogue: Catalogue) -> None:
        self._finder = finder
        self._catalogue = catalogue
        self._known: dict[int, tuple[Selection, Settings]] = {}
        """Selections, keyed by the identity of settings: to compare settings with lists of megabytes takes long."""
        self._equal: dict[tuple[LintSettings, str], Selection] = {}

    def of(self, path: str) -> Selection:
        """Raises SettingsError."""
        settings = self._finder.of_file(path)
        if id(settings) not in self._known:
            key = settings.lint, settings.target_tensorflow
            if key not in self._equal:
                self._equal[key] = Selection(self._catalogue, settings)
            self._known[id(settings)] = self._equal[key].below(settings.root), settings
        return self._known[id(settings)][0]


def _subjects(rules: Iterable[type[Rule]], target: str, withheld: frozenset[str]) -> frozenset[Subject] | None:
    """The words that rules look for, None if one looks at every program. `withheld` are the codes of those that look
    for them only in the file itself."""
    targeted = release(target)
    found = set()
    for rule in rules:
        if rule.subscriptions() or rule.on_end is not Rule.on_end:
            if (words := rule.needed_names()) is None:
                return None
            if rule.any_of_names_before is not None and targeted < rule.any_of_names_before[0]:
                words |= rule.any_of_names_before[1]
            own_words = rule.own_words if rule.own_words is not Rule.own_words else None
            found.add(
                Subject(
                    words,
                    rule.source_pattern,
                    own_words,
                    rule.all_of_name_sets,
                    rule.in_graph_mode,
                    rule.code in withheld,
                )
            )
    return frozenset(found)
