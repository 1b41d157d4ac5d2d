"""The values of a suite made from published packages: what was asked for and what was made."""

import re
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from bench.suite.model import Split

PackageName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=100)]
Version = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9.!+_-]*$", max_length=100)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
RuleCode = Annotated[str, Meta(pattern=r"^[A-Z]+[0-9]+$")]


class LabelTool(Struct, frozen=True, forbid_unknown_fields=True):
    """The independent tool that labels the packages, pinned, and its rules: those set to true."""

    name: Literal["ruff"]
    version: Version
    rules: dict[RuleCode, bool]

    @property
    def selected(self) -> tuple[str, ...]:
        return tuple(sorted(code for code, wanted in self.rules.items() if wanted))


class PackageSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One published package: its version, the SHA-256 of its wheel and, once known, of its label file."""

    version: Version
    sha256: Sha256
    split: Split | None = None
    labels: Sha256 | None = None


class PackagesSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """What `bench prepare` makes a suite from. A package set to null is left out.

    `index` is a folder of wheels that is used instead of the package index. A review holds at most 100
    findings and a task up to five quarters of `labels_per_task`; no label is a reason to hold a change back.
    """

    kind: Literal["packages"]
    tool: LabelTool
    packages: dict[PackageName, PackageSpec | None]
    labels_per_task: Annotated[int, Meta(ge=1, le=80)] = 60
    severity: Literal["medium", "low"] = "medium"
    index: str | None = None

    @property
    def chosen(self) -> tuple[tuple[str, PackageSpec], ...]:
        """The packages that were not set to null, by name."""
        return tuple((name, package) for name, package in sorted(self.packages.items()) if package)


class PreparedTask(Struct, frozen=True, forbid_unknown_fields=True):
    """One task that was made: its number of files and labels, and the SHA-256 of its label file."""

    id: str
    package: str
    version: str
    split: Split
    files: int
    labels: int
    digest: str

    @property
    def clean(self) -> bool:
        return self.labels == 0


class PreparedSuite(Struct, frozen=True):
    """A suite folder that is ready to be loaded. `fresh` is false when it was there already."""

    folder: Path
    tasks: tuple[PreparedTask, ...]
    fresh: bool


def slug(name: str) -> str:
    """A package's name as the package index compares it: lower case, runs of `-_.` as one hyphen."""
    return re.sub(r"[-_.]+", "-", name).lower()
