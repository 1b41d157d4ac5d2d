"""Killed at any step: what is left is whole, a later apply explains it, and its advice works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from apply_builders import RUN, change_of, make_project, promote, snapshot, temporaries, tools

from bench.project import find_run
from evolve.apply import ApplySummary, apply_run, read_records, revert_run
from evolve.errors import ApplyError

PLACES = (".claude/skills", "cursor/skills", "plugin/skills")
STEPS = 22  # for one file in three places


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with the project after each kill, and the steps at which it was killed."""
    folder = tmp_path_factory.mktemp("killed")
    made = make_project(folder / "project")
    promote(made)
    program = Path(__file__).with_name("killed_applies.py")
    done = subprocess.run(
        [sys.executable, str(program), str(made.root), str(folder)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return folder, done.stdout.splitlines()


def apply(root: Path) -> ApplySummary:
    return apply_run(root, find_run(root, RUN), tools())


def copy_of(project: Path, folder: Path) -> Path:
    shutil.copytree(project, folder / "project")
    return folder / "project"


def held(root: Path) -> list[str]:
    """What each destination holds."""
    contents = [(root / place / "code-review" / "SKILL.md").read_bytes() for place in PLACES]
    new = next(iter(change_of().values()))
    return [
        "new" if content == new else "old" if b"Look twice." in content else "torn" for content in contents
    ]


def follow(root: Path, message: str, heading: str) -> None:
    """Type the commands below a heading of the message, as they are."""
    block = message.partition(heading)[2].partition("\n")[2]
    commands = re.match(r"(?:    (?:mv|rm) .*\n?)+", block)
    assert commands, message
    subprocess.run(["sh", "-e"], input=commands[0], cwd=root, text=True, check=True)


def test_the_program_was_killed_at_every_step(killed: tuple[Path, list[str]]) -> None:
    assert len(killed[1]) == STEPS
    assert {line.split()[0] for line in killed[1]} == {
        "opened", "staged", "validated", "exchange", "exchanged", "verified", "recorded", "remove",
    }  # fmt: skip


@pytest.mark.parametrize("number", range(STEPS))
def test_after_a_kill_every_file_is_whole_and_the_advice_leads_back_to_a_sound_state(
    killed: tuple[Path, list[str]], tmp_path: Path, number: int
) -> None:
    root, before = copy_of(killed[0] / str(number), tmp_path), snapshot(killed[0] / "project")
    left, now = temporaries(root), held(root)
    assert "torn" not in now
    if not left:
        assert killed[1][number].startswith("opened")
        assert apply(root).outcome == "applied"
        return
    with pytest.raises(ApplyError, match="cut off") as refused:
        apply(root)
    message = str(refused.value)
    assert all(name in message for name in left)
    assert held(root) == now
    assert temporaries(root) == left
    back = "to go back to what was there before" in message
    assert back or set(now) == {"old"} or killed[1][number].startswith(("remove", "recorded"))
    assert ("to keep the candidate" in message) == (set(now) == {"new"})
    assert ("to clean up" in message) == (set(now) == {"old"})
    follow(
        root,
        message,
        "to go back" if back else "to keep the candidate" if set(now) == {"new"} else "to clean up",
    )
    assert temporaries(root) == []
    if back or set(now) == {"old"}:
        skills = {path: state for path, state in snapshot(root).items() if not path.startswith("runs/")}
        assert skills.items() <= before.items()
        assert apply(root).outcome == "applied"
    assert apply(root).outcome == "already-applied"


def test_what_was_kept_after_a_kill_is_applied_and_can_be_reverted_if_it_was_recorded(
    killed: tuple[Path, list[str]], tmp_path: Path
) -> None:
    number = next(index for index, line in enumerate(killed[1]) if line.startswith("recorded"))
    root = copy_of(killed[0] / str(number), tmp_path)
    with pytest.raises(ApplyError) as refused:
        apply(root)
    follow(root, str(refused.value), "to keep the candidate")
    assert apply(root).outcome == "already-applied"
    run = find_run(root, RUN)
    assert [record.action for record in read_records(run)] == ["apply"]
    assert revert_run(root, run, tools()).outcome == "reverted"
    assert held(root) == ["old"] * 3


def test_a_copy_that_was_cut_off_in_the_middle_of_writing_is_explained(tmp_path: Path) -> None:
    made = make_project(tmp_path / "project")
    promote(made)
    half = made.path().with_name(f".incumbent-01234567-backup-{'a' * 12}-{'b' * 12}-SKILL.md.part")
    half.write_bytes(b"ha")
    with pytest.raises(ApplyError, match="an unfinished copy") as refused:
        apply(made.root)
    follow(made.root, str(refused.value), "to clean up")
    assert apply(made.root).outcome == "applied"


def test_a_name_that_only_looks_similar_is_nobodys_leftover(tmp_path: Path) -> None:
    made = make_project(tmp_path / "project")
    (made.root / ".incumbent-notes").write_bytes(b"mine")
    promote(made)
    assert apply(made.root).outcome == "applied"
