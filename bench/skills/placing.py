"""Where skills lie in a working copy, and the fingerprint that shows whether they were changed there."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from bench.digest import digest_files, digest_json
from bench.skills.model import Skill


def placed_files(skills: Mapping[str, Skill], skill_root: str) -> dict[str, bytes]:
    """The files of the skills by their path in the working copy, below where an agent looks for skills."""
    return {
        str(PurePosixPath(skill_root) / name / path): content
        for name, skill in skills.items()
        for path, content in skill.files.items()
    }


def fingerprint(files: Mapping[str, bytes]) -> str:
    """Digest of placed files: equal before and after a session that left the skills alone."""
    return digest_files(files)


def combined_digest(skills: Mapping[str, Skill]) -> str:
    """Digest of several skills: which there are, by name, and what each holds."""
    return digest_json({name: skill.digest for name, skill in skills.items()})
