"""What the loop knows of a proposer."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from bench.config import Config, ProposerConfig, SkillSpec
from bench.digest import digest_bytes
from bench.skills import Skill
from evolve.history import Judgement
from evolve.propose.evidence import Evidence, Extent


class Ask(Struct, frozen=True, kw_only=True):
    """What a proposing session is asked: its prompt, and the files that it finds, the incumbents by canonical path,
    the evidence by name. `trimmed` says what was left out of that.
    """

    prompt: str
    incumbents: Mapping[str, bytes]
    evidence: Mapping[str, bytes]
    trimmed: tuple[str, ...]


class Answer(Struct, frozen=True, kw_only=True):
    """What a proposing session left: the overlay's files by canonical path, and the case for them. `refused` says why
    they may not be an overlay, and then there are none; `folder` is where the session can be looked at.
    """

    files: Mapping[str, str]
    text: str
    refused: str | None
    folder: str


class Desk(Protocol):
    """What a proposer that works by a paid session gets of its run, for one generation."""

    @property
    def prompt(self) -> str:
        """The text of the prompt file that the proposer names."""
        ...

    def recall(self) -> Answer | None:
        """The answer that an earlier process paid for. RunError if it was given on other skills."""
        ...

    def evidence(self, extent: Extent) -> Evidence:
        """Evidence of the training split only, redacted. RunError if what earlier rows name is damaged."""
        ...

    def ask(self, ask: Ask) -> Answer:
        """Pay one session; its answer is on the disk before this returns. ProposalFailed if the session broke,
        BudgetExhausted if the budget does not allow it.
        """
        ...


class Setting(Struct, frozen=True, kw_only=True):
    """What a proposer may know: the incumbent skills as they now are, and which ideas were judged before.

    It holds no task, no label and no row: a proposer that needs evidence gets the training split's only, from the
    `desk`; it is null where nothing can be asked of the run. `held_out` are digests of the names of the tasks that it
    may have learned nothing from (`names_held_out`).
    """

    run: str
    specs: Mapping[str, SkillSpec]
    incumbents: Mapping[str, Skill]
    base: str
    suite: str
    judgements: tuple[Judgement, ...]
    held_out: frozenset[str] = frozenset()
    desk: Desk | None = None

    def names_held_out(self, task: str) -> bool:
        """Whether a task of the suite has this name and is held out."""
        return digest_bytes(task.encode()) in self.held_out


class Proposal(Struct, frozen=True, kw_only=True):
    """One bounded change: `files` are complete replacements by canonical path; `text` is the case for it."""

    idea: str
    idea_digest: str
    files: Mapping[str, bytes]
    text: str


class Proposer(Protocol):
    """Writes one candidate overlay."""

    def propose(self, setting: Setting) -> Proposal | None:
        """The next candidate; None when nothing is left to try. ProposalError if none can be written."""
        ...


@runtime_checkable
class Remarking(Protocol):
    """A proposer that has something to say before it is asked for anything."""

    def remarks(self, loaded: Collection[str]) -> Iterable[str]:
        """Lines for people, given the names of the skills that the arms load."""
        ...


@runtime_checkable
class Asking(Protocol):
    """A proposer that pays a session for each proposal. `prompt` names its prompt file."""

    prompt: str

    def sent(self, config: Config) -> Config:
        """The run's configuration with what its sessions run with instead. ProposalError if they cannot."""
        ...


class ProposerFactory(Protocol):
    """What an entry point of `incumbent.proposers` names."""

    options_schema: Mapping[str, Any]

    def create(self, config: ProposerConfig, root: Path) -> Proposer:
        """The proposer as configured; relative paths are relative to the project's root."""
        ...
