"""The learning queue: notes of what was seen, one JSON object a line (schemas/learning.schema.json)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.config import load_schema, schema_complaints
from bench.digest import digest_json
from bench.disk import read_words
from bench.strict_json import parse_json
from evolve.errors import ProposalError

_MOST_SHOWN = 20
MOST_BYTES = 64 << 20


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
        text = read_words(path, MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise ProposalError(
            f"the learning queue {path} cannot be read: {error}\n  see proposer.queue"
        ) from error
    schema = load_schema("learning")
    notes: dict[int, Learning] = {}
    faults: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                notes[number] = _note(line, schema)
            except (ValueError, RecursionError) as error:
                faults[number] = str(error)
    faults |= _repeated(notes)
    if faults:
        raise ProposalError(_all_faults(path, faults))
    return tuple(notes.values())


def _note(line: str, schema: Mapping[str, Any]) -> Learning:
    """The note that a line holds; ValueError says what is wrong with it."""
    content = parse_json(line)
    complaints = schema_complaints(schema, content)
    if complaints:
        raise ValueError("; ".join(each.line() for each in complaints))
    note = msgspec.convert(content, Learning)
    if note.rule is None and note.sentence is None:
        raise ValueError("a learning needs a `rule` or a `sentence`")
    return note


def _repeated(notes: Mapping[int, Learning]) -> dict[int, str]:
    first: dict[str, int] = {}
    for number, note in notes.items():
        first.setdefault(note.id, number)
    return {
        number: f"the id {note.id!r} is there already, in line {first[note.id]}"
        for number, note in notes.items()
        if first[note.id] != number
    }


def _all_faults(path: Path, faults: Mapping[int, str]) -> str:
    lines: Sequence[str] = [f"\n  {path}:{number}: {fault}" for number, fault in sorted(faults.items())]
    more = f"\n  and {len(lines) - _MOST_SHOWN} more" if len(lines) > _MOST_SHOWN else ""
    return f"the learning queue has malformed lines{''.join(lines[:_MOST_SHOWN])}{more}"
