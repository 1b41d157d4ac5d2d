"""Carries out the fixes of the rules in the whole workspace, or writes down which they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .contract import Session, SessionProblem
from .files import write_artifact, write_file
from .repository import all_files, searchable
from .rules import Rule
from .search import Edit, Engine, Match, search
from .text import counted, native, one_line, shown

_MAX_PLAN_LINES = 1000


@dataclass(frozen=True)
class _Changes:
    """The edits of each file, in order and apart from each other, and how many matches lead to none."""

    files: dict[bytes, list[tuple[Edit, Match]]]
    overlapping: int
    without_fix: int

    def summary(self) -> str:
        return (
            f"{counted(sum(map(len, self.files.values())), 'change')} in {counted(len(self.files), 'file')}"
        )


def work(session: Session, engine: Engine, rules: Sequence[Rule]) -> str:
    """Apply the fixes to the workspace, in one pass like ast-grep itself."""
    changes = _find_changes(session, engine, rules)
    for path, edits in changes.files.items():
        file = session.workspace / native(path)
        write_file(file, _apply(file.read_bytes(), edits), file.stat().st_mode & 0o7777, engine.transcript)
    return f"Made {changes.summary()}."


def plan(session: Session, engine: Engine, rules: Sequence[Rule]) -> str:
    """Write down what `work` would change."""
    changes = _find_changes(session, engine, rules)
    lines = [
        f"- `{shown(path)}:{match.line}` {match.rule}: {one_line(match.message)}"
        for path, edits in changes.files.items()
        for _, match in edits
    ]
    more = [f"- and {len(lines) - _MAX_PLAN_LINES} more"] if len(lines) > _MAX_PLAN_LINES else []
    document = [
        "# Plan",
        "",
        f"The rules of the skills ask for {changes.summary()}.",
        "",
        *lines[:_MAX_PLAN_LINES],
        *more,
    ]
    write_artifact(
        session, engine.transcript, ("\n".join(document).rstrip() + "\n").encode("utf-8", "replace")
    )
    return f"Planned {changes.summary()}."


def _find_changes(session: Session, engine: Engine, rules: Sequence[Rule]) -> _Changes:
    """The changes that the rules ask for in the whole workspace; says what it leaves out."""
    files = searchable(session, all_files(session.workspace)) if rules else []
    matches: dict[bytes, list[Match]] = {}
    for match in search(engine, rules, files):
        matches.setdefault(match.path, []).append(match)
    edits = {path: _sorted_edits(matches[path]) for path in sorted(matches)}
    chosen = {path: _without_overlaps(edits[path]) for path in edits}
    changes = _Changes(
        files={path: chosen[path] for path in chosen if chosen[path]},
        overlapping=sum(len(edits[path]) - len(chosen[path]) for path in edits),
        without_fix=sum(match.edit is None for found in matches.values() for match in found),
    )
    if changes.overlapping:
        engine.transcript.message(
            f"Left out {counted(changes.overlapping, 'change')} that would overlap another one."
        )
    if changes.without_fix:
        engine.transcript.message(f"Left {counted(changes.without_fix, 'match')} of rules that have no fix.")
    return changes


def _sorted_edits(matches: Iterable[Match]) -> list[tuple[Edit, Match]]:
    """The edits that change something, each once; the outer one of two at the same place comes first."""
    edits: dict[Edit, Match] = {}
    for match in sorted(matches, key=lambda one: (one.rule, one.start, one.end)):
        if match.edit and match.edit != Edit(match.start, match.end, match.text.encode("utf-8", "replace")):
            edits.setdefault(match.edit, match)
    return sorted(
        edits.items(), key=lambda item: (item[0].start, -item[0].end, item[1].rule, item[0].replacement)
    )


def _without_overlaps(edits: Iterable[tuple[Edit, Match]]) -> list[tuple[Edit, Match]]:
    """Of any edits that overlap, the first."""
    chosen: list[tuple[Edit, Match]] = []
    for edit, match in edits:
        if not chosen or edit.start >= chosen[-1][0].end:
            chosen.append((edit, match))
    return chosen


def _apply(content: bytes, edits: Iterable[tuple[Edit, Match]]) -> bytes:
    """The content of a file after edits that are in order and do not overlap."""
    pieces: list[bytes] = []
    position = 0
    for edit, match in edits:
        if content[match.start : match.end] != match.text.encode("utf-8", "replace"):
            raise SessionProblem(f"{shown(match.path)} changed while it was read; nothing was written to it.")
        pieces += [content[position : edit.start], edit.replacement]
        position = edit.end
    return b"".join([*pieces, content[position:]])
