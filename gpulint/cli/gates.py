"""Exemptions from findings: baselines, unchanged code since a revision, comments that `check` writes.

Most runs use none of these: their modules are imported when needed.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpulint.checking import Texts
from gpulint.cli.options import UserError, say
from gpulint.cli.writable import WritableFiles
from gpulint.linting.finding import Finding
from gpulint.linting.own_codes import ABOUT_COMMENTS, SYNTAX_ERROR
from gpulint.linting.result import CheckResult
from gpulint.output.summary import number
from gpulint.places import Span
from gpulint.settings import Settings, SettingsFinder
from gpulint.sources.containment import is_below
from gpulint.sources.language import language_of
from gpulint.sources.writing import folder_of

if TYPE_CHECKING:
    from gpulint.linting.baseline import Baseline
    from gpulint.sources.changes import Changes
    from gpulint.sources.source import Source

F = TypeVar("F", bound=Callable[..., Any])

_NAMED_STALE = 5
"""Maximum number of stale baseline entries that are named; more are counted."""


def gatekeeping(function: F) -> F:
    """`--baseline`, `--write-baseline`, `--prune-baseline`, `--since`, `--add-ignore`."""
    for option in (
        click.option("--add-ignore", metavar="[=REASON]", help="Write a comment that silences each finding."),
        click.option("--since", metavar="REV", help="Report only findings on lines changed since a git revision."),
        click.option("--prune-baseline", is_flag=True, help="Remove stale entries from the baseline."),
        click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline."),
        click.option("--baseline", type=click.Path(dir_okay=False), help="Skip findings that are in this file."),
    ):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class Gates:
    """The user's options. `folder` is where the baseline may be written; `reason` is that of `--add-ignore`, None
    without that option."""

    baseline: str | None
    folder: str
    write: bool
    prune: bool
    changes: Changes | None
    reason: str | None

    @classmethod
    def of(cls, choices: dict[str, Any], settings: Settings) -> Gates:
        """Raises UserError."""
        named, writes = choices["baseline"], choices["write_baseline"] or choices["prune_baseline"]
        folder = folder_of(named, ".") if named is not None else settings.root
        if named is None and settings.baseline:
            named = os.path.join(settings.root, settings.baseline)
        if writes and named is None:
            raise UserError(
                "--write-baseline and --prune-baseline need a file: --baseline FILE, or `baseline` in the settings"
            )
        if writes and not is_below(os.path.realpath(named), os.path.realpath(folder)):
            raise UserError(f"{named}: is outside {os.path.abspath(folder)}; only --baseline can name one elsewhere")
        changes = _changes_since(choices["since"], settings) if choices["since"] is not None else None
        reason = _reason(choices["add_ignore"]) if choices["add_ignore"] is not None else None
        return cls(named, folder, choices["write_baseline"], choices["prune_baseline"], changes, reason)

    def lets_pass(self, checked: CheckResult, in_file: Callable[[Span], Span]) -> Callable[[Finding], bool]:
        """Whether a finding of this or a later check is reported. Raises UserError."""
        findings = checked.findings
        if self.baseline is None and self.changes is None:
            return lambda finding: True
        if self.baseline is not None and os.path.exists(self.baseline):
            findings = _read(self.baseline).fresh(findings)
        if self.changes is not None:
            findings = [one for one in findings if _is_new(one, self.changes, in_file)]
        counting = {one.fingerprint for one in findings}
        return lambda finding: finding.fingerprint in counting

    def passed(
        self,
        result: CheckResult,
        checked: Collection[str],
        in_file: Callable[[Span], Span],
        has_other_importers: Callable[[str], bool],
    ) -> CheckResult:
        """The result with only the findings that are reported; `in_file` converts a span in a cell to rows of the file.
        `has_other_importers` tells whether a file is imported by one that was not checked.

        Raises UserError.
        """
        findings, known = result.findings, 0
        if self.baseline is not None:
            findings = self._without_known(self.baseline, findings, checked, has_other_importers)
            known = len(result.findings) - len(findings)
        if self.changes is not None:
            findings = [one for one in findings if _is_new(one, self.changes, in_file)]
        return replace(result, findings=findings, known=known)

    def known(self, result: CheckResult) -> Collection[Finding]:
        """The findings that are in the baseline. Raises UserError."""
        if self.baseline is None or self.write or not os.path.exists(self.baseline):
            return ()
        return set(result.findings).difference(_read(self.baseline).fresh(result.findings))

    def _without_known(
        self,
        file: str,
        findings: list[Finding],
        checked: Collection[str],
        has_other_importers: Callable[[str], bool],
    ) -> list[Finding]:
        """The findings that are not in the baseline, which is renewed or pruned if the user wants that. Raises
        UserError."""
        from gpulint.linting.baseline import Baseline, rendered
        from gpulint.sources.writing import NotWritten, replace_file

        known = Baseline(file) if self.write and not os.path.exists(file) else _read(file)
        stale = known.stale(findings, checked, has_other_importers)
        changed = known
        if self.write:
            changed = known.renewed(findings, stale)
        elif self.prune:
            changed = known.without(stale)
        elif stale:
            names = [f"{one.path} {one.code}" for one in stale[:_NAMED_STALE]]
            names += [f"{len(stale) - len(names)} more"] if len(stale) > len(names) else []
            entries = "1 stale entry" if len(stale) == 1 else f"{len(stale)} stale entries"
            them = "it" if len(stale) == 1 else "them"
            say(f"{file}: {entries} ({', '.join(names)}); remove {them} with --prune-baseline")
        if changed != known or (self.write and not os.path.exists(file)):
            try:
                replace_file(file, None, rendered(changed).encode(), self.folder)
            except NotWritten as error:
                raise UserError(str(error)) from None
            gone, new = len(known.entries - changed.entries), len(changed.entries - known.entries)
            say(f"{file}: {new} added, {gone} removed, {len(changed.entries)} in all")
        return changed.fresh(findings)

    def ignore(self, result: CheckResult, texts: Texts, finder: SettingsFinder, writable: WritableFiles) -> bool:
        """Write suppression comments into the files as they were checked; whether any was written."""
        if self.reason is None:
            return False
        from gpulint.linting.precedence import ALSO_HERE

        wanted: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for one in result.findings:
            if one.code != SYNTAX_ERROR and one.code not in ABOUT_COMMENTS:
                also = [related.span for related in one.related if related.message == ALSO_HERE]
                for span in (one.span, *also):
                    wanted[span.path].append((span.row, one.code))
        for path in [one for one in wanted if language_of(one, finder.of_file(one).extension) != "python"]:
            del wanted[path]
            say(f"{path}: not changed: comments are only written to Python files")
        written = [
            _ignore(path, source, places, self.reason, writable)
            for path, places in wanted.items()
            if (source := texts.source(path)) is not None
        ]
        files = number(sum(map(bool, written)), "file")
        say(f"{number(sum(written), 'finding')} ignored in {files}")
        return any(written)


def _read(file: str) -> Baseline:
    """The baseline in a file. Raises UserError."""
    from gpulint.linting.baseline import BaselineError, read

    try:
        return read(file)
    except BaselineError as error:
        raise UserError(str(error)) from None


def _changes_since(revision: str, settings: Settings) -> Changes:
    from gpulint.sources.changes import NoChanges, changes_since

    try:
        return changes_since(revision, read=settings.read)
    except NoChanges as error:
        raise UserError(f"--since: {error}") from None


def _reason(text: str) -> str:
    from gpulint.sources.ignoring import CannotIgnore, one_line

    try:
        return one_line(text)
    except CannotIgnore as error:
        raise UserError(f"--add-ignore: {error}") from None


def _is_new(finding: Finding, changes: Changes, in_file: Callable[[Span], Span]) -> bool:
    """Whether the change affects a finding or one of its related places. Raises UserError."""
    from gpulint.sources.changes import NoChanges

    try:
        if finding.code == SYNTAX_ERROR:
            return changes.has_file(finding.span.path)
        spans = [in_file(span) for span in (finding.span, *(one.span for one in finding.related))]
        return any(changes.has_rows(span.path, span.row, span.end_row) for span in spans)
    except NoChanges as error:
        raise UserError(f"--since: {error}") from None


def _ignore(path: str, source: Source, places: list[tuple[int, str]], reason: str, writable: WritableFiles) -> int:
    """Write the comments of one file; the number of findings that they silence. Failures are reported."""
    from gpulint.sources.decoding import Undecodable, decode
    from gpulint.sources.ignoring import CannotIgnore, with_ignores
    from gpulint.sources.writing import NotWritten

    try:
        text = decode(path, source.data).text
        after = with_ignores(text, places, reason).encode(source.encoding)
        if text.encode(source.encoding) != source.data:
            raise CannotIgnore(f"cannot be written back in {source.encoding}")
        writable.replace(path, source.data, after)
    except UnicodeEncodeError as error:
        say(f"{path}: its encoding {error.encoding} cannot represent {error.object[error.start]!r}")
    except (Undecodable, CannotIgnore) as error:
        say(f"{path}: not changed: {error}")
    except NotWritten as error:
        say(str(error))
    else:
        return len(places)
    return 0
