"""The row: the record of one cell, defined once. `schemas/row.schema.json` is generated from it."""

from datetime import datetime
from typing import Annotated, Literal, get_type_hints

from msgspec import Meta, Struct

from bench.config import Role
from bench.measured import Usage
from bench.scoring import ReviewScore

SCHEMA_VERSION = 2  # 2: `reuse`; a row of version 1 was measured by its own run

# whether a measurement depends on the field: an earlier row stands for a cell only if all such fields are equal
_Depends = Meta(extra={"reuse": True})
_Apart = Meta(extra={"reuse": False})
_Text = Annotated[str, _Depends]
_TextOrNone = Annotated[str | None, _Depends]
_Number = Annotated[int, _Depends]

Status = Literal["measured", "unusable", "failed", "stopped"]
Kind = Literal[
    "verify-failed", "oracle-failed", "tampered", "no-work-produced", "plan-missing", "agent-timeout",
    "agent-gave-up", "skill-not-invoked",
    "review-invalid", "evidence-unverified", "boundary-violated", "skill-changed",
    "session-error", "provider-error", "infra-error", "cleanup-failure", "oracle-unavailable",
    "cancelled", "budget-exhausted", "deadline", "breaker",
]  # fmt: skip

KINDS_OF_STATUS: dict[Status, frozenset[Kind]] = {
    "measured": frozenset(
        {
            "verify-failed", "oracle-failed", "tampered", "no-work-produced", "plan-missing", "agent-timeout",
            "agent-gave-up", "skill-not-invoked",
        }
    ),
    "unusable": frozenset({"review-invalid", "evidence-unverified", "boundary-violated", "skill-changed"}),
    "failed": frozenset(
        {"session-error", "provider-error", "infra-error", "cleanup-failure", "oracle-unavailable"}
    ),
    "stopped": frozenset({"cancelled", "budget-exhausted", "deadline", "breaker"}),
}  # fmt: skip


class Identity(Struct, frozen=True, kw_only=True):
    """Which cell this is, and what was asked to work in it."""

    task: _Text
    task_class: Annotated[str, _Apart]
    split: Annotated[str, _Apart]
    arm: _Text
    role: Annotated[Role, _Depends]
    repeat: _Number
    generation: Annotated[int, _Apart]
    plan: Annotated[str, _Apart]
    attempt: Annotated[int, _Apart]
    agent: _Text
    agent_version: _Text
    model: _TextOrNone
    effort: _TextOrNone
    seed: _Number


class Provenance(Struct, frozen=True, kw_only=True):
    """Digests of everything that the measurement depends on; null where the cell has no such thing."""

    base_commit: _Text
    sanitized_commit: _Text
    template: _Text
    prompt: _Text
    setup: _Text
    verify: _Text
    oracle: _Text
    oracle_command: _TextOrNone
    assets: _Text
    dependencies: _Text
    skill: _TextOrNone
    overlay: _TextOrNone
    plugin: _TextOrNone
    agent: _Text
    harness: _Text
    sandbox: _Text
    configuration: _Text


class Outcome(Struct, frozen=True, kw_only=True):
    """What came out. `kind` is null for a resolved measurement; `detail` is redacted and bounded.

    ValueError for a combination that the taxonomy does not know.
    """

    status: Status
    kind: Kind | None
    detail: str = ""
    diagnostics: tuple[str, ...] = ()
    resolved: bool = False
    verify_passed: bool | None = None
    oracle_passed: bool | None = None
    skill_invoked: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in KINDS_OF_STATUS[self.status]:
            raise ValueError(f"kind {self.kind} does not belong to status {self.status}")
        if self.kind is None and self.status != "measured":
            raise ValueError(f"a cell that is {self.status} needs a kind")
        if self.resolved != (self.kind is None):
            raise ValueError("a cell is resolved exactly if it was measured and has no kind")


class Timings(Struct, frozen=True, kw_only=True):
    """Wall-clock seconds per phase, and how many cells ran beside this one."""

    workspace: float = 0.0
    sessions: float = 0.0
    verify: float = 0.0
    oracle: float = 0.0
    teardown: float = 0.0
    total: float = 0.0
    neighbours: int = 0
    peak_memory: int | None = None


class ChangeSummary(Struct, frozen=True, kw_only=True):
    """How much the sessions changed; `patch` and `fingerprint` are digests."""

    files: int
    insertions: int
    deletions: int
    patch: str | None
    fingerprint: str


class Artifact(Struct, frozen=True):
    """A file of the object store: SHA-256 and size in bytes."""

    digest: str
    size: int


class Reused(Struct, frozen=True):
    """Where a row that was not measured by its own run comes from: the digest of the row that it was taken from,
    and when the cell was measured first, through any chain of reuse.
    """

    row: str
    measured_at: Annotated[datetime, Meta(tz=True)]


class Row(Struct, frozen=True, kw_only=True):
    """The record of one cell. Unknown fields are refused on writing and kept out of sight on reading.

    ValueError for a score of something that was not measured, and for a time without an offset.
    """

    schema_version: int
    identity: Identity
    provenance: Provenance
    outcome: Outcome
    score: ReviewScore | None
    usage: Usage
    sessions: dict[str, Usage]
    timings: Timings
    change: ChangeSummary | None
    artifacts: dict[str, Artifact]
    started_at: Annotated[datetime, Meta(tz=True)]
    finished_at: Annotated[datetime, Meta(tz=True)]
    reuse: Reused | None = None

    def __post_init__(self) -> None:
        if self.score is not None and self.outcome.status != "measured":
            raise ValueError(f"a cell that is {self.outcome.status} has no score")
        if self.started_at.tzinfo is None or self.finished_at.tzinfo is None:
            raise ValueError("the times of a row need an explicit offset")

    @property
    def key(self) -> tuple[str, str, int]:
        """(task, arm, repeat): the cell that this row records."""
        return (self.identity.task, self.identity.arm, self.identity.repeat)

    @property
    def measured_at(self) -> datetime:
        """When the cell was measured first."""
        return self.finished_at if self.reuse is None else self.reuse.measured_at


def reuse_fields() -> tuple[str, ...]:
    """The fields of a row, as `identity.task`, that its measurement depends on."""
    return tuple(f"{part}.{name}" for part, name in _REUSE_FIELDS)


def reuse_key(row: Row) -> tuple[str | int | None, ...]:
    """What the measurement of a row depends on, in the order of `reuse_fields`."""
    return tuple(getattr(getattr(row, part), name) for part, name in _REUSE_FIELDS)


def _marked(part: str, struct: type[Struct]) -> tuple[tuple[str, str], ...]:
    """The fields of a part of the row that are marked; TypeError for one that nobody marked either way."""
    marks = {
        name: next((mark.extra["reuse"] for mark in getattr(hint, "__metadata__", ()) if mark.extra), None)
        for name, hint in get_type_hints(struct, include_extras=True).items()
    }
    unmarked = [name for name, mark in marks.items() if mark is None]
    if unmarked:
        raise TypeError(f"say of {struct.__name__}.{unmarked[0]} whether a measurement depends on it")
    return tuple((part, name) for name, mark in marks.items() if mark)


_REUSE_FIELDS = (*_marked("identity", Identity), *_marked("provenance", Provenance))
