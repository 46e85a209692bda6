"""From what each file gave to the result of a run: precedence, suppression, fingerprints, order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.displaying import displayed
from gpulint.linting.examined import Candidate, Examined
from gpulint.linting.finding import Finding, Silenced, SuppressedBy
from gpulint.linting.fingerprints import fingerprints
from gpulint.linting.fixes import Writer
from gpulint.linting.importers import only_imported_on_check
from gpulint.linting.own_codes import ABOUT_FILES
from gpulint.linting.precedence import (
    gathered,
    without_explained,
    without_guessed,
    without_repeated,
    without_retracted,
)
from gpulint.linting.result import CheckResult
from gpulint.linting.selection import Catalogue, Selections
from gpulint.linting.silence import silence
from gpulint.linting.unreadable import point, unreadable
from gpulint.linting.workspace import Workspace
from gpulint.places import Site
from gpulint.sources.suppressions import Comments


class Merger:
    """Merges the parts of one run. `shown` are the paths that the user gave, by absolute path."""

    def __init__(
        self,
        workspace: Workspace,
        catalogue: Catalogue,
        selections: Selections,
        edits: bool,
        shown: Mapping[str, str],
    ) -> None:
        self._workspace = workspace
        self._catalogue = catalogue
        self._selections = selections
        self._edits = edits
        self._shown = shown

    def merge(self, parts: Sequence[Examined], lost: Mapping[str, str]) -> CheckResult:
        """The result of the run; `lost` says why some of the files were not examined."""
        shown = self._shown
        order = {path: number for number, path in enumerate(shown)}
        ordered = sorted(parts, key=lambda part: order.get(part.path, 0))
        result = self._sums(ordered)
        lost_here = ((path, reason) for path, reason in lost.items() if path in shown)
        found = [self._displayed(unreadable(self._catalogue, point(path), reason)) for path, reason in lost_here]
        found += [self._displayed(one) for part in ordered for one in part.unreadable]
        comments = {path: each for part in ordered for path, each in part.comments.items()}
        by_file, result.withheld = self._reported(ordered, comments)
        for path in shown:
            if path in by_file or path in comments:
                is_ignored = self._workspace.finder.of_file(path).lint.ignore_noqa
                own = Comments() if is_ignored else comments.get(path, Comments())
                kept, silenced, faults = self._kept(path, by_file.get(path, []), own)
                found += kept
                result.suppressed += silenced
                result.errors += faults
        self._identify(result, found)
        result.notes = [*self._catalogue.notes, *self._all_off()]
        return result

    def _sums(self, parts: Iterable[Examined]) -> CheckResult:
        """What the parts add up to, without their findings."""
        shown = self._shown
        result = CheckResult(files=len(shown), errors=[*self._catalogue.faults])
        for part in parts:
            for path in part.reached & shown.keys():
                result.programs.setdefault(shown[path], set()).add(shown[part.path])
            result.errors += part.errors
            result.analysed += part.analysed
            if part.target is not None and (part.uses or part.candidates):
                result.using += 1
                result.targets[part.target] = result.targets.get(part.target, 0) + 1
            result.stopped |= part.stopped
        return result

    def _identify(self, result: CheckResult, found: Iterable[Finding]) -> None:
        """Set the findings of a result, in order of their places, and give them and the silenced ones fingerprints."""
        ordered = sorted(found, key=_order)
        silenced = (one.finding for one in result.suppressed)
        digests = fingerprints(sorted((*ordered, *silenced), key=_order), self._workspace.files, self._workspace.finder)
        result.findings = [replace(one, fingerprint=digests[one]) for one in ordered]
        result.suppressed = [
            one._replace(finding=replace(one.finding, fingerprint=digests[one.finding])) for one in result.suppressed
        ]

    def _all_off(self) -> Iterator[str]:
        """A line if the settings leave no rule on in any file: `All checks passed!` would be misleading, unless the
        command line asks for rules about files only."""
        words = self._workspace.finder.asked.lint.select
        if words and ABOUT_FILES.issuperset(code for word in words for code in self._catalogue.codes(word) or (word,)):
            return
        if self._shown and all(self._selections.of(path).is_empty_for(path) for path in self._shown):
            source = self._workspace.finder.of_file(next(iter(self._shown))).source
            yield f"{source or 'settings'}: all rules about programs are off in all files"

    def _reported(
        self, parts: Sequence[Examined], comments: Mapping[str, Comments]
    ) -> tuple[dict[str, list[Candidate]], dict[str, int]]:
        """The candidates that are reported, by file, without those that give way to others; and by code the number of
        findings that are withheld because the release is not known."""
        candidates = [one for part in parts for one in part.candidates if one.finding.span.path in self._shown]
        candidates = self._for_this_release(without_retracted(candidates))
        called: set[Site] = set().union(*(part.called for part in parts))
        passed: set[Site] = set().union(*(part.passed for part in parts))
        candidates = without_guessed(candidates, called, passed, self._catalogue)
        known = [one for one in candidates if one.finding.code not in self._withheld_in(one.finding.span.path)]
        withheld: Counter[str] = Counter()
        for path in {one.finding.span.path for one in candidates} if len(known) < len(candidates) else ():
            codes = self._withheld_in(path)
            all_of_file = [one for one in candidates if one.finding.span.path == path]
            found, *_ = self._kept(path, self._preceding(all_of_file), comments.get(path, Comments()))
            withheld.update(one.code for one in found if one.code in codes)
        by_file: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in self._preceding(known):
            by_file[candidate.finding.span.path].append(candidate)
        return by_file, dict(sorted(withheld.items()))

    def _preceding(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates that do not give way to others. Those that a comment explains away come last, unless another
        program gives the same one without a comment."""
        live = [one for one in candidates if not one.justified]
        places = {(one.site, one.finding.code) for one in live}
        justified = [one for one in candidates if one.justified and (one.site, one.finding.code) not in places]
        return [*without_repeated(without_explained(live, self._catalogue), self._catalogue), *justified]

    def _withheld_in(self, path: str) -> frozenset[str]:
        """Codes of the rules that depend on the release and that nobody asked for, in a file whose release is not
        known."""
        selection = self._selections.of(path)
        unnamed = selection.codes - selection.named
        codes = frozenset(code for code in unnamed if self._catalogue.asks_release(code))
        return codes if codes and not self._workspace.files.knows_release(path) else frozenset()

    def _for_this_release(self, candidates: list[Candidate]) -> list[Candidate]:
        """Candidates without those of rules about a release's names in files that are for another release."""
        about = {one.site.path for one in candidates if self._catalogue.asks_release(one.finding.code)}
        workspace = self._workspace
        elsewhere = on_deep_stack(
            lambda: only_imported_on_check(about, self._shown, workspace.files, workspace.project)
        )
        return [
            one
            for one in candidates
            if one.site.path not in elsewhere or not self._catalogue.asks_release(one.finding.code)
        ]

    def _kept(
        self, path: str, candidates: Iterable[Candidate], comments: Comments
    ) -> tuple[list[Finding], list[Silenced], list[tuple[str, str]]]:
        """(findings, silenced findings, faults of their fixes) of one file; of several programs' findings with the same
        code at one place, the most certain one."""
        sources = self._workspace.files.programs(path)
        if not sources:
            return [], [], []
        selection = self._selections.of(path)
        off = selection.ignored_in(path)
        found: dict[tuple[int | None, int, int, str], Candidate] = {}
        for candidate in candidates:
            finding = candidate.finding
            key = _start(finding)
            if key not in found or found[key].finding.confidence.value > finding.confidence.value:
                found[key] = candidate
        findings = [one.finding for one in found.values()]
        shown = selection.codes - self._withheld_in(path)
        kept, suppressed = silence(findings, comments, sources, selection, self._catalogue, shown)
        silenced = [one._replace(finding=self._displayed(one.finding)) for one in suppressed]
        result = []
        faults = []
        writer = Writer(sources[0])
        for finding in kept:
            chosen = found.get(_start(finding))
            if chosen is not None and chosen.justified:
                silenced.append(Silenced(self._displayed(finding), chosen.justified, SuppressedBy.EXPLANATION))
                continue
            if chosen is not None and chosen.fault is not None:
                faults.append(chosen.fault)
            fix = finding.fix if finding.code in selection.fixable else None
            if chosen is None and fix is not None:  # about a comment: other fixes were already placed in their blocks
                fix = on_deep_stack(partial(writer.of_comment, fix)) if self._edits else replace(fix, edits=())
            if finding.code not in off:
                result.append(replace(finding, fix=fix))
        result = [self._displayed(finding) for finding in gathered(result, self._catalogue)]
        return result, silenced, faults

    def _displayed(self, finding: Finding) -> Finding:
        return displayed(finding, self._shown)


def _start(finding: Finding) -> tuple[int | None, int, int, str]:
    """Identity of a finding in its file. The end is left out: programs that know more can report a shorter span."""
    return finding.span.cell, finding.span.row, finding.span.column, finding.code


def _order(finding: Finding) -> tuple[str, int, int, int, str, str]:
    span = finding.span
    cell = span.cell if span.cell is not None else -1
    return span.path, cell, span.row, span.column, finding.code, finding.message
