"""Carries out the fixes of the rules in the workspace, or writes down which they are."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .contract import Session, SessionProblem
from .files import write_artifact, write_file
from .repository import all_files, searchable
from .rules import Rule
from .search import Edit, Engine, Match, search
from .text import counted, native, one_line, shown

_MAX_PLAN_LINES = 1000


@dataclass(frozen=True)
class _Changes:
    """The edits of each file, in order and apart from each other, and the matches of rules that have no fix."""

    files: dict[bytes, list[tuple[Edit, Match]]]
    without_fix: list[Match]

    def summary(self) -> str:
        return (
            f"{counted(sum(map(len, self.files.values())), 'change')} in {counted(len(self.files), 'file')}"
        )


def work(session: Session, engine: Engine, rules: Sequence[Rule]) -> str:
    """Apply the fixes, in one pass like ast-grep itself: to the workspace, or to what the plan names of it."""
    files = _files(session, rules)
    changes = _find_changes(
        engine, rules, files if session.plan is None else _named(session.plan, engine, files)
    )
    if changes.without_fix:
        engine.transcript.message(
            f"Left {counted(len(changes.without_fix), 'match')} of rules that have no fix."
        )
    for path, edits in changes.files.items():
        file = session.workspace / native(path)
        write_file(file, _apply(file.read_bytes(), edits), file.stat().st_mode & 0o7777, engine.transcript)
    return f"Made {changes.summary()}."


def plan(session: Session, engine: Engine, rules: Sequence[Rule]) -> str:
    """Write down what the rules would change, and the places where they have no change to offer."""
    changes = _find_changes(engine, rules, _files(session, rules))
    planned = [match for edits in changes.files.values() for _, match in edits]
    places = sorted(changes.without_fix, key=lambda match: (match.path, match.line, match.rule))
    document = [
        "# Plan",
        "",
        f"The rules ask for {changes.summary()}.",
        "",
        *_plan_lines(planned),
        *(("", "To look at, where the rules have no change of their own:", "") if places else ()),
        *_plan_lines(places),
    ]
    write_artifact(
        session, engine.transcript, ("\n".join(document).rstrip() + "\n").encode("utf-8", "replace")
    )
    return f"Planned {changes.summary()}."


def _plan_lines(matches: Iterable[Match]) -> Iterator[str]:
    """One line for each place and rule, as many as a reader can take."""
    lines = list(
        dict.fromkeys(
            f"- `{shown(match.path)}:{match.line}` {match.rule}: {one_line(match.message)}"
            for match in matches
        )
    )
    yield from lines[:_MAX_PLAN_LINES]
    if len(lines) > _MAX_PLAN_LINES:
        yield f"- and {len(lines) - _MAX_PLAN_LINES} more"


def _files(session: Session, rules: Sequence[Rule]) -> list[bytes]:
    return searchable(session, all_files(session.workspace)) if rules or session.plan else []


def _named(plan: Path, engine: Engine, files: Iterable[bytes]) -> list[bytes]:
    """Of the files, those that a plan names in backquotes, with or without a line; says so if it names none."""
    try:
        text = plan.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise SessionProblem(f"The plan cannot be read: {error}.") from error
    engine.transcript.step()
    named = [path for path in files if any(f"`{shown(path)}{end}" in text for end in ("`", ":"))]
    if not named:
        engine.transcript.message("The plan names no file of the workspace, so nothing is changed.")
    return named


def _find_changes(engine: Engine, rules: Sequence[Rule], files: Sequence[bytes]) -> _Changes:
    """The changes that the rules ask for in these files; says which of them it leaves out."""
    matches: dict[bytes, list[Match]] = {}
    for match in search(engine, rules, files):
        matches.setdefault(match.path, []).append(match)
    edits = {path: _sorted_edits(matches[path]) for path in sorted(matches)}
    chosen = {path: _without_overlaps(edits[path]) for path in edits}
    overlapping = sum(len(edits[path]) - len(chosen[path]) for path in edits)
    if overlapping:
        engine.transcript.message(
            f"Left out {counted(overlapping, 'change')} that would overlap another one."
        )
    return _Changes(
        files={path: chosen[path] for path in chosen if chosen[path]},
        without_fix=[match for found in matches.values() for match in found if match.edit is None],
    )


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
