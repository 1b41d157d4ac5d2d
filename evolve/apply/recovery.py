"""The account of a transaction that went wrong, beside the project's marker, where nobody overlooks it."""

import os

import msgspec

from bench.digest import canonical_json
from evolve.apply.folders import Folders, parent_of
from evolve.apply.leftovers import explain, find_leftovers
from evolve.apply.model import RECOVERY_VERSION, Purpose, Recovery, State, Tools
from evolve.apply.names import RECOVERY_PREFIX
from evolve.errors import ApplyError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SAYS: dict[State, str] = {
    "rollback-incomplete": "not everything could be taken back",
    "published": "everything was applied",
    "rolled-back": "everything was taken back, but not all temporary files could be removed",
    "not-fully-published": "nothing had been exchanged, but not all temporary files could be removed",
}


def recovery_error(
    folders: Folders, failure: str, state: State, problems: dict[str, str], purpose: Purpose, tools: Tools
) -> ApplyError:
    """Write the recovery file, and the error that names it and says what to do. Both say all there is to know."""
    recovery = Recovery(
        schema_version=RECOVERY_VERSION,
        time=tools.now,
        run=purpose.run,
        action=purpose.action,
        failure=failure,
        state=state,
        failures=tuple(f"{path}: {reason}" for path, reason in problems.items()),
        leftovers=find_leftovers(folders, map(parent_of, problems), tools.token),
    )
    lines = [failure, f"{_SAYS[state]} ({state}):", *recovery.failures]
    lines += [_write(folders, recovery), *explain(folders.root, recovery.leftovers)]
    return ApplyError("\n  ".join(lines))


def _write(folders: Folders, recovery: Recovery) -> str:
    """The line that names the recovery file, or says why there is none."""
    name = f"{RECOVERY_PREFIX}{recovery.time:%Y%m%dT%H%M%S%fZ}.json"
    try:
        descriptor = os.open(name, _NEW, 0o644, dir_fd=folders.hold(""))
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(canonical_json(recovery)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return f"the recovery file {name} could not be written ({error.strerror}); keep this message"
    return f"this account is kept in {folders.root / name}"
