"""What the rest of the harness knows of working copies."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from bench.sandbox import Mount

ChangeKind = Literal["added", "modified", "deleted", "special"]


class Template(Struct, frozen=True, kw_only=True):
    """A sanitized, read-only starting point: one parentless commit, and a task's uncommitted change over it.

    `tree` is the working tree with its `.git`; `commit` the sanitized commit; `base_commit` the source's own
    commit, or the digest of a plain folder; `digest` is over all that it was made from.
    """

    digest: str
    tree: Path
    commit: str
    base_commit: str


class Entry(Struct, frozen=True):
    """One path of a working copy that is no longer as its template had it. `special` is what no patch can carry:
    a pipe, socket or device, a file too large to read, a folder nested too deep.
    """

    path: bytes
    kind: ChangeKind


class Leaf(Struct, frozen=True):
    """A file or symbolic link as git knows it: mode 0o100644, 0o100755 or 0o120000, and its bytes or its target."""

    mode: int
    content: bytes


class Change(Struct, frozen=True, kw_only=True):
    """Everything a session changed: exact paths, counts of lines, a patch, a fingerprint of the content (equal
    changes have equal fingerprints, whatever made them). A patch that is not `truncated` applies to the state
    that the session started from and reproduces the change; `truncated` means cut at its limit, or that
    something special is not in it.
    """

    paths: tuple[bytes, ...]
    insertions: int
    deletions: int
    patch: bytes
    truncated: bool
    fingerprint: str

    @property
    def empty(self) -> bool:
        return not self.paths


class Kept(Struct, frozen=True):
    """One path of a state, no longer as the template has it; `leaf` is None where it is gone."""

    path: bytes
    leaf: Leaf | None


class WorkingCopy(Protocol):
    """One cell's private view of a template. It is removed with its folder."""

    def write(self, files: Mapping[str, bytes]) -> None:
        """Put files of the harness (skills) into the copy before the first session; they are no change."""
        ...

    def read(self, path: str) -> bytes | None:
        """The current bytes of a regular file of the copy or its `.git`, never through a link; None if there is none."""
        ...

    def has(self, path: str) -> bool:
        """Whether something may be at a path: False only if neither the copy nor its template has anything."""
        ...

    def leaf(self, path: bytes) -> Leaf | None:
        """What is now at a changed path; None if nothing is, or something special."""
        ...

    def live(self, target: str, *, writable: bool) -> Mount:
        """The copy at `target`; what a session writes is kept if `writable`, else refused."""
        ...

    def throwaway(self, target: str) -> Mount:
        """The captured state at `target`; what is written there vanishes with the command."""
        ...

    def last(self, target: str, changed: Iterable[Entry]) -> Mount:
        """As `throwaway`, for the last command that sees the copy: nothing of it may be asked for afterwards, as
        the command may have written into it. `changed` is what its `entries` are.
        """
        ...

    def entries(self) -> tuple[Entry, ...]:
        """The paths that differ from the template, without `.git` and the files put by `write`."""
        ...

    def repository(self) -> tuple[Entry, ...]:
        """The paths of `.git` that differ from the template's."""
        ...

    def restore(self, state: Sequence[Kept]) -> None:
        """Bring a new copy into a state that another copy of the same template had. A folder that lost all its files
        may be left, empty, as git sees none. WorkspaceError if it cannot.
        """
        ...

    def remove(self) -> None:
        """Remove all of it; WorkspaceError names what is left."""
        ...


class Workspaces(Protocol):
    """Makes private working copies of templates, in one way: overlay, reflink or copy."""

    name: str

    def create(self, template: Template, cell: Path) -> WorkingCopy:
        """A private view of `template` below the folder `cell`."""
        ...
