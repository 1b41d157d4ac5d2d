"""A certificate as data: which solutions of a task were tried, and what became of each."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bench.digest import digest_json

Worth = Literal["reference", "untouched", "empty", "wrong", "mutated", "tampering"]


class Solution(Struct, frozen=True, kw_only=True):
    """A solution to try. `steps` are for the program that carries it out, `files` what it finds beside itself."""

    name: str
    worth: Worth
    steps: tuple[Mapping[str, Any], ...] = ()
    files: Mapping[str, bytes] = {}


class Tried(Struct, frozen=True, kw_only=True):
    """How one try ended, in the words of a row."""

    status: str
    kind: str | None
    resolved: bool
    seconds: float
    detail: str = ""


class Attempt(Struct, frozen=True, kw_only=True):
    """A solution, what it was made to be, and each try of it."""

    solution: str
    worth: Annotated[
        Worth,
        Meta(
            description="mutated: the reference with a part left out or a sign turned, which may still be right."
        ),
    ]
    tries: tuple[Tried, ...]


class TaskCertificate(Struct, frozen=True, kw_only=True):
    """What was found out about one task. `digest` is over its content, `solutions` over the known ones; `problems`
    says why it is not certified, `notes` what else its author should know.
    """

    task: str
    class_: str
    digest: str
    solutions: str
    certified: bool
    flaky: bool
    seconds: float
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    attempts: tuple[Attempt, ...]


class SuiteCertificate(Struct, frozen=True, kw_only=True):
    """The certificates of a suite's tasks, with the program and the sandbox that they hold for; `digest` is over
    everything else in it.
    """

    schema_version: Literal[1] = 1
    suite: str
    harness: str
    sandbox: str
    runs: int
    tasks: tuple[TaskCertificate, ...]
    digest: str = ""

    @property
    def certified(self) -> bool:
        """Whether every task in it is."""
        return all(task.certified for task in self.tasks)

    def content(self) -> str:
        """The digest that it must have."""
        return digest_json({name: getattr(self, name) for name in self.__struct_fields__ if name != "digest"})
