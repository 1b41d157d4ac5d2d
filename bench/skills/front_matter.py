"""Reads the front matter of a SKILL.md: the part that tells an agent when to use the skill."""

import re
from typing import Any

from bench.suite import Refused, read_yaml

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FENCE = "---"


def check_front_matter(text: str, skill: str, file: str) -> None:
    """Refused unless `text` begins with YAML between `---` lines that holds the skill's own `name` and a
    `description`. Other keys are the agent's business. Each problem begins with `file` and the line.
    """
    matter = read_yaml(_front_matter(text, file), file)
    if not isinstance(matter.value, dict):
        raise Refused(f"{file}:2: the front matter must hold `name: {skill}` and `description: …`")
    checks = {"name": _name_problem, "description": _description_problem}
    found = {key: check(matter.value.get(key), skill) for key, check in checks.items()}
    problems = [f"{matter.place((key,))}: {problem}" for key, problem in found.items() if problem]
    if problems:
        raise Refused(*problems)


def name_problem(name: str) -> str | None:
    """What is wrong with the name of a skill, or None."""
    if len(name) <= LONGEST_NAME and _NAME.fullmatch(name):
        return None
    return f"is no name of a skill: use lower-case letters, digits and single hyphens, at most {LONGEST_NAME}"


def _front_matter(text: str, file: str) -> str:
    """The YAML between the first two fences, with its lines where they are in the file."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == _FENCE]
    if not fences or fences[0] != 0:
        raise Refused(f"{file}:1: must begin with front matter: `---`, `name: …`, `description: …`, `---`")
    if len(fences) == 1:
        raise Refused(f"{file}:1: the front matter has no end: a second line `---` is missing")
    return "\n".join(["", *lines[1 : fences[1]]])


def _name_problem(value: Any, skill: str) -> str | None:
    if value == skill:
        return None
    return f"the front matter must say `name: {skill}`, as the folder is called" + (
        "" if value is None else f", not {value!r}"
    )


def _description_problem(value: Any, _skill: str) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return "the front matter must have a `description` that says what the skill does and when to use it"
    if len(value) > LONGEST_DESCRIPTION:
        return f"the description has {len(value)} characters, more than the {LONGEST_DESCRIPTION} that agents take"
    return None
