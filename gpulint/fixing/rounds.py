"""Applying fixes: check, change and check again until nothing changes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpulint.checking import Check, Checked
from gpulint.fixing.contents import compiles, texts_of, with_edits
from gpulint.linting.finding import Finding
from gpulint.linting.result import CheckResult
from gpulint.rewriting.fix import is_wanted
from gpulint.rewriting.text import chosen
from gpulint.sources.source import Source

MAX_ROUNDS = 10
"""Maximum number of passes over a file: a fix can enable another."""

MAX_TRIES = 3 * MAX_ROUNDS
"""Maximum number of contents tried for a file; those that fail the checks are discarded."""


@dataclass(slots=True)
class Fixed:
    """Result of fixing: contents `before` and `after` by path, the fixed findings, and the last check."""

    checked: Checked
    before: dict[str, Source] = field(default_factory=dict)
    after: dict[str, Source] = field(default_factory=dict)
    fixed: list[Finding] = field(default_factory=list)

    def texts(self, path: str) -> dict[int | None, str]:
        """The changed text of a file (key None), or the changed texts of its cells by index."""
        if path not in self.after:
            return {}
        before = texts_of(self.before[path])
        return {cell: text for cell, text in texts_of(self.after[path]).items() if text != before[cell]}


class Fixer:
    """One run of fixes over some files. Nothing is written to disk.

    `unsafe` decides whether unsafe fixes of a file are applied, `counts` whether a finding is fixed at all.
    """

    def __init__(
        self, check: Check, unsafe: Callable[[str], bool], counts: Callable[[Finding], bool] = lambda finding: True
    ) -> None:
        self._check = check
        self._unsafe = unsafe
        self._counts = counts
        self._sources: dict[str, Source] = {}
        self._contents: dict[str, bytes] = {}
        self._rounds: Counter[str] = Counter()
        self._tries: Counter[str] = Counter()
        self._careful: set[str] = set()
        self._refused: set[tuple[str, str]] = set()
        self._fixed: list[Finding] = []

    def run(self, checked: Checked, paths: Sequence[str]) -> Fixed:
        """Fix the files at `paths`, given the result of checking them."""
        while self._change(checked):
            checked = self._check(paths, self._contents)
        after = {path: checked.texts.source(path) for path in self._contents}
        changed = {path: one for path, one in after.items() if one is not None and one.data != self._sources[path].data}
        return Fixed(checked, {path: self._sources[path] for path in changed}, changed, self._fixed)

    def _change(self, checked: Checked) -> bool:
        """Passes over the files until none changes; whether any did."""
        changed = False
        while proposed := self._proposed(checked):
            trial = {path: content for path, (content, _) in proposed.items()}
            programs = set(trial)
            for path in trial:
                programs |= checked.result.programs.get(path, set())
            before, checked = checked, self._check(sorted(programs), {**self._contents, **trial})
            old, new = _numbers(before.result), _numbers(checked.result)
            good = {path for path in trial if _is_better(proposed[path][1], old[path], new[path])}
            left = {_key(one) for one in checked.result.findings}
            for path, (content, findings) in proposed.items():
                kept = [one for one in findings if _key(one) in left]
                if path in good:
                    self._contents[path] = content
                    self._rounds[path] += 1
                    self._careful.discard(path)
                    self._fixed += findings
                    changed = True
                elif kept or len(findings) == 1:
                    self._refused.update(_key(one) for one in kept or findings)
                else:
                    self._careful.add(path)
            if len(good) < len(trial):
                checked = self._check(sorted(programs), self._contents)
        return changed

    def _proposed(self, checked: Checked) -> dict[str, tuple[bytes, list[Finding]]]:
        """The next content of each file that can still change, with the findings that it fixes."""
        by_path: dict[str, list[Finding]] = defaultdict(list)
        for finding in checked.result.findings:
            path = finding.span.path
            if not is_wanted(finding.fix, self._unsafe(path)) or _key(finding) in self._refused:
                continue
            if self._rounds[path] < MAX_ROUNDS and self._counts(finding):
                by_path[path].append(finding)
        proposed = {}
        for path, findings in by_path.items():
            source = checked.texts.source(path)
            if source is None:
                continue
            self._sources.setdefault(path, source)
            if (next_one := self._next(path, source, findings)) is not None:
                proposed[path] = next_one
        return proposed

    def _next(self, path: str, source: Source, findings: list[Finding]) -> tuple[bytes, list[Finding]] | None:
        """The content of a file with all fixes that can be applied together, or with one if that failed."""
        alone = path in self._careful
        while findings and self._tries[path] < MAX_TRIES:
            self._tries[path] += 1
            fixes = chosen(one.fix for one in findings if one.fix is not None)
            fixes = fixes[:1] if alone else fixes
            applied = {id(fix) for fix in fixes}
            mine = [one for one in findings if id(one.fix) in applied]
            content = with_edits(source, fixes)
            if content is not None and content != source.data and compiles(path, content, source):
                return content, mine
            if len(fixes) == 1:
                self._refused.update(_key(one) for one in mine)
                findings = [one for one in findings if id(one.fix) not in applied]
            alone = True
        return None


def _key(finding: Finding) -> tuple[str, str]:
    return finding.span.path, finding.fingerprint


def _numbers(result: CheckResult) -> dict[str, Counter[str]]:
    """Number of findings of each rule, by file."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for finding in result.findings:
        counts[finding.span.path][finding.code] += 1
    return counts


def _is_better(fixed: list[Finding], old: Counter[str], new: Counter[str]) -> bool:
    """Whether each fixed rule has that many findings fewer in the file, and the total did not grow."""
    gone = Counter(one.code for one in fixed)
    return new.total() <= old.total() and all(new[code] <= old[code] - count for code, count in gone.items())
