"""The event stream of pi (`--mode json`). Its exit code is 0 whatever happened: the last message says how it ended."""

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

from bench.agents.lines import EventLines, count, part, sum_counts
from bench.agents.protocol import SkillPlace
from bench.measured import SessionReport, Usage
from bench.text import printable

_LONGEST_DETAIL = 2000
_MOST_CALLS = 10_000
_KINDS = {"input": "input", "cache_read": "cacheRead", "cache_write": "cacheWrite", "output": "output"}


class PiStream:
    """Reads the events. pi has no tool for skills: one was used if its `SKILL.md` was read, from the beginning, with
    the tool `read`, and that did not fail.
    """

    def __init__(self, skills: Iterable[SkillPlace], skill_root: str) -> None:
        self._lines = EventLines()
        named = tuple(skills)
        self._files: Mapping[str, str] = {
            place: skill.name
            for skill in named
            # it may be named as it was listed, or from the working copy
            for place in (f"{skill.path}/SKILL.md", f"{skill_root}/{skill.name}/SKILL.md")
        }
        self._asked: dict[str, str] = {}
        self._used: set[str] = set()
        self._usage: dict[str, int | None] = {}
        self._answers = 0
        self._last: Any = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        for event in self._lines.feed(data):
            self._event(event)

    def close(self, code: int | None) -> SessionReport:
        """The report of the whole stream."""
        for event in self._lines.close():
            self._event(event)
        status, detail = self._ending(code)
        usage = Usage(**self._usage, turns=self._answers, source="agent") if self._usage else Usage()
        return SessionReport(
            status=status,  # type: ignore[arg-type]
            detail=printable(detail)[:_LONGEST_DETAIL],
            usage=usage,
            skills_used=tuple(sorted(self._used)),
            events=self._lines.counts,
        )

    def _event(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "tool_execution_start":
                self._take_call(event)
            case "tool_execution_end":
                skill = self._asked.pop(str(event.get("toolCallId")), None)
                if skill is not None and event.get("isError") is False:
                    self._used.add(skill)
            case "message_end" if part(event, "message", "role") == "assistant":
                self._take_answer(event["message"])
            case "turn_start":
                self._last = None

    def _take_call(self, event: dict[str, Any]) -> None:
        path = part(event, "args", "path")
        if event.get("toolName") != "read" or not isinstance(path, str):
            return
        skill = self._files.get(posixpath.normpath(path))
        from_the_start = part(event, "args", "offset") in (None, 0, 1)
        if skill is not None and from_the_start and len(self._asked) < _MOST_CALLS:
            self._asked[str(event.get("toolCallId"))] = skill

    def _take_answer(self, message: dict[str, Any]) -> None:
        self._last = message
        self._answers += 1
        said = {name: count(part(message, "usage", key)) for name, key in _KINDS.items()}
        self._usage = {name: sum_counts([self._usage.get(name, 0), value]) for name, value in said.items()}

    def _ending(self, code: int | None) -> tuple[str, str]:
        last, reason = self._last, part(self._last, "stopReason")
        if last is None:
            return "error", f"pi ended in the middle of a turn (exit code {code})"
        if reason in ("error", "aborted"):
            return "error", f"pi says that it failed: {part(last, 'errorMessage')}"
        if code != 0:
            return "error", f"pi gave its last answer, then exited with {code} instead of 0"
        if reason == "length":
            return "gave_up", "the model's last answer was cut off at its length"
        # what is no answer in the model's protocol, it takes for one without content
        whole = reason == "stop" and part(last, "content")
        return (
            ("completed", "")
            if whole
            else ("error", f"pi ended with an empty answer, or one that stopped for {reason!r}")
        )
