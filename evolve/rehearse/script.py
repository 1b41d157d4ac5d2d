"""The generic replies of a rehearsal: use the skills, leave the artifact, end. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bench.config import ArmSpec, SessionSpec
from evolve.rehearse.gestures import Gestures

_USAGE = {"input": 100, "cache_read": 0, "cache_write": 0, "output": 10}
_REVIEW = json.dumps({"schema_version": 1, "verdict": "approve", "findings": []})
# where each kind of session leaves its result, and one that it may be
_ARTIFACTS = {
    "review": ("review.json", _REVIEW),
    "plan": ("plan.md", "A rehearsal: nothing is planned.\n"),
    "work": ("notes.md", "A rehearsal: nothing was done.\n"),
}


def rehearsal_script(
    arms: Mapping[str, ArmSpec], gestures: Gestures, *, skills: str, output: str
) -> dict[str, Any]:
    """A script (schemas/script.schema.json) for all cells of these arms; `skills` and `output` are folders as the
    cells see them.
    """
    rules = []
    for name, arm in arms.items():
        for session, spec in arm.ordered_sessions():
            replies = _replies(arm, spec, gestures, skills, output)
            when = {"cell": f"*/{name}/*", "session": session}
            rules += [{"when": {**when, "turn": turn}, "reply": reply} for turn, reply in enumerate(replies)]
    return {"schema": "script/1", "replies": [*rules, {"reply": _reply(text="Done.")}]}


def proposing_script(gestures: Gestures, files: Mapping[str, str]) -> dict[str, Any]:
    """A script for a session that writes these files, one after the other."""
    written = [_reply(tools=[gestures.put(path, content)]) for path, content in files.items()]
    rules = [{"when": {"turn": turn}, "reply": reply} for turn, reply in enumerate(written)]
    return {"schema": "script/1", "replies": [*rules, {"reply": _reply(text="Done.")}]}


def _replies(
    arm: ArmSpec, spec: SessionSpec, gestures: Gestures, skills: str, output: str
) -> Sequence[dict[str, Any]]:
    artifact, content = _ARTIFACTS[spec.kind]
    used = [gestures.use(skill, skills) for skill in sorted(spec.skills or arm.skills)]
    written = _reply(tools=[gestures.put(f"{output}/{artifact}", content)])
    return [*([_reply(tools=used)] if used else []), written]


def _reply(*, text: str = "", tools: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {"text": text, "tools": list(tools), "usage": _USAGE}
