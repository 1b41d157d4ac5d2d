"""Interrupts that wait: the transaction stops between two steps, never in the middle of one."""

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

from evolve.apply.model import Step

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None


class Interrupts:
    """The observer of a command: SIGINT and SIGTERM become a KeyboardInterrupt at the next step that can be undone.

    Once everything is verified and recorded, or is being taken back, that is finished first; the interrupt is
    raised when the work is done.
    """

    def __init__(self) -> None:
        self._asked = False
        self._before: list[_Handler] = []

    def __call__(self, step: Step) -> None:
        """Raise KeyboardInterrupt if one is waiting and `step` is reversible."""
        if self._asked and step.reversible:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        self._before = [signal.signal(number, self._note) for number in _SIGNALS]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in zip(_SIGNALS, self._before, strict=True):
            signal.signal(number, handler)
        if self._asked and kind is None:
            raise KeyboardInterrupt

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
