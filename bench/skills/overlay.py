"""What a candidate overlay may hold, and what skills become with it. Pure: bytes in, bytes out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from bench.config import SkillSpec
from bench.digest import digest_files
from bench.errors import OverlayError
from bench.skills.front_matter import check_front_matter
from bench.skills.model import SKILL_FILE, Overlay, Skill
from bench.skills.refusal import listed, size_problems
from bench.suite import Refused, as_text, check_path, shown

MOST_FILES = 64
MOST_BYTES = 4 << 20

Files = Mapping[str, bytes]
Skills = Mapping[str, SkillSpec]


def make_overlay(files: Files, skills: Skills, place: str = "the overlay") -> Overlay:
    """An overlay of these files by canonical path, for the declared skills; messages call it `place`.

    OverlayError lists everything that is refused: no file, too many or too large, not Markdown, outside
    a declared skill, a SKILL.md that no agent would load.
    """
    folders = skill_folders(skills)
    problems = [] if files else ["it holds no file"]
    problems += size_problems([len(content) for content in files.values()], MOST_FILES, MOST_BYTES)
    problems += [problem for path, content in files.items() for problem in _problems(path, content, folders)]
    refuse(problems, place)
    touched = {
        name: folder for name, folder in folders.items() if any(_is_in(path, folder) for path in files)
    }
    return _overlay(files, touched)


def check_against(overlay: Overlay, incumbents: Mapping[str, Skill]) -> None:
    """OverlayError when the overlay would create a file, or changes nothing at all in the incumbent skills."""
    problems: list[str] = []
    changed = False
    for skill in overlay.touched:
        canonical = incumbents[skill].files if skill in incumbents else {}
        for path, content in overlay.of(skill).items():
            changed = changed or canonical.get(path) != content
            if path not in canonical:
                problems.append(
                    f"{overlay.folders[skill]}/{shown(path)} does not exist in the skill `{skill}`; "
                    "an overlay replaces files, promotion cannot create them"
                )
    if not changed:
        problems.append("identical to the incumbent: nothing to measure")
    refuse(problems)


def apply_overlay(skills: Mapping[str, Skill], overlay: Overlay) -> dict[str, Skill]:
    """The skills with the overlay's files in place of their own; untouched skills stay as they are."""
    return {name: _replaced(skill, overlay.of(name)) for name, skill in skills.items()}


def stack_overlays(overlays: Sequence[Overlay]) -> Overlay:
    """One overlay that does what these do one after the other; none of them change nothing."""
    files: dict[str, bytes] = {}
    folders: dict[str, str] = {}
    for overlay in overlays:
        for skill, folder in overlay.folders.items():
            if folders.setdefault(skill, folder) != folder:
                refuse(
                    [f"the skill `{skill}` is in {folders[skill]} in one overlay, in {folder} in a later one"]
                )
        files |= overlay.files
    return _overlay(files, folders)


def skill_folders(skills: Skills) -> dict[str, str]:
    """The canonical folder of each declared skill, relative to the project's root."""
    return {name: str(PurePosixPath(spec.root) / name) for name, spec in skills.items()}


def refuse(problems: Iterable[str], place: str = "the overlay") -> None:
    """OverlayError with up to 20 of the problems, if there is one."""
    said = listed(problems)
    if said:
        raise OverlayError(f"{place} is refused:{said}")


def _overlay(files: Files, folders: Mapping[str, str]) -> Overlay:
    touched = tuple(sorted(folders))
    return Overlay(dict(files), digest_files(files), touched, {name: folders[name] for name in touched})


def _replaced(skill: Skill, files: Files) -> Skill:
    if not files:
        return skill
    changed = {**skill.files, **files}
    return Skill(skill.name, changed, digest_files(changed))


def _problems(path: str, content: bytes, folders: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with one file of an overlay."""
    yield from path_problems(path, folders)
    try:
        text = as_text(content)
    except Refused as refusal:
        yield f"{shown(path)} {refusal}"
        return
    try:
        for name, folder in folders.items():
            if path == f"{folder}/{SKILL_FILE}":
                check_front_matter(text, name, path)
    except Refused as refusal:
        yield from refusal.problems


def path_problems(path: str, folders: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with a file at this place in an overlay."""
    try:
        check_path(path)
    except Refused as refusal:
        yield f"{shown(path)} {refusal}"
        return
    if not any(_is_in(path, folder) for folder in folders.values()):
        known = ", ".join(sorted(folders.values())) or "none"
        yield f"{path} is not inside a skill that may change; these may: {known}"
    if not path.lower().endswith(".md"):
        yield f"{path} is not Markdown; an overlay holds only .md files"


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")
