"""The learning queue: notes of what was seen, one JSON object a line (schemas/learning.schema.json)."""

from pathlib import Path

import msgspec
from msgspec import Struct

from bench.digest import digest_json
from evolve.errors import ProposalError


class Learning(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One note: what was observed, and the rule or the sentence that a skill could learn from it."""

    id: str
    skill: str
    date: str
    observation: str
    rule: str | None = None
    sentence: str | None = None
    task: str | None = None

    @property
    def digest(self) -> str:
        """The identity of the idea: what the skill would learn, not when or where it was seen."""
        return digest_json([self.skill, self.rule, self.sentence])


def read_queue(path: Path) -> tuple[Learning, ...]:
    """All notes in their order. ProposalError names the line of each one that is malformed."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ProposalError(
            f"the learning queue {path} cannot be read: {error}\n  see proposer.queue"
        ) from error
    notes: list[Learning] = []
    faults: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                notes.append(_note(line))
            except (msgspec.DecodeError, ValueError) as error:
                faults.append(f"  {path}:{number}: {error}")
    faults.extend(_repeated(notes, path))
    if faults:
        raise ProposalError("the learning queue has malformed lines\n" + "\n".join(faults[:20]))
    return tuple(notes)


def _note(line: str) -> Learning:
    note = msgspec.json.decode(line, type=Learning)
    if note.rule is None and note.sentence is None:
        raise ValueError("a learning needs a `rule` or a `sentence`")
    return note


def _repeated(notes: list[Learning], path: Path) -> list[str]:
    seen: set[str] = set()
    repeated: list[str] = []
    for note in notes:
        if note.id in seen:
            repeated.append(f"  {path}: the id {note.id!r} is used twice")
        seen.add(note.id)
    return repeated
