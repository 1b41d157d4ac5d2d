"""A skill and a candidate overlay, as the bytes of their files."""

from collections.abc import Mapping

from msgspec import Struct

SKILL_FILE = "SKILL.md"


class Skill(Struct, frozen=True):
    """A skill's files by their path from its folder. `digest` is over paths and bytes."""

    name: str
    files: Mapping[str, bytes]
    digest: str


class Overlay(Struct, frozen=True):
    """Complete replacement files of a candidate, by canonical path (`<skill root>/<skill>/….md`).

    `touched` are the skills that they belong to, by name; `folders` says where each of these lives.
    """

    files: Mapping[str, bytes]
    digest: str
    touched: tuple[str, ...]
    folders: Mapping[str, str]

    def of(self, skill: str) -> dict[str, bytes]:
        """The files that replace those of one skill, by their path from its folder."""
        folder = self.folders.get(skill)
        if folder is None:
            return {}
        start = f"{folder}/"
        return {
            path.removeprefix(start): content
            for path, content in self.files.items()
            if path.startswith(start)
        }
