"""Reads skills from their folders."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from bench.digest import digest_files
from bench.errors import SkillError
from bench.skills.front_matter import check_front_matter, name_problem
from bench.skills.model import SKILL_FILE, Skill
from bench.skills.refusal import listed, size_problems
from bench.suite import Entry, Refused, as_text, check_path, list_entries, read_file, shown
from bench.text import did_you_mean

MOST_FILES = 256
MOST_ENTRIES = 1024
MOST_BYTES = 4 << 20
# what a transaction on a skill's files is called while it runs
UNFINISHED = ".incumbent-"


def read_skill(root_folder: Path, name: str) -> Skill:
    """The skill in the folder `name` below `root_folder`: at most 256 regular files and 4 MiB, no links.

    SkillError says everything that is wrong with it.
    """
    folder = root_folder / name
    wrong_name = name_problem(name)
    if wrong_name:
        raise SkillError(f"`{shown(name)}` {wrong_name}")
    if folder.is_symlink() or not folder.is_dir():
        raise SkillError(_no_folder(root_folder, folder))
    try:
        files = _files(folder)
        _check(name, files, shown(folder))
    except Refused as refusal:
        said = listed(refusal.problems)
        raise SkillError(f"the skill `{name}` in {shown(folder)} cannot be used:{said}") from refusal
    return Skill(name, files, digest_files(files))


def read_family(folder: Path, names: Iterable[str]) -> dict[str, Skill]:
    """The named skills of a plugin, which keeps each in `<folder>/<name>` or `<folder>/skills/<name>`.

    SkillError says what is wrong with each of them.
    """
    found: dict[str, Skill] = {}
    problems: list[str] = []
    for name in names:
        try:
            found[name] = read_skill(_root_of(folder, name), name)
        except SkillError as error:
            problems.append(str(error))
    if problems:
        raise SkillError("\n".join(problems))
    return found


def _root_of(folder: Path, name: str) -> Path:
    """The folder of the family that holds the skill `name`."""
    roots = [root for root in (folder, folder / "skills") if (root / name / SKILL_FILE).is_file()]
    if len(roots) > 1:
        places = " and ".join(shown(root / name) for root in roots)
        raise SkillError(
            f"the skill `{name}` is there twice, in {places}; name the folder that holds one of them"
        )
    if roots:
        return roots[0]
    return folder / "skills" if (folder / "skills").is_dir() else folder


def _files(folder: Path) -> dict[str, bytes]:
    """The files of a skill's folder by path; Refused with each entry that may not be there."""
    entries = list_entries(folder, MOST_ENTRIES)
    problems = list(_entry_problems(entries))
    if problems:
        raise Refused(*problems)
    files: dict[str, bytes] = {}
    for entry in entries:
        if entry.kind == "file":
            files[entry.path] = _read(folder, entry.path)
    return files


def _entry_problems(entries: tuple[Entry, ...]) -> Iterator[str]:
    for entry in entries:
        if entry.kind not in ("file", "folder"):
            yield f"{shown(entry.path)} is a {'symbolic link' if entry.kind == 'link' else 'special file'}"
            continue
        if PurePosixPath(entry.path).name.startswith(UNFINISHED):
            yield f"{shown(entry.path)} was left by an `evolve apply` that was cut off; run it again, it says what to do"
        try:
            check_path(entry.path)
        except Refused as refusal:
            yield f"{shown(entry.path)} {refusal}"
    sizes = [entry.size for entry in entries if entry.kind == "file"]
    yield from size_problems(sizes, MOST_FILES, MOST_BYTES)


def _read(folder: Path, path: str) -> bytes:
    try:
        return read_file(folder, path, MOST_BYTES)
    except Refused as refusal:
        raise Refused(f"{shown(path)} {refusal}") from refusal


def _check(name: str, files: Mapping[str, bytes], place: str) -> None:
    """Refused unless there is a SKILL.md with front matter, and all Markdown is UTF-8."""
    if SKILL_FILE not in files:
        raise Refused(f"{SKILL_FILE} does not exist")
    _check_markdown(files)
    check_front_matter(files[SKILL_FILE].decode(), name, f"{place}/{SKILL_FILE}")


def _check_markdown(files: Mapping[str, bytes]) -> None:
    """Refused with each Markdown file that is not UTF-8 text."""
    problems: list[str] = []
    for path, content in files.items():
        try:
            if path.lower().endswith(".md"):
                as_text(content)
        except Refused as refusal:
            problems.append(f"{shown(path)} {refusal}")
    if problems:
        raise Refused(*problems)


def _no_folder(root: Path, folder: Path) -> str:
    if folder.is_symlink():
        return f"the skill folder {shown(folder)} is a symbolic link; put the folder itself there"
    try:
        known = sorted(path.name for path in root.iterdir() if (path / SKILL_FILE).is_file())
    except OSError:
        return (
            f"there is no skill `{folder.name}`: the folder {shown(root)} cannot be listed, or does not exist"
        )
    there = ", ".join(map(shown, known)) or "none"
    near = did_you_mean(folder.name, known)
    return f"there is no skill `{folder.name}` in {shown(root)}{near}\n  skills there: {there}"
