"""What composing gives: the plain values, and where each of them comes from."""

from typing import Any, Literal

from msgspec import Struct

from bench.config.complaint import KeyPath, parts
from bench.config.folders import ConfigFolder

CommandName = Literal["evolve", "bench"]


class ComposedFile(Struct, frozen=True, kw_only=True):
    """One file that took part: its name without suffix, the package its keys went to, and its content."""

    config: str
    package: str
    label: str
    path: str
    digest: str
    content: dict[str, Any]

    def sets(self, path: KeyPath) -> bool:
        """Whether this file gives a value to `path` or to something around it."""
        package = parts(self.package)
        return path[: len(package)] == package and _holds(self.content, path[len(package) :])

    def value(self, path: KeyPath) -> Any:
        """What this file gives, unresolved, to the `path` that it sets."""
        here: Any = self.content
        for part in path[len(parts(self.package)) :]:
            here = here[part] if isinstance(here, dict) else here
        return here


class Shadowing(Struct, frozen=True):
    """A file that hides another of the same name; `extended` when it takes the hidden one in as its base."""

    config: str
    winner: str
    hidden: str
    extended: bool

    def line(self) -> str:
        """The announcement."""
        return f"{self.winner} {'extends' if self.extended else 'replaces'} {self.hidden}"


class Assignment(Struct, frozen=True):
    """An override of a value: the path that it sets, and its text."""

    path: KeyPath
    text: str


class Composed(Struct, frozen=True, kw_only=True):
    """A composed configuration. `files` are in the order of merging, `folders` in that of winning; `sources`
    names the file of each group's option.
    """

    command: CommandName
    folders: tuple[ConfigFolder, ...]
    values: dict[str, Any]
    overrides: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    choices: dict[str, str | None]
    sources: dict[str, str]
    files: tuple[ComposedFile, ...]
    shadowed: tuple[Shadowing, ...]
    tree: str

    def origin(self, path: KeyPath) -> str | None:
        """Where the value at `path` was given last: an override or a file."""
        if not path:
            return None
        for assignment in reversed(self.assignments):
            if path[: len(assignment.path)] == assignment.path:
                return f"override {assignment.text}"
        return next((file.label for file in reversed(self.files) if file.sets(path)), None)


def _holds(content: Any, path: KeyPath) -> bool:
    if not path or not isinstance(content, dict):
        return True
    return path[0] in content and _holds(content[path[0]], path[1:])
