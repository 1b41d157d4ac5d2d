"""A process that waits until it is under its limits, and only then becomes the command."""

import re
import secrets
from collections.abc import Mapping

from msgspec.structs import replace

from bench.errors import SandboxError
from bench.measured import End
from bench.sandbox.process import NOTHING, Finished

# The first line of its input opens the gate; a shell takes it byte by byte and leaves the rest to the command.
_OPENING = b"\n"
_GATE = "read -r _ || exit\n"
_SHELL = ("/bin/sh", "-c")
_NOT_STARTED = (126, 127)  # how a shell exits that cannot become a command
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Gated:
    """Starts a command in two steps, as limits cannot be set while a process is being started. A shell is the
    gate: it starts in a tenth of the time of an interpreter, and is gone once the command runs.
    """

    def __init__(self, arguments: tuple[str, ...], environment: Mapping[str, str], stdin: bytes) -> None:
        strange = [name for name in environment if not _NAME.fullmatch(name)]
        if strange:
            raise SandboxError(f"a shell cannot hand on an environment variable called {strange[0]!r}")
        self._label = f"gate-{secrets.token_hex(8)}"  # begins each complaint of the shell's own
        self._name = arguments[0]
        self.argv = _behind_gate(arguments, self._label)
        self.stdin = _OPENING + stdin

    def judge(self, finished: Finished) -> Finished:
        """What became of it, once it ended: whether the command was started at all."""
        said = finished.stderr.text()
        if finished.status not in _NOT_STARTED or not said.startswith(self._label):
            return finished
        reason = said.splitlines()[0].rpartition(": ")[2]
        detail = f"cannot start {self._name!r}: {reason}"
        return replace(finished, end=End.SPAWN_FAILED, status=None, detail=detail, stderr=NOTHING)


def _behind_gate(arguments: tuple[str, ...], label: str) -> tuple[str, ...]:
    """A shell's own command gets the gate as its first line; any other is what a shell becomes."""
    if arguments[:2] == _SHELL and len(arguments) > len(_SHELL):
        shell, option, script, *others = arguments
        return (shell, option, _GATE + script, *others)
    return (*_SHELL, f'{_GATE}exec "$@"', label, *arguments)
