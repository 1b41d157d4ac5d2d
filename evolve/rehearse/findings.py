"""What the rows and requests of a rehearsal say of the run that would be paid. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from bench.config import ArmSpec
from bench.results import Row

# What a rehearsal cannot but come to: nothing is solved, and a review without findings misses them.
_EXPECTED = frozenset({None, "oracle-failed", "verify-failed", "no-work-produced"})
# what a session's missing result comes to
_UNWRITTEN = frozenset({"review-invalid", "plan-missing"})
# as shells and Python say it
_NOT_STARTED = (": not found", ": command not found", "can't open file", "No module named")
_SHOWN = 300
_WORDS = {
    "session-error": "the agent's session broke",
    "provider-error": "the agent and the gateway do not understand each other",
    "skill-not-invoked": "the model asked for the skills, and nothing proves that one was used",
    "review-invalid": "the agent's review did not arrive as it was written",
    "plan-missing": "the agent's plan did not arrive",
    "agent-timeout": "the session did not end in time",
    "boundary-violated": "the agent changed what it may not change",
    "skill-changed": "the agent changed a skill",
}


class Finding(Struct, frozen=True):
    """Something that would go wrong (`fault`), or that a person should look at (`note`)."""

    level: Literal["fault", "note"]
    about: str
    said: str


def findings_of(
    rows: Sequence[Row], printed: Mapping[str, str], unwritten: Sequence[Finding] = ()
) -> list[Finding]:
    """What went wrong in the cells, each thing once however many cells it happened in; `printed` is what the visible
    checks printed, by task. Where a result is known to be `unwritten`, its absence is not told twice.
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        kind = _kind(row)
        if kind is not None and not (unwritten and kind in _UNWRITTEN):
            found.setdefault((kind, row.outcome.detail), []).append(row)
    cells = [_of_cells(kind, detail, those) for (kind, detail), those in found.items()]
    return [*cells, *unwritten, *_of_checks(rows, printed)]


def artifact_findings(
    rows: Sequence[Row], arms: Mapping[str, ArmSpec], answers: Mapping[tuple[str, str], str]
) -> list[Finding]:
    """A fault for every session that was told to write its result and left none, once for each session of an arm;
    `answers` is what the model was told last, by cell and session.
    """
    found: dict[str, Finding] = {}
    for row in rows:
        if row.outcome.kind not in _EXPECTED | _UNWRITTEN:
            continue
        for name, spec in arms[row.identity.arm].ordered_sessions():
            about = f"artifact of {row.identity.arm}/{name}"
            if name in row.sessions and f"{spec.kind}-{name}" not in row.artifacts:
                said = answers.get(("/".join(map(str, row.key)), name), "nothing")[-_SHOWN:]
                told = f"the model asked for its {spec.kind} to be written, and none arrived; the agent said: {said}"
                found.setdefault(about, Finding("fault", about, told))
    return list(found.values())


def effort_finding(effort: str | None, requests: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """A fault if no request carries the effort, or the budget for thinking that some agents send in its place."""
    asked = list(requests)
    if effort is None or not asked or any(_carries(each, effort) for each in asked):
        return []
    return [
        Finding(
            "fault", "effort", f"effort={effort} is in none of {len(asked)} requests: it would be ignored"
        )
    ]


def _kind(row: Row) -> str | None:
    if row.usage.requests == 0:
        return "silent"
    return None if row.outcome.kind in _EXPECTED else row.outcome.kind


def _of_cells(kind: str, detail: str, rows: Sequence[Row]) -> Finding:
    first = rows[0].identity
    cell = f"{first.task}/{first.arm}/{first.repeat}"
    others = f" and {len(rows) - 1} more cells" if len(rows) > 1 else ""
    words = "the agent ended without asking its model" if kind == "silent" else _WORDS.get(kind, kind)
    return Finding("fault", f"{cell}{others}", f"{words}: {detail}")


def _of_checks(rows: Sequence[Row], printed: Mapping[str, str]) -> list[Finding]:
    """Visible checks that fail on a change of nothing; a fault where they did not even start."""
    failed = dict.fromkeys(row.identity.task for row in rows if row.outcome.verify_passed is False)
    return [_of_check(task, printed.get(task, "")) for task in failed]


def _of_check(task: str, printed: str) -> Finding:
    about, last = f"verify of {task}", printed.strip()[-_SHOWN:]
    if any(word in printed for word in _NOT_STARTED):
        return Finding("fault", about, f"the visible check cannot be run: {last}")
    return Finding("note", about, f"the visible check fails on the unchanged working copy: {last}")


def _carries(value: Any, effort: str) -> bool:
    if isinstance(value, dict):
        own = effort in (value.get("effort"), value.get("reasoning_effort")) or "budget_tokens" in value
        return own or any(_carries(each, effort) for name, each in value.items() if name in _NESTED)
    return False


_NESTED = frozenset({"thinking", "reasoning", "output_config"})
