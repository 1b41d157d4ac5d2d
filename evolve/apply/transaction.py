"""The transaction: all destinations get their new bytes, or all keep what they have."""

import os
from collections.abc import Collection, Sequence

from msgspec import Struct

from bench.errors import UserError
from evolve.apply.exchange import explained
from evolve.apply.folders import FileState, Folders, id_of
from evolve.apply.model import Change, Purpose, State, Step, Tools
from evolve.apply.recovery import recovery_error
from evolve.apply.staging import Staged, Temporary, check_unchanged, is_in_state, stage_all
from evolve.apply.undo import undo_all
from evolve.errors import ApplyError


class _Work(Struct):
    """What has happened so far: the temporary files there are, and the exchanges that were begun."""

    temporaries: list[Temporary]
    attempted: list[Staged]


def publish(folders: Folders, changes: Sequence[Change], purpose: Purpose, tools: Tools) -> None:
    """Replace the files, or raise and leave everything as it was.

    ApplyError says what was in the way, and names the recovery file if something could not be taken back or
    cleaned up. Anything else that is raised on the way, an interrupt first of all, is raised again after going back.
    """
    work = _Work([], [])
    try:
        staged = _exchange_all(folders, changes, tools, work)
        purpose.commit()
    except BaseException as failure:
        _go_back(folders, failure, purpose, tools, work)
        raise
    _clean_published(folders, staged, purpose, tools)


def _exchange_all(
    folders: Folders, changes: Sequence[Change], tools: Tools, work: _Work
) -> tuple[Staged, ...]:
    tools.observe(Step("opened"))
    staged = stage_all(folders, changes, tools, work.temporaries)
    folders.check()
    for each in staged:
        check_unchanged(each)
    tools.observe(Step("validated"))
    for each in staged:
        _exchange(folders, each, tools, work.attempted)
    folders.sync()
    folders.check()
    for each in staged:
        _check_landed(each)
    tools.observe(Step("verified"))
    return staged


def _exchange(folders: Folders, staged: Staged, tools: Tools, attempted: list[Staged]) -> None:
    folders.check()
    check_unchanged(staged)
    attempted.append(staged)
    tools.observe(Step("exchange", staged.change.path))
    try:
        tools.exchange(staged.folder, staged.slot.name, staged.name)
    except OSError as error:
        raise explained(error, staged.change.path) from error
    tools.observe(Step("exchanged", staged.change.path))
    _check_landed(staged)


def _check_landed(staged: Staged) -> None:
    """The destination is the new file, and what it displaced is the old one, both to the last bit."""
    if not is_in_state(staged.folder, staged.name, staged.slot.state) or not is_in_state(
        staged.folder, staged.slot.name, staged.before
    ):
        raise ApplyError(f"{staged.change.path} was changed at the moment of the exchange")


def _go_back(folders: Folders, failure: BaseException, purpose: Purpose, tools: Tools, work: _Work) -> None:
    """Undo and clean up. Returns when nothing is left of it and the failure itself says enough."""
    failures = undo_all(work.attempted, tools)
    state: State = (
        "rollback-incomplete" if failures else "rolled-back" if work.attempted else "not-fully-published"
    )
    kept = [each for each in work.temporaries if each.path not in failures]
    problems = _remove_all([(each, each.state) for each in kept], tools) | failures
    if problems:
        raise recovery_error(folders, _said(failure), state, problems, purpose, tools) from failure
    if isinstance(failure, OSError | UserError):
        raise ApplyError(
            f"{_said(failure)}\n  nothing was applied: every file is as it was, or as somebody changed it meanwhile"
        ) from failure


def _clean_published(folders: Folders, staged: Sequence[Staged], purpose: Purpose, tools: Tools) -> None:
    """Remove what was displaced, then the backups: while something displaced is there, all backups are."""
    temporaries = [(each.slot, each.before) for each in staged] + [
        (each.backup, each.backup.state) for each in staged
    ]
    tools.observe(Step("recorded"))
    problems = _remove_all(temporaries, tools)
    if problems:
        failure = "the new bytes are in place and recorded; not all temporary files could be removed"
        raise recovery_error(folders, failure, "published", problems, purpose, tools)


def _remove_all(temporaries: Collection[tuple[Temporary, FileState]], tools: Tools) -> dict[str, str]:
    """Remove the files that are in their expected state. Why not, for each path beside which one had to stay."""
    problems: dict[str, str] = {}
    for temporary, expected in temporaries:
        try:
            _remove(temporary, expected, tools)
        except BaseException as error:  # noqa: BLE001 - the others are removed all the same, and it is reported
            problems[temporary.path] = f"{temporary.name}: {str(error) or type(error).__name__}"
    return problems


def _remove(temporary: Temporary, expected: FileState, tools: Tools) -> None:
    tools.observe(Step("remove", temporary.path))
    if id_of(temporary.folder, temporary.name) is None:
        return
    if not is_in_state(temporary.folder, temporary.name, expected):
        raise ApplyError("somebody changed it, so it was kept")
    os.unlink(temporary.name, dir_fd=temporary.folder)


def _said(failure: BaseException) -> str:
    return str(failure) or type(failure).__name__
