"""Collects everything that is wrong with a suite, so that a person sees it all at once."""

from collections.abc import Callable
from typing import TypeVar

from bench.errors import SuiteError
from bench.suite.files import Refused
from bench.text import printable

Result = TypeVar("Result")


class Problems:
    """The problems found so far, each one line that begins with its file and line."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, place: str, text: str) -> None:
        """Note one problem at `place` (`file:line`, and the task if it is known)."""
        self._found.append(f"{place}: {text}" if place else text)

    def attempt(self, place: str, action: Callable[[], Result]) -> Result | None:
        """What `action` returns; None, with its problems noted, when it refuses.

        An empty `place` is for an action whose problems say themselves where they are.
        """
        try:
            return action()
        except Refused as refusal:
            for problem in refusal.problems:
                self.add(place, problem)
            return None

    def require(self, result: Result | None, file: str) -> Result:
        """`result`; SuiteError with every problem of `file` if there is any, which a missing result implies."""
        if result is None or self._found:
            found = list(dict.fromkeys(map(printable, self._found)))
            count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
            raise SuiteError("\n".join([f"{file} cannot be used: {count}", *(f"  {line}" for line in found)]))
        return result
