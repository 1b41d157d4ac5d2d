"""What an apply is made of, as data: changes, steps, and the files that it leaves for people and programs."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal, Protocol

from msgspec import Meta, Struct

RECORD_VERSION = 1
RECOVERY_VERSION = 1

Action = Literal["apply", "revert"]
Outcome = Literal["applied", "already-applied", "reverted", "already-reverted", "dry-run"]
Holds = Literal["candidate", "incumbent", "something else", "nothing", "an unfinished copy"]
LeftoverKind = Literal["exchange", "backup", "unfinished"]
State = Literal["rollback-incomplete", "published", "rolled-back", "not-fully-published"]
StepName = Literal[
    "opened", "staged", "validated", "exchange", "exchanged", "verified", "recorded", "undo", "remove"
]

_PAST_RETURN = frozenset({"recorded", "undo", "remove"})


class Change(Struct, frozen=True, kw_only=True):
    """One file to replace: its path from the project's root, the bytes it must hold now, and the new ones."""

    path: str
    before: bytes
    after: bytes


class Step(Struct, frozen=True):
    """A point that a transaction has reached. `path` is the file it is about, empty for all of them.

    `exchange`, `undo` and `remove` are announced before they are done, the others afterwards.
    """

    name: StepName
    path: str = ""

    @property
    def reversible(self) -> bool:
        """Whether what is raised at this step takes everything back."""
        return self.name not in _PAST_RETURN


class Observer(Protocol):
    """Sees every step; what it raises at a reversible one rolls the transaction back."""

    def __call__(self, step: Step, /) -> None:
        """Look at a step."""
        ...


class Exchange(Protocol):
    """Swaps two entries of one folder, given by its descriptor, in one instant that nobody sees the middle of."""

    def __call__(self, folder: int, first: str, second: str, /) -> None:
        """Swap them, or raise OSError."""
        ...


class Tools(Struct, frozen=True, kw_only=True):
    """What a transaction works with. `token` marks its temporary files: eight hexadecimal digits, new each time."""

    exchange: Exchange
    observe: Observer
    token: str
    now: datetime


class Purpose(Struct, frozen=True):
    """What a transaction is for. `commit` writes its record, once all is verified and can still be taken back."""

    run: str
    action: Action
    commit: Callable[[], None]


class Leftover(Struct, frozen=True, kw_only=True):
    """A temporary file that is still there, and what it and its destination hold."""

    path: str
    kind: LeftoverKind
    holds: Holds
    destination: str
    destination_holds: Holds


class Recovery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file `.incumbent-recovery-<time>.json`: how a transaction went wrong and what it left.

    `state` says what the destinations hold: all the new bytes (published), all the old ones (rolled-back), nothing
    had been exchanged (not-fully-published), or it differs (rollback-incomplete).
    """

    schema_version: int
    time: Annotated[datetime, Meta(tz=True)]
    run: str
    action: Action
    failure: str
    state: State
    failures: tuple[str, ...]
    leftovers: tuple[Leftover, ...]


class AppliedFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that was replaced: SHA-256 of its bytes before and after. Both are in the object store."""

    path: str
    before: str
    after: str


class ApplyRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of `applied.jsonl` in the run folder. `overlay` is the digest of all that was promoted."""

    schema_version: int
    time: Annotated[datetime, Meta(tz=True)]
    action: Action
    run: str
    overlay: str
    files: tuple[AppliedFile, ...]


class FileSummary(Struct, frozen=True, kw_only=True):
    """One destination: digests before and after, and how many lines come and go."""

    path: str
    before: str
    after: str
    insertions: int
    deletions: int


class ApplySummary(Struct, frozen=True, kw_only=True):
    """What `evolve apply --json` prints. `diff` is there for a dry run only."""

    run: str
    root: str
    action: Action
    outcome: Outcome
    files: tuple[FileSummary, ...]
    diff: str | None = None
