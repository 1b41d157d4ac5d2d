"""A process that waits until it is under its limits, and only then becomes the command."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from bench.sandbox.descriptors import Descriptors, zero_ended
from bench.sandbox.process import Finished
from bench.sandbox.protocol import End

_PROGRAM = str(Path(__file__).with_name("gate.py"))


class Gated:
    """Starts a command in two steps, as limits cannot be set while a process is being started."""

    def __init__(
        self, descriptors: Descriptors, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> None:
        entries = (f"{name}={value}" for name, value in environment.items())
        self._command = zero_ended((str(len(arguments)), *arguments, *entries))
        self._name = arguments[0]
        self._descriptors = descriptors
        self._entrance, gate_end = descriptors.to_child()
        self._status, status_end = descriptors.from_child()
        self.program = (sys.executable, "-I", "-S", _PROGRAM, str(gate_end), str(status_end))

    def enter(self) -> None:
        """Let the started program become the command."""
        self._descriptors.release()
        self._descriptors.send(self._entrance, self._command)

    def judge(self, finished: Finished) -> Finished:
        """What became of it, once it ended: whether the command was started at all."""
        failure = b"" if finished.status is None else os.read(self._status, 16)
        if not failure:
            return finished
        detail = f"cannot start {self._name!r}: {os.strerror(int(failure))}"
        return replace(finished, end=End.SPAWN_FAILED, status=None, detail=detail)
