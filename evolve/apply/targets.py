"""Where the promoted bytes go: every file's canonical place, and the same file below each mirror. Pure."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from msgspec import Struct

from bench.config import SkillSpec
from bench.skills import Overlay, Skill
from evolve.apply.model import Change


class Target(Struct, frozen=True):
    """A destination of one overlay file: `path` from the project's root, `within` the skill. `mirror` if it is a copy."""

    path: str
    skill: str
    within: str
    mirror: bool


def destinations(overlay: Overlay, specs: Mapping[str, SkillSpec]) -> tuple[Target, ...]:
    """Every place that the overlay's files belong in, canonical places first, each once."""
    found: dict[str, Target] = {}
    for target in sorted(_places(overlay, specs), key=lambda each: (each.mirror, each.path)):
        found.setdefault(target.path, target)
    return tuple(found.values())


def changes_of(
    targets: tuple[Target, ...], incumbents: Mapping[str, Skill], candidates: Mapping[str, Skill]
) -> tuple[Change, ...]:
    """What must change at these places to turn the incumbent skills into the candidates."""
    pairs = [
        (each, incumbents[each.skill].files[each.within], candidates[each.skill].files[each.within])
        for each in targets
    ]
    return tuple(
        Change(path=target.path, before=before, after=after)
        for target, before, after in pairs
        if before != after
    )


def is_inside(path: str, specs: Mapping[str, SkillSpec]) -> bool:
    """Whether a path lies in a skill's canonical folder or one of its mirrors."""
    folders = [
        PurePosixPath(place) / name for name, spec in specs.items() for place in (spec.root, *spec.mirrors)
    ]
    return any(folder in PurePosixPath(path).parents for folder in folders)


def _places(overlay: Overlay, specs: Mapping[str, SkillSpec]) -> Iterator[Target]:
    for skill in overlay.touched:
        for within in overlay.of(skill):
            for mirror, place in enumerate((specs[skill].root, *specs[skill].mirrors)):
                yield Target(str(PurePosixPath(place) / skill / within), skill, within, mirror > 0)
