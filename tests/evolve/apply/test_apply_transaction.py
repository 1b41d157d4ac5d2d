"""The transaction alone: real files, and faults put in at its steps."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from apply_builders import NOW, snapshot, temporaries, tools

from evolve.apply import Change, Folders, Purpose, Step, apply_schemas, exchange_entries, publish
from evolve.errors import ApplyError

PATHS = ("a/SKILL.md", "b/SKILL.md", "c/SKILL.md")
OLD, NEW = b"old\n", b"new\n"

Fault = Callable[[Step], None]


class CrashError(Exception):
    """A fault that no code expects."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for number, path in enumerate(PATHS):
        (project / path).parent.mkdir(parents=True)
        (project / path).write_bytes(OLD)
        (project / path).chmod(0o640 + number)
    return project


def changes() -> list[Change]:
    return [Change(path=path, before=OLD, after=NEW) for path in PATHS]


def nothing() -> None:
    """Records nothing."""


def run(
    root: Path, observe: Fault | None = None, exchange: Any = exchange_entries, commit: Any = nothing
) -> None:
    with Folders(root) as folders:
        publish(folders, changes(), Purpose("r1", "apply", commit), tools(observe, exchange))


def at(name: str, path: str, act: Callable[[], object]) -> Fault:
    """A fault that happens once, at this step of this file."""
    left = [act]

    def observe(step: Step) -> None:
        if (step.name, step.path) == (name, path) and left:
            left.pop()()

    return observe


def both(*faults: Fault) -> Fault:
    def observe(step: Step) -> None:
        for fault in faults:
            fault(step)

    return observe


def failing(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def replace(path: Path, content: bytes) -> None:
    """As an editor saves: a new file takes the name."""
    fresh = path.with_name("fresh")
    fresh.write_bytes(content)
    fresh.replace(path)


def overwrite(path: Path, content: bytes) -> None:
    """As `>` saves: the same file, other bytes."""
    path.write_bytes(content)


def contents(root: Path) -> list[bytes]:
    return [(root / path).read_bytes() for path in PATHS]


def slot_of(root: Path, path: str, kind: str = "exchange") -> Path:
    return next((root / path).parent.glob(f".incumbent-*-{kind}-*"))


def recovery(root: Path) -> dict[str, Any]:
    (path,) = root.glob(".incumbent-recovery-*.json")
    document: dict[str, Any] = json.loads(path.read_bytes())
    jsonschema.Draft202012Validator(apply_schemas()["apply-recovery"]).validate(document)
    return document


def test_all_files_are_replaced_with_their_permissions_and_nothing_else_changes(root: Path) -> None:
    (root / "a" / "other").write_bytes(b"x")
    before = snapshot(root)
    run(root)
    assert snapshot(root) == before | {path: (NEW, before[path][1]) for path in PATHS}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_stays_its_owners_also_when_root_applies(root: Path) -> None:
    os.chown(root / PATHS[1], 1234, 4321)
    run(root)
    status = (root / PATHS[1]).stat()
    assert (status.st_uid, status.st_gid) == (1234, 4321)
    assert (root / PATHS[0]).stat().st_uid == 0


def test_a_folder_that_may_not_be_written_is_refused_with_what_to_do(root: Path) -> None:
    with pytest.raises(ApplyError, match=r"a/SKILL.md: Operation not permitted\n  apply as the user"):
        run(root, exchange=failing_for(0, PermissionError(errno.EPERM, os.strerror(errno.EPERM))))
    assert contents(root) == [OLD] * 3


def test_the_old_and_the_new_bytes_are_never_both_missing(root: Path) -> None:
    seen: set[bytes] = set()
    run(root, lambda _step: seen.update(contents(root)))
    assert seen == {OLD, NEW}


def test_the_record_is_written_when_all_is_in_place_and_can_still_be_taken_back(root: Path) -> None:
    there: list[list[bytes]] = []
    run(root, commit=lambda: there.append(contents(root)))
    assert there == [[NEW] * 3]
    for path in PATHS:
        (root / path).write_bytes(OLD)
    before = snapshot(root)
    with pytest.raises(ApplyError, match=r"no space.*\n  nothing was applied"):
        run(root, commit=failing(ApplyError("no space")))
    assert snapshot(root) == before


def count_steps(root: Path) -> list[Step]:
    steps: list[Step] = []
    copy = root.parent / "counted"
    shutil.copytree(root, copy)
    run(copy, steps.append)
    return steps


def test_a_fault_at_any_step_leaves_all_old_bytes_or_all_new_ones(root: Path) -> None:
    steps = count_steps(root)
    assert {step.name for step in steps} == {
        "opened", "staged", "validated", "exchange", "exchanged", "verified", "recorded", "remove",
    }  # fmt: skip
    before = snapshot(root)
    for number, step in enumerate(steps):
        if not step.reversible:
            continue
        seen: list[Step] = []

        def observe(at: Step, seen: list[Step] = seen, number: int = number) -> None:
            seen.append(at)
            if len(seen) == number + 1:
                raise CrashError

        with pytest.raises(CrashError):
            run(root, observe)
        assert snapshot(root) == before, step


def test_an_interrupt_after_a_landed_exchange_restores_everything_and_is_raised_again(root: Path) -> None:
    before = snapshot(root)
    with pytest.raises(KeyboardInterrupt):
        run(root, at("exchanged", PATHS[1], failing(KeyboardInterrupt())))
    assert snapshot(root) == before


def test_a_failure_at_the_second_of_three_files_restores_every_byte(root: Path) -> None:
    before = snapshot(root)
    with pytest.raises(ApplyError, match=r"b/SKILL.md: No space left on device\n  nothing was applied"):
        run(root, exchange=failing_for(1, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    assert snapshot(root) == before


def failing_for(number: int, error: OSError, *, lands: bool = False) -> Any:
    """An exchange that fails the `number`th time, after it landed or without."""
    calls: list[int] = []

    def exchange(folder: int, first: str, second: str) -> None:
        calls.append(1)
        if len(calls) == number + 1 and not lands:
            raise error
        exchange_entries(folder, first, second)
        if len(calls) == number + 1:
            raise error

    return exchange


def test_an_exchange_that_lands_and_then_raises_is_taken_back(root: Path) -> None:
    before = snapshot(root)
    with pytest.raises(ApplyError, match=r"nothing was applied"):
        run(root, exchange=failing_for(1, OSError(errno.EIO, "a late error"), lands=True))
    assert snapshot(root) == before


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_filesystem_that_cannot_exchange_is_named_and_nothing_is_left(root: Path, code: int) -> None:
    before = snapshot(root)
    with pytest.raises(ApplyError, match=r"cannot exchange two files in one instant.*\n.*local filesystem"):
        run(root, exchange=failing_for(0, OSError(code, os.strerror(code))))
    assert snapshot(root) == before


def test_the_exchange_of_a_file_that_is_not_there_is_an_error_of_the_system(root: Path) -> None:
    with Folders(root) as folders, pytest.raises(FileNotFoundError):
        exchange_entries(folders.hold("a"), "SKILL.md", "nothing")


@pytest.mark.parametrize("edit", [replace, overwrite])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_edit_that_races_the_exchange_survives_and_the_others_return(
    root: Path, edit: Callable[[Path, bytes], None], number: int
) -> None:
    path = PATHS[number]
    steps: list[Step] = []
    race = at("exchange", path, lambda: edit(root / path, b"mine\n"))
    with pytest.raises(ApplyError, match=rf"{path} was changed at the moment.*\n  nothing was applied"):
        run(root, both(steps.append, race))
    assert [step.path for step in steps if step.name == "exchange"] == [*PATHS[: number + 1]], (
        "it stops at once"
    )
    assert contents(root) == [b"mine\n" if each == path else OLD for each in PATHS]
    assert temporaries(root) == []


def test_a_mode_change_that_races_the_exchange_counts_as_drift_and_is_preserved(root: Path) -> None:
    before = snapshot(root)
    with pytest.raises(ApplyError, match=r"b/SKILL.md was changed at the moment"):
        run(root, at("exchange", PATHS[1], lambda: (root / PATHS[1]).chmod(0o600)))
    assert snapshot(root) == before | {PATHS[1]: (OLD, 0o600)}


@pytest.mark.parametrize("edit", [replace, overwrite])
def test_a_second_edit_that_races_the_rollback_is_kept_beside_the_first(
    root: Path, edit: Callable[[Path, bytes], None]
) -> None:
    path = root / PATHS[1]
    first = at("exchange", PATHS[1], lambda: replace(path, b"first edit\n"))
    second = at("undo", PATHS[1], lambda: edit(path, b"second edit\n"))
    with pytest.raises(ApplyError, match=r"rollback-incomplete") as refused:
        run(root, both(first, second))
    assert contents(root) == [OLD, b"first edit\n", OLD]
    assert slot_of(root, PATHS[1]).read_bytes() == b"second edit\n"
    assert slot_of(root, PATHS[1], "backup").read_bytes() == OLD
    account = recovery(root)
    assert account["state"] == "rollback-incomplete"
    assert "changed again" in account["failures"][0]
    assert [each["holds"] for each in account["leftovers"]] == ["incumbent", "something else"]
    said = str(refused.value)
    assert all(name in said for name in temporaries(root))
    assert "rm -f" not in said, "nothing that may hold somebody's work is to be removed"


def test_a_candidate_that_is_at_both_names_is_not_exchanged_and_the_backup_is_kept(root: Path) -> None:
    def exchange(folder: int, first: str, second: str) -> None:
        exchange_entries(folder, first, second)
        if Path(f"/proc/self/fd/{folder}").readlink().name == "b":
            os.unlink(first, dir_fd=folder)
            os.link(second, first, src_dir_fd=folder, dst_dir_fd=folder)

    with pytest.raises(ApplyError, match=r"both names") as refused:
        run(root, exchange=exchange)
    assert contents(root) == [OLD, NEW, OLD]
    backup = slot_of(root, PATHS[1], "backup")
    assert backup.read_bytes() == OLD
    assert recovery(root)["state"] == "rollback-incomplete"
    assert f"mv -f -- {backup.relative_to(root)} b/SKILL.md" in str(refused.value)


def test_what_replaces_a_file_after_its_exchange_is_kept(root: Path) -> None:
    with pytest.raises(ApplyError, match=r"replaced after the exchange"):
        run(root, at("exchanged", PATHS[0], lambda: replace(root / PATHS[0], b"mine\n")))
    assert contents(root) == [b"mine\n", OLD, OLD]
    assert slot_of(root, PATHS[0], "backup").read_bytes() == OLD
    assert recovery(root)["state"] == "rollback-incomplete"


def test_a_file_that_loses_what_it_displaced_keeps_its_backup(root: Path) -> None:
    with pytest.raises(ApplyError, match=r"only in the backup"):
        run(root, at("exchanged", PATHS[0], lambda: slot_of(root, PATHS[0]).unlink()))
    assert slot_of(root, PATHS[0], "backup").read_bytes() == OLD
    assert recovery(root)["state"] == "rollback-incomplete"


def test_a_rollback_that_fails_at_one_file_goes_on_with_the_others(root: Path) -> None:
    stop = at("exchanged", PATHS[2], failing(CrashError("stop")))
    no_undo = at("undo", PATHS[1], failing(CrashError("no undo")))
    with pytest.raises(ApplyError, match=r"b/SKILL.md: no undo"):
        run(root, both(stop, no_undo))
    assert contents(root) == [OLD, NEW, OLD]
    assert recovery(root)["failure"] == "stop"


def test_a_write_into_the_displaced_file_before_it_is_removed_is_kept(root: Path) -> None:
    with (root / PATHS[1]).open("r+b") as editor:

        def write() -> None:
            editor.write(b"late\n")
            editor.flush()

        with pytest.raises(ApplyError, match=r"\(published\)"):
            run(root, at("recorded", "", write))
    assert contents(root) == [NEW] * 3
    assert slot_of(root, PATHS[1]).read_bytes() == b"late\n"
    assert recovery(root)["state"] == "published"


def test_a_temporary_file_that_cannot_be_removed_after_going_back_is_named(root: Path) -> None:
    stop = at("exchanged", PATHS[0], failing(CrashError("stop")))
    cannot = at("remove", PATHS[1], failing(OSError(errno.EACCES, "Permission denied")))
    with pytest.raises(ApplyError, match=r"\(rolled-back\)") as refused:
        run(root, both(stop, cannot))
    assert contents(root) == [OLD] * 3
    account = recovery(root)
    assert account["state"] == "rolled-back"
    assert [each["holds"] for each in account["leftovers"]] == ["candidate"]
    assert f"rm -f -- {slot_of(root, PATHS[1]).relative_to(root)}" in str(refused.value)


def test_new_bytes_that_somebody_changed_before_their_exchange_are_never_published(root: Path) -> None:
    tamper = at("validated", "", lambda: slot_of(root, PATHS[2]).write_bytes(b"theirs\n"))
    seen: set[bytes] = set()
    with pytest.raises(ApplyError, match=r"c/SKILL.md or a temporary file beside it was changed"):
        run(root, both(tamper, lambda _step: seen.update(contents(root))))
    assert seen == {OLD, NEW}
    assert contents(root) == [OLD] * 3
    assert slot_of(root, PATHS[2]).read_bytes() == b"theirs\n"
    assert recovery(root)["state"] == "rolled-back"


@pytest.mark.parametrize("edit", [replace, overwrite])
def test_an_edit_of_a_replaced_file_while_the_others_are_replaced_is_kept_and_the_others_return(
    root: Path, edit: Callable[[Path, bytes], None]
) -> None:
    with pytest.raises(ApplyError, match=r"rollback-incomplete"):
        run(root, at("exchanged", PATHS[2], lambda: edit(root / PATHS[0], b"mine\n")))
    assert contents(root)[1:] == [OLD, OLD]
    kept = [path.read_bytes() for path in (root / "a").iterdir()]
    assert b"mine\n" in kept
    assert OLD in kept


def test_a_failure_before_any_exchange_that_cannot_be_cleaned_up_is_not_fully_published(root: Path) -> None:
    stop = at("validated", "", failing(CrashError("stop")))
    cannot = at("remove", PATHS[0], failing(OSError(errno.EIO, "Input/output error")))
    with pytest.raises(ApplyError, match=r"\(not-fully-published\)"):
        run(root, both(stop, cannot))
    assert contents(root) == [OLD] * 3
    assert recovery(root)["state"] == "not-fully-published"


def test_a_recovery_file_that_cannot_be_written_is_replaced_by_the_message(root: Path) -> None:
    (root / f".incumbent-recovery-{NOW:%Y%m%dT%H%M%S%fZ}.json").write_bytes(b"taken")
    no_undo = at("undo", PATHS[0], failing(CrashError("no undo")))
    with pytest.raises(ApplyError, match=r"could not be written .*keep this message") as refused:
        run(root, both(at("exchanged", PATHS[0], failing(CrashError("stop"))), no_undo))
    assert slot_of(root, PATHS[0], "backup").name in str(refused.value)


def test_a_missing_file_is_found_before_anything_is_staged(root: Path) -> None:
    (root / PATHS[2]).unlink()
    before = snapshot(root)
    steps: list[Step] = []
    with pytest.raises(ApplyError, match=r"c/SKILL.md does not exist"):
        run(root, steps.append)
    assert [step.name for step in steps] == ["opened"]
    assert snapshot(root) == before


def link_folder(root: Path) -> None:
    (root / "b").rename(root.parent / "elsewhere")
    (root / "b").symlink_to(root.parent / "elsewhere")


def link_file(root: Path) -> None:
    (root / "b" / "SKILL.md").rename(root / "b" / "real")
    (root / "b" / "SKILL.md").symlink_to("real")


def make_fifo(root: Path) -> None:
    (root / "b" / "SKILL.md").unlink()
    os.mkfifo(root / "b" / "SKILL.md")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (link_folder, "the folder b is a symbolic link"),
        (link_file, "b/SKILL.md is a symbolic link"),
        (make_fifo, "b/SKILL.md is not a regular file"),
        (lambda root: (root / PATHS[1]).write_bytes(b"mine\n"), "b/SKILL.md was changed meanwhile"),
        (lambda root: (root / PATHS[1]).write_bytes(b"x" * (17 << 20)), "more than the 16,777,216 bytes"),
    ],
)
def test_a_destination_that_is_not_the_plain_file_it_should_be_is_refused_untouched(
    root: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(root)
    others = [PATHS[0], PATHS[2]]
    with pytest.raises(ApplyError, match=message):
        run(root)
    assert [(root / path).read_bytes() for path in others] == [OLD, OLD]
    assert temporaries(root.parent) == []


@pytest.mark.parametrize("step", [("staged", PATHS[1]), ("validated", ""), ("exchanged", PATHS[0])])
def test_a_folder_that_becomes_a_link_on_the_way_is_noticed_and_nothing_lands_behind_it(
    root: Path, step: tuple[str, str]
) -> None:
    with pytest.raises(ApplyError, match=r"changed meanwhile: the folder b is a symbolic link"):
        run(root, at(*step, lambda: link_folder(root)))
    assert contents(root) == [OLD] * 3
    assert temporaries(root.parent) == []


def test_a_folder_that_is_replaced_on_the_way_is_noticed(root: Path) -> None:
    def swap() -> None:
        (root / "b").rename(root / "gone")
        shutil.copytree(root / "gone", root / "b", ignore=shutil.ignore_patterns(".incumbent-*"))

    with pytest.raises(ApplyError, match=r"the folder b was replaced meanwhile"):
        run(root, at("validated", "", swap))
    assert contents(root) == [OLD] * 3
    assert temporaries(root) == []


def test_a_root_that_is_a_link_is_refused(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    with pytest.raises(ApplyError, match=r"cannot be opened"), Folders(root.parent / "link"):
        pass


def test_two_at_once_in_one_project_are_refused(root: Path) -> None:
    with Folders(root), pytest.raises(ApplyError, match=r"another `evolve apply` is at work"):
        run(root)
    run(root)
    assert contents(root) == [NEW] * 3


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_stays_open(root: Path) -> None:
    before = open_descriptors()
    run(root)
    with pytest.raises(ApplyError):
        run(root)
    assert open_descriptors() == before
