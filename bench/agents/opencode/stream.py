"""The event stream of opencode (`run --format json`). It has no last event: the end is that of the process."""

from typing import Any

from bench.agents.lines import EventLines, count, part, sum_counts
from bench.measured import SessionReport, Usage
from bench.text import printable

_LONGEST_DETAIL = 2000
_LONGEST_NAME = 128
_MOST_SKILLS = 1000


class OpenCodeStream:
    """Reads the events. A skill was used if a call of the tool `skill` completed; the last step says how it ended.

    What its subagents used, and their tools, are in no event.
    """

    def __init__(self) -> None:
        self._lines = EventLines()
        self._used: set[str] = set()
        self._steps: list[dict[str, int | None]] = []
        self._reason: str | None = None
        self._error: str | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        for event in self._lines.feed(data):
            self._event(event)

    def close(self, code: int | None) -> SessionReport:
        """The report of the whole stream."""
        for event in self._lines.close():
            self._event(event)
        status, detail = self._ending(code)
        return SessionReport(
            status=status,  # type: ignore[arg-type]
            detail=printable(detail)[:_LONGEST_DETAIL],
            usage=self._usage(),
            skills_used=tuple(sorted(self._used)),
            events=self._lines.counts,
        )

    def _event(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "tool_use":
                self._take_call(event)
            case "step_start":
                self._reason = self._error = None  # after a failed request, it tries again
            case "step_finish":
                self._reason = str(part(event, "part", "reason"))
                self._take_usage(part(event, "part", "tokens"))
            case "error":
                self._error = _said(event.get("error"))

    def _take_call(self, event: dict[str, Any]) -> None:
        state = part(event, "part", "state")
        name = part(state, "input", "name")
        good = part(event, "part", "tool") == "skill" and part(state, "status") == "completed"
        if good and isinstance(name, str) and len(name) <= _LONGEST_NAME and len(self._used) < _MOST_SKILLS:
            self._used.add(name)

    def _take_usage(self, tokens: Any) -> None:
        """Its `output` is without the reasoning tokens, ours with them."""
        reasoning = count(part(tokens, "reasoning"))
        step = {
            "input": count(part(tokens, "input")),
            "cache_read": count(part(tokens, "cache", "read")),
            "cache_write": count(part(tokens, "cache", "write")),
            "output": sum_counts([count(part(tokens, "output")), reasoning]),
            "reasoning": reasoning,
        }
        self._steps = [_added(self._steps[0], step)] if self._steps else [step]

    def _usage(self) -> Usage:
        turns = self._lines.counts.get("step_finish")
        return Usage(**self._steps[0], turns=turns, source="agent") if self._steps else Usage()

    def _ending(self, code: int | None) -> tuple[str, str]:
        if self._error is not None:
            return "error", f"opencode says that it failed: {self._error}"
        if self._reason is None:
            return "error", f"opencode ended in the middle of a step (exit code {code})"
        if code != 0:
            return "error", f"opencode ended its last step, then exited with {code} instead of 0"
        if self._reason == "length":
            return "gave_up", "the model's last answer was cut off at its length"
        if self._reason != "stop":
            return "error", f"opencode ended with a step whose reason is {self._reason!r}, not 'stop'"
        return "completed", ""


def _said(error: Any) -> str:
    message, status = part(error, "data", "message"), part(error, "data", "statusCode")
    named = str(part(error, "name")) + (f" {status}" if status is not None else "")
    return f"{named}: {message}"


def _added(total: dict[str, int | None], step: dict[str, int | None]) -> dict[str, int | None]:
    return {name: sum_counts([total[name], value]) for name, value in step.items()}
