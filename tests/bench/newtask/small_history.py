"""A small repository whose commits are of all kinds."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.tampering.honesty import BUG, FIX, REPOSITORY

_GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{key}": "a@b" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")},
}
CODE, TEST = "shelf/prices.py", "tests/test_total.py"
WRONG = REPOSITORY | {TEST: REPOSITORY[TEST].replace("count\": 2}]'), 700", "count\": 1}]'), 350")}
MORE = """
    def test_three_of_a_thing(self):
        self.assertEqual(total('[{"name": "tea", "cents": 350, "count": 3}]'), 1050)
"""
RIGHT = {CODE: WRONG[CODE].replace(BUG, FIX), TEST: WRONG[TEST] + MORE}


def git(folder: Path, *arguments: str) -> str:
    """What git says in a folder."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=_GIT, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path, message: str, files: Mapping[str, str]) -> str:
    """A commit that writes these files; its id."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def begin(folder: Path, files: Mapping[str, str] = WRONG) -> Path:
    """A new repository with one commit."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "First", files)
    return folder
