"""Going back: every exchange is undone by exchanging again, so that what somebody wrote meanwhile is never lost."""

from collections.abc import Sequence

from evolve.apply.folders import id_of
from evolve.apply.model import Step, Tools
from evolve.apply.staging import Staged, is_in_state
from evolve.errors import ApplyError


def undo_all(attempted: Sequence[Staged], tools: Tools) -> dict[str, str]:
    """Take back the exchanges that were attempted, the last one first. Why not, for each path that was not."""
    failures: dict[str, str] = {}
    for staged in reversed(attempted):
        try:
            _undo(staged, tools)
        except BaseException as error:  # noqa: BLE001 - the other files go back all the same, and it is reported
            failures[staged.change.path] = str(error) or type(error).__name__
    return failures


def _undo(staged: Staged, tools: Tools) -> None:
    """Classified by which file is where: an exchange may have landed and failed all the same."""
    ours = staged.slot.state.id
    here, displaced = id_of(staged.folder, staged.name), id_of(staged.folder, staged.slot.name)
    if displaced == ours and here != ours:
        return  # it never landed: the destination has what it had, or what somebody wrote there
    if displaced == ours:
        raise ApplyError("the new file is at both names, so what was there before is only in the backup")
    if displaced is None:
        raise ApplyError("what was there before was removed from beside it and is only in the backup")
    if here != ours:
        raise ApplyError("it was replaced after the exchange; what somebody put there is kept")
    tools.observe(Step("undo", staged.change.path))
    tools.exchange(staged.folder, staged.slot.name, staged.name)
    back = id_of(staged.folder, staged.name) == displaced
    if not back or not is_in_state(staged.folder, staged.slot.name, staged.slot.state):
        raise ApplyError("it was changed again while it was taken back; every version is kept")
