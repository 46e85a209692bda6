"""One content of each file for a whole run: the provenance of its parts, and whether they agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from gpulint.linting.examined import Examined
from gpulint.linting.files import Files
from gpulint.linting.provenance import Provenance
from gpulint.linting.workspace import Workspace, roots_of
from gpulint.places import Span
from gpulint.settings import SettingsFinder


def readings(workspace: Workspace, path: str) -> dict[str, str]:
    """States of the files that were read while the programs in `path` were analysed, its own included."""
    files = {path}
    for consulted in workspace.project(path).consulted:
        source = workspace.files.read(consulted)
        files.add(source.file if source is not None else consulted)
    return {one: workspace.files.states.of(one) for one in files}


def provenance_of(workspace: Workspace, path: str, states: dict[str, str]) -> Provenance | None:
    """Provenance of the results for `path`, None if a file that they need must not be read."""
    project = workspace.project(path)
    if not project.consulted.isdisjoint(workspace.files.given_up):
        return None
    return Provenance(states, {roots_of(workspace.finder.of_file(path)): dict(project.asked)})


def run_provenance(shown: Collection[str], parts: Iterable[Examined]) -> Provenance | None:
    """Provenance of the result of a run, None if that of a file is missing."""
    by_path = {part.path: part.provenance for part in parts}
    known = [one for path in shown if (one := by_path.get(path)) is not None]
    return Provenance.all_of(known) if len(known) == len(shown) else None


def is_in_place(part: Examined, files: Files) -> bool:
    """Whether all findings and comments of a remembered part are inside their files."""
    found = [*part.unreadable, *(one.finding for one in part.candidates)]
    spans = {span for one in found for span in (one.span, *(related.span for related in one.related))}
    for path, comments in part.comments.items():
        spans |= {Span(path, *one.place) for one in comments.suppressions}
        spans |= {Span(path, *one.place) for one in comments.troubles}
    return all(map(files.has, spans))


def torn(parts: Sequence[Examined], shown: Collection[str], files: Files, finder: SettingsFinder) -> dict[str, bytes]:
    """Files that changed while they were checked: processes read different contents, or their rows are shown and differ
    now. The value is the content that counts for the whole run, empty for a file that has vanished."""
    states: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        for path, state in part.readings.items():
            states[path].add(state)
    lost = {part.path for part in parts if part.lost}
    for path in states.keys() & {path for part in parts for path in _reported_in(part)} - lost:
        if path in shown:
            files.read(path)
            states[path].add(files.states.of(path))
    contents: dict[str, bytes] = {}
    for path in (path for path, several in states.items() if len(several) > 1):
        try:
            contents[path] = finder.of_file(path).read(path)
        except OSError:
            contents[path] = b""
    return contents


def _reported_in(part: Examined) -> Iterator[str]:
    """The files whose rows are shown with the findings of a part."""
    yield from part.comments
    yield from (candidate.finding.span.path for candidate in part.candidates)
    yield from (finding.span.path for finding in part.unreadable)
