"""What a suite file declares, once it fits its schema: names of files, nothing read yet."""

from typing import Literal

from msgspec import Struct, field

from bench.suite.model import Derived, Label, Split


class DeclaredFile(Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    target: str


class DeclaredSource(Struct, frozen=True, forbid_unknown_fields=True):
    """Exactly one of `repository` (with `ref`) and `tree`."""

    repository: str | None = None
    ref: str = ""
    tree: str | None = None


class DeclaredOracle(Struct, frozen=True, forbid_unknown_fields=True):
    """Exactly one of `labels` and `command` (with `files`)."""

    labels: str | None = None
    command: str = ""
    files: tuple[DeclaredFile, ...] = ()


class DeclaredEnvironment(Struct, frozen=True, forbid_unknown_fields=True):
    """`requirements` names a file, and goes with `python` only."""

    python: bool = False
    requirements: str | None = None


class DeclaredSolutions(Struct, frozen=True, forbid_unknown_fields=True):
    """Files with git patches over the starting state: one that is right, and ones that are not."""

    reference: str | None = None
    wrong: tuple[str, ...] = ()


class DeclaredTask(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of `tasks`, as schemas/suite.schema.json describes it."""

    id: str
    class_: str = field(name="class")
    split: Split
    source: DeclaredSource
    change: str | None = None
    prompt: str
    setup: str = ""
    verify: str = ""
    oracle: DeclaredOracle
    assets: tuple[DeclaredFile, ...] = ()
    dependencies: tuple[DeclaredFile, ...] = ()
    environment: DeclaredEnvironment = DeclaredEnvironment()
    derived: tuple[Derived, ...] = ()
    solutions: DeclaredSolutions = DeclaredSolutions()
    critical: bool = False
    expensive: bool = False
    notes: str = ""


class DeclaredSuite(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole suite file."""

    schema: Literal["suite/1"]
    name: str
    tasks: tuple[DeclaredTask, ...]


class DeclaredLabels(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole file of hidden labels."""

    schema_version: Literal[1]
    findings: tuple[Label, ...]
