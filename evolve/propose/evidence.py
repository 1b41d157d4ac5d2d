"""What a proposer may be shown of earlier generations, as data: of the training split only, redacted, without a task's
oracle. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from evolve.propose.queue import Learning

ExhibitKind = Literal["transcript", "patch", "review"]


class Exhibit(Struct, frozen=True):
    """A file that a cell left."""

    kind: ExhibitKind
    content: bytes


class SeenRow(Struct, frozen=True, kw_only=True):
    """One cell of the training split, as far as a proposer may know it: what came out, never what was looked for.

    `check` is the end of what the visible check printed, `score` the numbers of a review's score.
    """

    task: str
    task_class: str
    arm: str
    repeat: int
    status: str
    kind: str | None
    detail: str
    resolved: bool
    cost_usd: float | None
    turns: int | None
    output_tokens: int | None
    change: str
    check: str
    score: Mapping[str, float | None]

    @property
    def key(self) -> tuple[str, str, int]:
        """(task, arm, repeat)"""
        return (self.task, self.arm, self.repeat)


class Seen(Struct, frozen=True):
    """A row with the files that its cell left, its transcripts first."""

    row: SeenRow
    exhibits: tuple[Exhibit, ...] = ()


class EarlierVerdict(Struct, frozen=True, kw_only=True):
    """What became of an earlier idea. The reasons are left out where tasks of another split than `train` decided."""

    idea: str
    decision: str
    on_these_skills: bool
    reasons: tuple[str, ...]


class RejectedProposal(Struct, frozen=True):
    """An idea that lost on the incumbent skills as they are now, and its case."""

    idea: str
    text: str


class Evidence(Struct, frozen=True, kw_only=True):
    """All that a proposer may be shown; rows by priority, everything else newest first."""

    rows: tuple[Seen, ...] = ()
    learnings: tuple[Learning, ...] = ()
    verdicts: tuple[EarlierVerdict, ...] = ()
    rejected: tuple[RejectedProposal, ...] = ()


class Extent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much evidence is looked for: numbers of rows, transcripts (of one row, of all), notes of the queue, and
    rejected proposals.
    """

    rows: int = 12
    row_transcripts: int = 2
    transcripts: int = 24
    learnings: int = 40
    proposals: int = 3


def select_rows(rows: Sequence[SeenRow], most: int) -> tuple[SeenRow, ...]:
    """The rows that say most: unresolved ones by task, arm and repeat, then resolved ones, the dearest first; one of
    unknown cost comes last.
    """
    unresolved = sorted((row for row in rows if not row.resolved), key=lambda row: row.key)
    resolved = sorted(
        (row for row in rows if row.resolved), key=lambda row: (-(row.cost_usd or 0.0), row.key)
    )
    return (*unresolved, *resolved)[:most]
