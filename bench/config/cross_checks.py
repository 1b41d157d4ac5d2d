"""What a schema cannot say: how the parts of a configuration must fit each other."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from bench.config.complaint import Complaint, KeyPath
from bench.text import did_you_mean

_MUTABLE = re.compile(r"(?:^|[-/@:])(?:latest|auto)$", re.IGNORECASE)


def arm_complaints(arms: Mapping[str, Any], skills: Mapping[str, Any]) -> Iterator[Complaint]:
    """Complaints on arms that name a skill or an incumbent that is not there, or one that differs."""
    for name, arm in arms.items():
        yield from _skill_complaints(name, arm, skills)
        yield from _session_complaints(name, arm)
        yield from _candidate_complaints(name, arm, arms)


def model_complaints(model: Mapping[str, Any], where: KeyPath = ("model",)) -> Iterator[Complaint]:
    """A complaint on a model id that the provider may move to another model."""
    identity = model["id"]
    if identity and _MUTABLE.search(identity):
        yield Complaint(
            (*where, "id"),
            f"{identity!r} may mean another model tomorrow; give the exact, dated id that the provider lists",
        )


def budget_complaints(budget: Mapping[str, Any], campaign: str | None) -> Iterator[Complaint]:
    """Complaints on a deadline that no calendar has, and on limits of a campaign that is not named."""
    deadline = budget["deadline"]
    if deadline is not None and not _is_time(deadline):
        yield Complaint(("budget", "deadline"), f"{deadline!r} is no time of any day")
    limited = [unit for unit, most in budget["campaign"].items() if most is not None]
    if campaign is None and limited:
        yield Complaint(
            ("budget", "campaign", limited[0]), "is a limit of a campaign, but `campaign` names none"
        )


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _skill_complaints(name: str, arm: Mapping[str, Any], skills: Mapping[str, Any]) -> Iterator[Complaint]:
    if arm["family"] is not None:
        return
    for index, skill in enumerate(arm["skills"]):
        if skill not in skills:
            known = f"; known: {', '.join(sorted(skills)) or 'none'}"
            yield Complaint(
                ("arms", name, "skills", index),
                f"there is no skill {skill!r} under `skills`{did_you_mean(skill, skills)}{known}",
            )


def _session_complaints(name: str, arm: Mapping[str, Any]) -> Iterator[Complaint]:
    for session, spec in arm["sessions"].items():
        for index, skill in enumerate(spec["skills"]):
            if skill not in arm["skills"]:
                known = f"; known: {', '.join(sorted(arm['skills'])) or 'none'}"
                yield Complaint(
                    ("arms", name, "sessions", session, "skills", index),
                    f"the arm has no skill {skill!r}{did_you_mean(skill, arm['skills'])}{known}",
                )


def _candidate_complaints(name: str, arm: Mapping[str, Any], arms: Mapping[str, Any]) -> Iterator[Complaint]:
    path = ("arms", name, "candidate_of")
    incumbents = sorted(each for each, other in arms.items() if other["role"] == "incumbent")
    target = arm["candidate_of"]
    if arm["role"] != "candidate":
        if target is not None:
            yield Complaint(path, f"must be null, because the arm's role is {arm['role']}")
    elif target not in incumbents:
        near = did_you_mean(target, incumbents) if target else ""
        known = ", ".join(incumbents) or "none"
        yield Complaint(
            path, f"must name an incumbent arm, not {target or 'null'}{near}; incumbents: {known}"
        )
    elif sorted(arms[target]["skills"]) != sorted(arm["skills"]):
        yield Complaint(
            ("arms", name, "skills"),
            f"must be the skills of the incumbent arm {target}: {arms[target]['skills']}",
        )
