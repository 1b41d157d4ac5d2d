"""The row: the record of one cell, defined once. `schemas/row.schema.json` is generated from it."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from bench.config import Role
from bench.measured import Usage
from bench.scoring import ReviewScore

SCHEMA_VERSION = 1

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

    task: str
    task_class: str
    split: str
    arm: str
    role: Role
    repeat: int
    generation: int
    plan: str
    attempt: int
    agent: str
    agent_version: str
    model: str | None
    effort: str | None
    seed: int


class Provenance(Struct, frozen=True, kw_only=True):
    """Digests of everything that the measurement depends on; null where the cell has no such thing."""

    base_commit: str
    sanitized_commit: str
    template: str
    prompt: str
    setup: str
    verify: str
    oracle: str
    oracle_command: str | None
    assets: str
    dependencies: str
    skill: str | None
    overlay: str | None
    plugin: str | None
    agent: str
    harness: str
    sandbox: str
    configuration: str


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

    def __post_init__(self) -> None:
        if self.score is not None and self.outcome.status != "measured":
            raise ValueError(f"a cell that is {self.outcome.status} has no score")
        if self.started_at.tzinfo is None or self.finished_at.tzinfo is None:
            raise ValueError("the times of a row need an explicit offset")

    @property
    def key(self) -> tuple[str, str, int]:
        """(task, arm, repeat): the cell that this row records."""
        return (self.identity.task, self.identity.arm, self.identity.repeat)
