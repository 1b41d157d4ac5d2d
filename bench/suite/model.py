"""What a suite is once it was loaded: every file read, every ref resolved, every digest known."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

Split = Literal["train", "holdout"]
Severity = Literal["critical", "high", "medium", "low"]


class Label(Struct, frozen=True, forbid_unknown_fields=True):
    """One hidden finding: a severity and a category on a range of lines (1-based, inclusive) of one file."""

    id: str
    severity: Severity
    path: str
    line_start: int
    line_end: int
    category: str


class OracleFile(Struct, frozen=True):
    """One file of a hidden test, held in memory; `target` is relative to the oracle's own folder."""

    target: str
    content: bytes


class LabelOracle(Struct, frozen=True, tag="labels"):
    """A review's hidden labels; none of them makes the task a clean control."""

    labels: tuple[Label, ...]
    digest: str

    @property
    def clean(self) -> bool:
        return not self.labels


class CommandOracle(Struct, frozen=True, tag="command"):
    """A hidden behavioural test: a command and its files, staged only after the agent has exited."""

    command: str
    files: tuple[OracleFile, ...]
    command_digest: str
    digest: str


Oracle = LabelOracle | CommandOracle


class RepositorySource(Struct, frozen=True, tag="repository"):
    """A commit of a git repository on this machine. `ref` was resolved once, to `commit`."""

    path: Path
    ref: str
    commit: str


class TreeSource(Struct, frozen=True, tag="tree"):
    """A plain folder. `digest` is over its files, modes and links."""

    path: Path
    digest: str


Source = RepositorySource | TreeSource


class Asset(Struct, frozen=True):
    """A file or folder outside the source that a task brings along; `target` is relative to the working copy
    for an asset (copied) and absolute in the sandbox, or relative to the working copy, for a dependency (mounted).
    """

    source: Path
    target: str
    digest: str


class Environment(Struct, frozen=True):
    """What a task's commands find beside the system: with `python`, this project's interpreter as `python3` on
    PATH; with `requirements`, a virtual environment of exactly these pinned packages (`bench prepare` builds it).
    """

    python: bool = False
    requirements: bytes | None = None


class Derived(Struct, frozen=True, forbid_unknown_fields=True):
    """An asset that a command makes of a task's template (an index, say), once per template: it writes to
    /output, which sessions of arms with the tool see read-only at `target`.
    """

    name: str
    command: str
    target: str


class Solutions(Struct, frozen=True):
    """Solutions that `bench validate` tries, as git patches over the starting state: one that is right, and ones
    that are not, by name. No session sees them, and no measurement depends on them.
    """

    reference: bytes | None = None
    wrong: tuple[tuple[str, bytes], ...] = ()

    @property
    def contents(self) -> tuple[bytes, ...]:
        """The bytes of all of them."""
        right = () if self.reference is None else (self.reference,)
        return (*right, *(content for _, content in self.wrong))


class Task(Struct, frozen=True, kw_only=True):
    """One thing to do: a source, an uncommitted change over it, a prompt, a visible check and a hidden oracle.

    `change` is the bytes of a git patch, or "all" when every file of the source is the uncommitted change.
    """

    id: str
    class_: str
    split: Split
    source: Source
    change: bytes | Literal["all"] | None
    prompt: str
    setup: str
    verify: str
    oracle: Oracle
    assets: tuple[Asset, ...] = ()
    dependencies: tuple[Asset, ...] = ()
    derived: tuple[Derived, ...] = ()
    environment: Environment = Environment()
    solutions: Solutions = Solutions()
    critical: bool = False
    expensive: bool = False

    @property
    def is_review(self) -> bool:
        return isinstance(self.oracle, LabelOracle)


class Suite(Struct, frozen=True):
    """A versioned set of tasks. `folder` is never shown to an agent; `digest` is over all of its content.

    `manifest` is the suite file, `labels` are the files of hidden labels and of solutions: a copy of them is hidden
    as well.
    """

    name: str
    folder: Path
    tasks: tuple[Task, ...]
    digest: str
    manifest: bytes = b""
    labels: frozenset[bytes] = frozenset()
