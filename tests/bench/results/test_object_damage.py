"""What is found wrong with an object, whatever lies in its place."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.digest import digest_bytes
from bench.results import Artifact, ObjectStore

CONTENT = b"kept" * 1000


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "removed": (lambda path: path.unlink(), "missing"),
    "cut": (lambda path: path.write_bytes(CONTENT[:-1]), "changed"),
    "other bytes of the same length": (lambda path: path.write_bytes(CONTENT[::-1]), "changed"),
    "a link to the same": (link, "changed"),
    "a pipe that nobody writes to": (pipe, "changed"),
    "a folder": (folder, "changed"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_object_that_is_not_what_its_name_says_is_damaged(case: str, tmp_path: Path) -> None:
    store, digest = ObjectStore(tmp_path), digest_bytes(CONTENT)
    path = tmp_path / digest[:2] / digest[2:]
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    artifact = Artifact(digest, len(CONTENT))
    assert store.damage(artifact) is None
    change, problem = CASES[case]
    change(path)
    found = store.damage(artifact)
    assert found is not None
    assert found.problem == problem
