"""The row: the record of one cell, defined once. `schemas/row.schema.json` is generated from it."""

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Annotated, Literal, get_type_hints

from msgspec import Meta, Struct

from bench.config import Role
from bench.measured import Usage
from bench.scoring import ReviewScore

SCHEMA_VERSION = 2  # 2: `reuse`; a row of version 1 was measured by its own run

# whether a measurement depends on the field: an earlier row stands for a cell only if all such fields are equal
_Depends = Meta(extra={"reuse": True})
_Apart = Meta(extra={"reuse": False})
# the same, and part of what measures: rows that agree in these fields are of one provenance class
_Measures = Meta(extra={"reuse": True, "measures": True})
_Text = Annotated[str, _Depends]
_TextOrNone = Annotated[str | None, _Depends]
_Number = Annotated[int, _Depends]

ReuseKey = tuple[str | int | None, ...]

Status = Literal["measured", "unusable", "failed", "stopped"]
Kind = Literal[
    "verify-failed", "oracle-failed", "tampered", "no-work-produced", "plan-missing", "agent-timeout",
    "agent-gave-up", "skill-not-invoked",
    "review-invalid", "evidence-unverified", "boundary-violated", "skill-changed",
    "answers-differ",
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
    "unusable": frozenset(
        {"review-invalid", "evidence-unverified", "boundary-violated", "skill-changed", "answers-differ"}
    ),
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
    agent: Annotated[str, _Measures]
    agent_version: Annotated[str, _Measures]
    model: Annotated[str | None, _Measures]
    effort: Annotated[str | None, _Measures]
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
    tools: _TextOrNone = None
    agent: Annotated[str, _Measures]
    harness: Annotated[str, _Measures]
    sandbox: Annotated[str, _Measures]
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
    """The record of one cell. Unknown fields are refused on writing and kept out of sight on reading. `reported` is
    what the agent says that its sessions used, where the gateway measured something else.

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
    reported: dict[str, Usage] = {}

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
    return _REUSE_FIELDS


def reuse_key(row: Row) -> ReuseKey:
    """What the measurement of a row depends on, in the order of `reuse_fields`."""
    return reuse_values(row.identity, row.provenance)


def reuse_values(identity: Identity, provenance: Provenance) -> ReuseKey:
    """The same of a row that is not measured yet."""
    return _identity_values(identity) + _provenance_values(provenance)


def class_fields() -> tuple[str, ...]:
    """Those of `reuse_fields` that name what measures: agent, model, effort, harness, sandbox."""
    return _CLASS_FIELDS


def class_of(key: ReuseKey) -> ReuseKey:
    """The provenance class of a key: the values of `class_fields`."""
    return _class_values(key)


def _marked(part: str, struct: type[Struct], mark: str) -> tuple[str, ...]:
    """The fields of a part of the row with the mark, as `part.field`; TypeError for one that nobody marked at all."""
    marks = {
        name: next((each.extra for each in getattr(hint, "__metadata__", ()) if each.extra), None)
        for name, hint in get_type_hints(struct, include_extras=True).items()
    }
    unmarked = [name for name, extra in marks.items() if extra is None]
    if unmarked:
        raise TypeError(f"say of {struct.__name__}.{unmarked[0]} whether a measurement depends on it")
    return tuple(f"{part}.{name}" for name, extra in marks.items() if extra and extra.get(mark))


def _getter(fields: tuple[str, ...]) -> Callable[[Struct], ReuseKey]:
    return attrgetter(*(field.partition(".")[2] for field in fields))


_OF_IDENTITY = _marked("identity", Identity, "reuse")
_OF_PROVENANCE = _marked("provenance", Provenance, "reuse")
_REUSE_FIELDS = (*_OF_IDENTITY, *_OF_PROVENANCE)
_CLASS_FIELDS = (*_marked("identity", Identity, "measures"), *_marked("provenance", Provenance, "measures"))
_identity_values = _getter(_OF_IDENTITY)
_provenance_values = _getter(_OF_PROVENANCE)
_class_values: Callable[[ReuseKey], ReuseKey] = itemgetter(*map(_REUSE_FIELDS.index, _CLASS_FIELDS))
