"""The working tree that a promotion meets: is it the one that was measured, and can every destination be replaced?"""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from bench.config import Config, SkillSpec
from bench.skills import Skill, read_skill
from bench.suite import Refused
from evolve.apply.folders import Folders, name_of, parent_of, read_state
from evolve.apply.measured import drift_between, measured_files
from evolve.apply.problems import Problem
from evolve.apply.targets import Target

Files = Mapping[str, bytes]


def read_canonical(folders: Folders, config: Config, names: Mapping[str, str]) -> dict[str, Skill]:
    """The named skills as they lie in the project now. SkillError says what is wrong with one."""
    return {name: read_skill(folders.root / config.skills[name].root, name) for name in sorted(names)}


def digests_of(skills: Mapping[str, Skill]) -> dict[str, str]:
    """The digest of each skill."""
    return {name: skill.digest for name, skill in skills.items()}


def measured_skills(
    root: Path, specs: Mapping[str, SkillSpec], canonical: Mapping[str, Skill], base: Mapping[str, str]
) -> dict[str, Files | None]:
    """The files of each skill as they were measured: as they are now, else out of git; None where nobody knows."""
    return {
        name: skill.files
        if skill.digest == base[name]
        else measured_files(root, _folder(specs, name), base[name])
        for name, skill in canonical.items()
    }


def drift_problems(
    specs: Mapping[str, SkillSpec], canonical: Mapping[str, Skill], measured: Mapping[str, Files | None]
) -> Iterator[Problem]:
    """Each file of a skill that is not as it was measured."""
    for name, skill in canonical.items():
        folder, files = _folder(specs, name), measured[name]
        if files is None:
            yield Problem(
                f"the skill `{name}` in {folder} is not the one that was measured; which of its files changed "
                "cannot be told, because the measured state is in no commit",
                f"see `git log -p -- {folder}`; put back what was measured, or measure it as it is now: evolve",
            )
            continue
        for drift in drift_between(files, skill.files):
            yield Problem(
                f"{folder}/{drift} since it was measured",
                "put it back (git shows how: `git log -p`), or measure the skill as it is now: evolve",
            )


def target_problems(
    folders: Folders,
    targets: tuple[Target, ...],
    expected: Mapping[str, Files | None],
    specs: Mapping[str, SkillSpec],
) -> Iterator[Problem]:
    """Each destination that is not a regular file, and each mirror that has not the expected bytes of its skill."""
    for target in targets:
        try:
            state = read_state(folders.hold(parent_of(target.path)), name_of(target.path))
        except Refused as refused:
            yield Problem(
                f"{target.path}: {refused}",
                "put a regular file there, equal to the skill's own; applying replaces files, it never makes them",
            )
            continue
        files = expected[target.skill]
        if target.mirror and files is not None and state.content != files.get(target.within):
            original = f"{_folder(specs, target.skill)}/{target.within}"
            yield Problem(
                f"{target.path} is not equal to {original}: a drifted mirror",
                f"make them equal, then try again: cp {shlex.quote(original)} {shlex.quote(target.path)}",
            )


def _folder(specs: Mapping[str, SkillSpec], skill: str) -> str:
    return str(PurePosixPath(specs[skill].root) / skill)
