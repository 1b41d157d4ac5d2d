"""The event stream of Claude Code (`--output-format stream-json`)."""

from typing import Any

from bench.agents.lines import EventLines, count, part, parts, sum_counts
from bench.measured import SessionReport, Usage
from bench.text import printable

_LONGEST_DETAIL = 2000
_MOST_CALLS = 10_000
_LONGEST_NAME = 128
# The agent's own limits: it has failed the task, nothing broke.
_OWN_LIMITS = {"error_max_turns", "error_max_budget_usd"}
_KINDS = {
    "input": "inputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
    "output": "outputTokens",
}


class ClaudeStream:
    """Reads the events. A skill was used if a call of the tool `Skill` was followed by its result without an error.

    Only the last result counts: there is one more for every task that went on in the background, each with the sums
    so far.
    """

    def __init__(self) -> None:
        self._lines = EventLines()
        self._asked: dict[str, str] = {}
        self._used: set[str] = set()
        self._result: dict[str, Any] | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        for event in self._lines.feed(data):
            self._event(event)

    def close(self, code: int | None) -> SessionReport:
        """The report. The exit code is not asked: it is 0 for some sessions that broke, and 1 for some that did not."""
        for event in self._lines.close():
            self._event(event)
        status, detail = self._ending(code)
        return SessionReport(
            status=status,  # type: ignore[arg-type]
            detail=printable(detail)[:_LONGEST_DETAIL],
            usage=_usage(self._result),
            skills_used=tuple(sorted(self._used)),
            events=self._lines.counts,
        )

    def _event(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "assistant":
                for block in parts(event, "message", "content"):
                    self._take_call(block)
            case "user":
                for block in parts(event, "message", "content"):
                    self._take_result(block)
            case "result":
                self._result = event

    def _take_call(self, block: dict[str, Any]) -> None:
        call, skill = block.get("id"), part(block, "input", "skill")
        known = isinstance(call, str) and isinstance(skill, str) and len(skill) <= _LONGEST_NAME
        if known and block.get("name") == "Skill" and len(self._asked) < _MOST_CALLS:
            self._asked[str(call)] = str(skill)

    def _take_result(self, block: dict[str, Any]) -> None:
        if block.get("type") != "tool_result":
            return
        skill = self._asked.pop(str(block.get("tool_use_id")), None)
        if skill is not None and block.get("is_error") is not True:
            self._used.add(skill.removeprefix("/"))

    def _ending(self, code: int | None) -> tuple[str, str]:
        result = self._result
        if result is None:
            return "error", f"Claude Code ended without a result event (exit code {code})"
        subtype, said = str(result.get("subtype")), _said(result)
        if subtype in _OWN_LIMITS:
            return "gave_up", f"{subtype}: {said}"
        if subtype != "success" or result.get("is_error") is not False:
            status = result.get("api_error_status")
            about = f"{subtype}, {result.get('terminal_reason')}" + (f", {status}" if status else "")
            return "error", f"Claude Code says that it failed ({about}): {said}"
        return "completed", ""


def _said(result: dict[str, Any]) -> str:
    errors = result.get("errors")
    listed = "; ".join(str(each) for each in errors) if isinstance(errors, list) else ""
    return listed or str(result.get("result") or "")


def _usage(result: dict[str, Any] | None) -> Usage:
    """The agent's own account: over all models, subagents included, which `usage` of the event is not."""
    models = part(result, "modelUsage")
    if result is None or not isinstance(models, dict) or not models:
        return Usage()
    counts = {
        kind: sum_counts([count(part(each, name)) for each in models.values()])
        for kind, name in _KINDS.items()
    }
    cost = result.get("total_cost_usd")
    return Usage(
        **counts,
        cost_usd=float(cost)
        if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0
        else None,
        turns=count(result.get("num_turns")),
        source="agent",
    )
