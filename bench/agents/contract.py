"""The session contract: one JSON object in, JSON lines out (docs/agents.md). Spoken by `rulebook` and `command`."""

from collections import Counter
from typing import Any, TypeGuard

import msgspec

from bench.agents.protocol import SessionRequest
from bench.digest import canonical_json
from bench.measured import SessionReport, Usage
from bench.sandbox import Layout
from bench.text import printable

LONGEST_LINE = 1024 * 1024
LONGEST_DETAIL = 2000
LONGEST_NAME = 128  # of an event's type, or of a skill, in characters
MOST_NAMES = 1000  # different types of events, or skills, that a stream may name
MOST_USED = 10**12  # of tokens or dollars in one event: more is no measurement, and its sums fit no row
_STATUSES = {"completed", "gave_up", "error"}
_TOKENS = {
    "input_tokens": "input",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write",
    "output_tokens": "output",
    "reasoning_tokens": "reasoning",
    "turns": "turns",
    "requests": "requests",
}


def session_input(request: SessionRequest, layout: Layout) -> bytes:
    """What a session reads on stdin. The task's id is not told: an agent must not recognise its exam."""
    return canonical_json(
        {
            "schema": "session/1",
            "session": request.name,
            "kind": request.kind,
            "prompt": request.prompt,
            "paths": {
                "workspace": layout.workspace,
                "output": layout.output,
                "home": layout.home,
                "artifact": request.artifact,
                "plan": request.plan,
            },
            "skills": [{"name": skill.name, "path": skill.path} for skill in request.skills],
            "tools": [
                {"name": tool.name, "kind": tool.kind, "path": tool.path, "command": list(tool.command)}
                for tool in request.tools
            ],
            "effort": request.effort,
            "model": request.model,
            "seed": request.seed,
        }
    )


class ContractParser:
    """Reads the contract's JSON lines; what does not follow it makes the session an error with a reason."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._fault: str | None = None
        self._result: tuple[str, str] | None = None
        self._skills: dict[str, bool] = {}
        self._usage: Usage | None = None
        self._events: Counter[str] = Counter()
        self._lines = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes; lines over 1 MiB are a fault, and nothing after the first fault counts."""
        if self._fault is not None:
            return
        first, *others = data.split(b"\n")
        self._rest += first
        for line in others:
            self._line(bytes(self._rest))
            self._rest = bytearray(line)
        if len(self._rest) > LONGEST_LINE:
            self._line(bytes(self._rest))
            self._rest.clear()

    def close(self, code: int | None) -> SessionReport:
        """The report of the whole stream."""
        if self._rest:
            self._line(bytes(self._rest))
        status, detail = self._ending(code)
        return SessionReport(
            status=status,  # type: ignore[arg-type]
            detail=printable(detail)[:LONGEST_DETAIL],
            usage=self._usage or Usage(),
            skills_used=tuple(sorted(name for name, good in self._skills.items() if good)),
            events=dict(sorted(self._events.items())),
        )

    def _ending(self, code: int | None) -> tuple[str, str]:
        if self._fault is not None:
            return "error", f"the agent's output breaks the session contract: {self._fault}"
        if self._result is None:
            return "error", f"the agent ended without a result event (exit code {code})"
        if code != 0 and self._result[0] != "error":
            return "error", f"the agent ended as {self._result[0]}, then exited with {code} instead of 0"
        return self._result

    def _fail(self, fault: str) -> None:
        self._fault = f"line {self._lines} {fault}"

    def _line(self, line: bytes) -> None:
        if self._fault is not None:
            return
        self._lines += 1
        if len(line) > LONGEST_LINE:
            self._fail(f"is longer than {LONGEST_LINE} bytes")
        elif line.strip():
            self._decoded(line)

    def _decoded(self, line: bytes) -> None:
        try:
            event = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._fail(f"is not JSON: {line[:120].decode('utf-8', 'replace')!r}")
            return
        if not isinstance(event, dict) or not _is_name(event.get("type")):
            self._fail('is not an object with a short "type"')
            return
        self._events[event["type"]] += 1
        self._event(event)
        if max(len(self._events), len(self._skills)) > MOST_NAMES:
            self._fail(f"is the first beyond {MOST_NAMES} different types of events or names of skills")

    def _event(self, event: dict[str, Any]) -> None:
        if self._result is not None:
            self._fail("follows the result event, which must be the last")
        elif event["type"] == "result":
            self._take_result(event)
        elif event["type"] == "usage":
            usage = _usage(event)
            self._usage = sum_usage([self._usage, usage]) if self._usage else usage
        elif event["type"] == "skill":
            self._take_skill(event)

    def _take_skill(self, event: dict[str, Any]) -> None:
        name = event.get("name")
        if not _is_name(name):
            self._fail('is a skill event without a short "name"')
            return
        self._skills[name] = self._skills.get(name, False) or event.get("ok") is True

    def _take_result(self, event: dict[str, Any]) -> None:
        status, message = event.get("status"), event.get("message")
        if not isinstance(status, str) or status not in _STATUSES:
            self._fail(f"is a result whose status is none of {', '.join(sorted(_STATUSES))}")
            return
        self._result = (status, "" if message is None else str(message))


def sum_usage(parts: list[Usage]) -> Usage:
    """The sum of several usages; a number that one of them does not know is unknown in the sum."""
    if not parts:
        return Usage()
    sums = {
        name: None
        if any(getattr(part, name) is None for part in parts)
        else sum(getattr(part, name) for part in parts)
        for name in (*_TOKENS.values(), "cost_usd")
    }
    sources = {part.source for part in parts}
    return Usage(**sums, source=sources.pop() if len(sources) == 1 else "agent")


def _usage(event: dict[str, Any]) -> Usage:
    counts = {name: _count(event.get(key)) for key, name in _TOKENS.items()}
    return Usage(**counts, cost_usd=_cost(event.get("cost_usd")), source="agent")


def _is_name(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= LONGEST_NAME


def _count(value: Any) -> int | None:
    """A non-negative integer, else unknown (booleans, text, fractions and absence alike)."""
    return (
        value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_USED else None
    )


def _cost(value: Any) -> float | None:
    """A non-negative number, else unknown."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MOST_USED else None
