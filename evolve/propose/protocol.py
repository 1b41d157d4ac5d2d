"""What the loop knows of a proposer."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from bench.config import ProposerConfig, SkillSpec
from bench.digest import digest_bytes
from bench.skills import Skill
from evolve.history import Judgement


class Setting(Struct, frozen=True, kw_only=True):
    """What a proposer may know: the incumbent skills as they now are, and which ideas were judged before.

    It holds no task, no label and no row: a proposer that needs evidence gets the training split's only. `held_out` are
    digests of the names of the tasks that it may have learned nothing from (`names_held_out`).
    """

    run: str
    specs: Mapping[str, SkillSpec]
    incumbents: Mapping[str, Skill]
    base: str
    suite: str
    judgements: tuple[Judgement, ...]
    held_out: frozenset[str] = frozenset()

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


class ProposerFactory(Protocol):
    """What an entry point of `incumbent.proposers` names."""

    options_schema: Mapping[str, Any]

    def create(self, config: ProposerConfig, root: Path) -> Proposer:
        """The proposer as configured; relative paths are relative to the project's root."""
        ...
