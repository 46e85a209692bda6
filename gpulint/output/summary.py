"""The last line of a run, and `--statistics`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from gpulint.linting.result import CheckResult, Target
from gpulint.output.escapes import first_on_line, json_text
from gpulint.output.view import View, counts
from gpulint.rewriting.fix import is_wanted
from gpulint.sources.containment import relative_to


def footer(result: CheckResult, view: View, is_short: bool = False) -> str:
    """`Found 2 errors and 1 warning in 3 files.`, preceded by what was fixed, followed by what can be, by what was
    checked unless it `is_short`, and by what the findings leave out. Nothing if the user wants findings only."""
    if view.quiet:
        return ""
    found, hint = _found(result), _hint(result, view)
    if view.fix_only:
        fixed = f"Fixed {number(view.fixed, 'finding')}." if view.fixed else "Nothing to fix."
        first = "\n".join([fixed, found] if result.findings or result.errors else [fixed])
    elif view.fixed is None:
        first = f"{found} {hint}." if hint else found
    else:
        first = f"{view.fixed} fixed, {len(result.findings)} remaining{f'; {hint}' if hint else ''}.\n{found}"
    texts = (*first.split("\n"), *(() if is_short else _covered(result, view)), *_left_out(result, view))
    return "".join(f"{row}\n" for text in texts for row in view.style.lines(text))


def _covered(result: CheckResult, view: View) -> Iterator[str]:
    """The line that tells for which releases the files were checked, and how many of them use TensorFlow."""
    if result.targets:
        named = [
            f"{target.release} ({_origin(target, view)}{_share(files) if len(result.targets) > 1 else ''})"
            for target, files in sorted(result.targets.items())
        ]
        yield f"Checked for TensorFlow {', '.join(named)}; {_use(result)}."


def _use(result: CheckResult) -> str:
    uses = "uses" if result.files == 1 else "use"
    return f"{result.using} of {number(result.files, 'file')} {uses} it"


def _share(files: int) -> str:
    return f", {number(files, 'file')}"


def _origin(target: Target, view: View) -> str:
    if not target.origin:
        return f"the newest known: {_ISOLATED if view.isolated else 'nothing pins an older one'}"
    return first_on_line(relative_to(target.origin) if os.path.isabs(target.origin) else target.origin)


def _left_out(result: CheckResult, view: View) -> Iterator[str]:
    """A line for each kind of code about which the findings say nothing."""
    if functions := len({site for _, site in result.stopped}):
        were = "was" if functions == 1 else "were"
        where = "`-v` lists the files, `gpulint plan FILE` shows where"
        yield f"{number(functions, 'function')} {were} not followed to the end ({where})."
    if result.known:
        are = "is" if result.known == 1 else "are"
        yield f"{number(result.known, 'finding')} {are} in the baseline."
    if result.withheld:
        codes, total = ",".join(result.withheld), sum(result.withheld.values())
        them, are, they = ("it", "is", "it depends") if total == 1 else ("them", "are", "they depend")
        reason = _ISOLATED if view.isolated else "the project pins none"
        yield (
            f"{number(total, 'finding')} of {codes.replace(',', ', ')} {are} not shown: {they} on the TensorFlow "
            f"release, and {reason} (`--extend-select {codes}` shows {them})."
        )


_ISOLATED = "`--isolated` ignores the project's configuration and pins"


def _hint(result: CheckResult, view: View) -> str:
    """Number of findings that `--fix` and `--unsafe-fixes` could fix: an upper bound if edits were not computed."""
    fixes = [finding.fix for finding in result.findings if finding.fix is not None]
    now = sum(is_wanted(fix, view.unsafe_fixes) for fix in fixes) if view.fixed is None else 0
    more = sum(is_wanted(fix, True) and not is_wanted(fix, view.unsafe_fixes) for fix in fixes)
    most = "" if all(fix.edits for fix in fixes) else "up to "
    if view.fixed is not None:
        return f"{more} more with `--unsafe-fixes`" if more else ""
    if now:
        return f"[*] {most}{now} fixable with `--fix`" + (f"; {more} more with `--unsafe-fixes`" if more else "")
    return f"{most.capitalize()}{more} fixable with `--fix --unsafe-fixes`" if more else ""


def _found(result: CheckResult) -> str:
    if not result.findings and result.errors:
        return f"No findings, but {number(len(result.errors), 'internal error')}: not everything was checked."
    if not result.files:
        return "No Python files found."
    if not result.findings and not result.using:
        return f"{_use(result).removesuffix('it')}TensorFlow."
    if not result.findings and result.withheld:
        return "No findings to show."
    if not result.findings:
        return "All checks passed!"
    words = ("error", "warning", "note")
    parts = [number(count, word) for count, word in zip(counts(result), words, strict=True) if count]
    files = len({one.span.path for one in result.findings})
    found = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
    return f"Found {found} in {number(files, 'file')}."


def number(count: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def statistics(result: CheckResult, form: str) -> str:
    """Number of findings of each rule, the most frequent first, then the number of functions in which a bound of the
    analysis was reached, or that there are none; as JSON for the format "json"."""
    numbers = Counter((one.code, one.name) for one in result.findings)
    rows = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
    stopped = Counter(bound for bound, _ in result.stopped)
    if form == "json":
        counts = [{"code": code, "name": name, "count": count} for (code, name), count in rows]
        counts += [{"code": None, "name": f"stopped: {bound}", "count": stopped[bound]} for bound in sorted(stopped)]
        return json_text(counts) + "\n"
    if not rows and not stopped:
        return f"{_found(result)}\n"
    rows += [(("-", f"functions in which the analysis stopped: {bound}"), stopped[bound]) for bound in sorted(stopped)]
    width = max((len(str(count)) for _, count in rows), default=0)
    return "".join(f"{count:>{width}}\t{code}\t{name}\n" for (code, name), count in rows)
