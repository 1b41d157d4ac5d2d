"""The event stream of codex (`exec --json`)."""

import re
from collections.abc import Sequence
from typing import Any

from bench.agents.lines import EventLines, count, part
from bench.agents.protocol import SkillPlace
from bench.measured import SessionReport, Usage
from bench.text import printable

_LONGEST_DETAIL = 2000
_FILE = "SKILL.md"
# commands that show a file
_SHOWING = re.compile(r"\b(?:cat|sed|head|tail|less|more|nl|bat|awk|rg|grep)\b")


class CodexStream:
    """Reads the events. Codex has no tool for skills: one was used if a command that shows its file ended well, and
    printed what stands in the file's head.
    """

    def __init__(self, skills: Sequence[SkillPlace]) -> None:
        self._lines = EventLines()
        self._skills = tuple(skills)
        self._used: set[str] = set()
        self._turns = 0
        self._end: dict[str, Any] | None = None
        self._error = ""

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        for event in self._lines.feed(data):
            self._event(event)

    def close(self, code: int | None) -> SessionReport:
        """The report."""
        for event in self._lines.close():
            self._event(event)
        status, detail = self._ending(code)
        return SessionReport(
            status=status,  # type: ignore[arg-type]
            detail=printable(detail)[:_LONGEST_DETAIL],
            usage=_usage(self._end),
            skills_used=tuple(sorted(self._used)),
            events=self._lines.counts,
        )

    def _event(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "item.completed":
                self._take_item(part(event, "item"))
            case "turn.completed" | "turn.failed":
                self._end = event
            case "error":
                self._error = str(event.get("message"))

    def _take_item(self, item: Any) -> None:
        if part(item, "type") != "command_execution" or part(item, "exit_code") != 0:
            return
        command, output = str(part(item, "command")), str(part(item, "aggregated_output"))
        if not _SHOWING.search(command):
            return
        for skill in self._skills:
            if f"{skill.name}/{_FILE}" in command and f"name: {skill.name}" in output:
                self._used.add(skill.name)

    def _ending(self, code: int | None) -> tuple[str, str]:
        if self._end is None:
            told = f": {self._error}" if self._error else ""
            return "error", f"codex ended without the end of its turn (exit code {code}){told}"
        if self._end["type"] == "turn.failed":
            return "error", f"codex says that it failed: {part(self._end, 'error', 'message') or self._error}"
        return "completed", ""


def _usage(end: dict[str, Any] | None) -> Usage:
    """The agent's own account, over all requests of its turn; a turn that failed has none."""
    told = part(end, "usage")
    if not isinstance(told, dict):
        return Usage()
    whole, cached = count(told.get("input_tokens")), count(told.get("cached_input_tokens"))
    known = whole is not None and cached is not None and cached <= whole
    return Usage(
        input=whole - cached if known and whole is not None and cached is not None else None,
        cache_read=cached,
        output=count(told.get("output_tokens")),
        reasoning=count(told.get("reasoning_output_tokens")),
        source="agent",
    )
