"""Resolving refs with a real git, whatever the repository, the user or the environment configured."""

import subprocess
from pathlib import Path

import pytest

from bench.suite import Refused
from bench.suite.refs import resolve_commit


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("a\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "tag", "-a", "v1", "-m", "annotated")
    return folder


@pytest.mark.parametrize("ref", ["main", "HEAD", "v1", "refs/heads/main"])
def test_a_ref_names_its_commit(repository: Path, ref: str) -> None:
    assert resolve_commit(repository, ref) == git(repository, "rev-parse", "HEAD")


def test_a_commit_names_itself_in_full_or_short(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    assert resolve_commit(repository, commit) == resolve_commit(repository, commit[:8]) == commit


def test_a_bare_repository_will_do(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    assert resolve_commit(tmp_path / "bare.git", "main") == git(repository, "rev-parse", "HEAD")


def refusal(folder: Path, ref: str) -> str:
    with pytest.raises(Refused) as caught:
        resolve_commit(folder, ref)
    return str(caught.value)


def test_an_unknown_ref_names_the_nearest_one(repository: Path) -> None:
    said = refusal(repository, "mian")
    assert said == f"{repository} has no branch, tag or commit `mian`; did you mean 'main'?"
    assert "has no branch, tag or commit" in refusal(repository, "0" * 40)
    assert "begins with `-`" in refusal(repository, "--all")


def test_a_ref_that_names_no_commit_says_what_it_names(repository: Path) -> None:
    git(repository, "tag", "content", git(repository, "rev-parse", "HEAD:a.txt"))
    assert refusal(repository, "content") == f"`content` in {repository} names a blob, not a commit"


def test_a_repository_without_a_commit_says_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    for ref in ("main", "HEAD"):
        assert (
            refusal(tmp_path, ref) == f"branch `main` of {tmp_path} has no commit yet; commit its files first"
        )


def test_an_unborn_branch_beside_others_is_named(repository: Path) -> None:
    git(repository, "checkout", "-q", "--orphan", "unborn")
    for ref in ("unborn", "HEAD"):
        said = refusal(repository, ref)
        assert said == f"branch `unborn` of {repository} has no commit yet; commit its files first"
    assert resolve_commit(repository, "main")


def test_a_folder_without_a_repository_is_told_from_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert "is not the top folder of a git repository" in refusal(tmp_path / "plain", "main")
    assert "is not a folder that exists" in refusal(tmp_path / "none", "main")


def test_a_repository_around_the_folder_is_not_used(repository: Path) -> None:
    (repository / "inside").mkdir()
    assert "is not the top folder of a git repository" in refusal(repository / "inside", "main")


def test_nothing_that_the_environment_says_takes_part(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    git(other, "commit", "-q", "--allow-empty", "-m", "another")
    expected = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.repositoryformatversion")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "99")
    assert resolve_commit(repository, "main") == expected


def test_replacement_objects_do_not_take_part(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "commit", "-q", "--allow-empty", "-m", "two")
    git(repository, "tag", "-a", "v2", "-m", "annotated")
    git(repository, "replace", git(repository, "rev-parse", "v1"), git(repository, "rev-parse", "v2"))
    assert git(repository, "rev-parse", "v1^{commit}") != first
    assert resolve_commit(repository, "v1") == first
