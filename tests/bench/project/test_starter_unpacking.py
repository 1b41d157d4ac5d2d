"""The embedded starter project: unpacked once, whole or not at all, the same everywhere. With real git."""

import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from bench.errors import ConfigError
from bench.project import STARTER_TAG, starter, unpack_starter


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_starter(tmp_path_factory.mktemp("project"))


def test_it_is_a_project_with_one_commit_that_its_suite_can_name(unpacked: Path) -> None:
    assert (unpacked / "evolve.toml").is_file()
    assert git(unpacked, "rev-list", "--count", "HEAD") == "1"
    assert git(unpacked, "log", "--format=%at %ct") == "1767225600 1767225600"
    assert git(unpacked, "rev-parse", f"{STARTER_TAG}^{{commit}}") == git(unpacked, "rev-parse", "HEAD")


def test_everything_in_it_is_committed_and_its_runs_will_not_be(unpacked: Path) -> None:
    (unpacked / "runs" / "r-1").mkdir(parents=True)
    (unpacked / "runs" / "r-1" / "results.jsonl").write_text("{}")

    assert git(unpacked, "status", "--porcelain") == ""


def test_nothing_that_programs_leave_in_a_source_tree_is_unpacked(unpacked: Path) -> None:
    left = [
        path for path in unpacked.rglob("*") if path.name == "__pycache__" or path.name.endswith("_cache")
    ]

    assert left == []


def test_a_second_time_it_is_used_as_it_is(unpacked: Path) -> None:
    (unpacked / "mine.txt").write_text("a user's own work")

    assert unpack_starter(unpacked.parent.parent) == unpacked
    assert (unpacked / "mine.txt").read_text() == "a user's own work"


def test_it_is_the_same_commit_everywhere_whatever_the_user_s_git_is_set_to(
    unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n name = Somebody\n[core]\n autocrlf = true\n[commit]\n gpgSign = true\n"
        "[init]\n defaultObjectFormat = sha256\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    other = unpack_starter(tmp_path / "somewhere" / "else")

    monkeypatch.delenv("GIT_DIR")
    assert git(other, "rev-parse", "HEAD") == git(unpacked, "rev-parse", STARTER_TAG)


def test_processes_that_unpack_it_at_once_share_one(tmp_path: Path) -> None:
    start = threading.Barrier(3)
    found: list[Path] = []

    def unpack() -> None:
        start.wait()
        found.append(unpack_starter(tmp_path))

    threads = [threading.Thread(target=unpack) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [tmp_path / "runs" / "starter"] * 3
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["starter"]


def test_without_git_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(starter._ENVIRONMENT, "PATH", str(tmp_path / "no-programs"))

    with pytest.raises(ConfigError, match="git is needed and was not found"):
        unpack_starter(tmp_path)

    assert list((tmp_path / "runs").iterdir()) == []


def test_when_git_fails_nothing_is_left_behind_and_git_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(
        f'#!/bin/sh\nfor word; do [ "$word" = commit ] && echo "no space left" >&2 && exit 1; done\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    (programs / "git").chmod(0o755)
    monkeypatch.setitem(starter._ENVIRONMENT, "PATH", f"{programs}:/usr/bin:/bin")

    with pytest.raises(ConfigError, match=r"git commit failed in .*: no space left"):
        unpack_starter(tmp_path)

    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_something_else_in_its_place_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "runs" / "starter"
    target.parent.mkdir()
    if kind == "folder":
        target.mkdir()
    else:
        target.write_text("mine")

    with pytest.raises(ConfigError, match=r"exists but is no project \(it has no evolve.toml\)"):
        unpack_starter(tmp_path)

    assert list(target.parent.iterdir()) == [target]


def test_a_place_that_takes_nothing_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")

    with pytest.raises(ConfigError, match=r"cannot be unpacked to .*/runs/starter: File exists"):
        unpack_starter(tmp_path)
