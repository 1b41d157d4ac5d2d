"""The files of a new project, as text. Pure."""

import json
from collections.abc import Mapping

_SKILL = """\
---
name: fix-work
description: Repair a defect or finish a feature in a working copy, and see it work. Use when asked to change code so that it behaves as described.
---

# Fix work

1. Read the task twice, and write down each behaviour that it asks for.
2. Find the cause before you change anything: see it fail once.
3. Change as little as possible. Leave tests, configuration and names as they are, unless the task is about them.
4. Run the tests that are there, and the case that the task describes.
"""
_ARMS = """\
# One work session with the skill, with a candidate for it, and without any.
no_skill:
  role: comparator
  skills: []
  family: null
  candidate_of: null
  tools: {}
  sessions:
    work: {kind: work, prompt: prompts/work_without_skill.md, order: 1, boundary: ["**"], skills: []}
skill:
  role: incumbent
  skills: [fix-work]
  family: null
  candidate_of: null
  tools: {}
  sessions:
    work: {kind: work, prompt: prompts/work.md, order: 1, boundary: ["**"], skills: [fix-work]}
candidate:
  role: candidate
  candidate_of: skill
  skills: [fix-work]
  family: null
  tools: {}
  sessions:
    work: {kind: work, prompt: prompts/work.md, order: 1, boundary: ["**"], skills: [fix-work]}
"""
_PROMOTION = """\
# The built-in thresholds for work, and every task must be certified (bench validate).
defaults:
  - /builtin/promotion@_here_: threshold_cost
  - _self_
certified: true
options: {metric: turns}
"""
SKILL_PATH = ".claude/skills/fix-work/SKILL.md"


def project_files(name: str, suite: str, today: str) -> Mapping[str, bytes]:
    """Everything but the suite: paths relative to the root. `today` is the date of the first learning."""
    marker = (
        "# This file marks the root of a project and names its defaults.\n"
        f"name = {json.dumps(name)}\n\n[defaults]\n"
        f'suite = "{suite}"\narms = "work"\npromotion = "certified"\n'
    )
    learning = {
        "id": "run-the-described-case",
        "skill": "fix-work",
        "date": today,
        "observation": "An example to replace: what was seen to go wrong in practice.",
        "sentence": "Before you finish, run exactly the case that the task describes and look at its output.",
    }
    texts = {
        "evolve.toml": marker,
        "conf/arms/work.yaml": _ARMS,
        "conf/promotion/certified.yaml": _PROMOTION,
        f"learnings/{suite}.jsonl": json.dumps(learning) + "\n",
        SKILL_PATH: _SKILL,
        "runs/.gitignore": "*\n",
    }
    return {path: text.encode() for path, text in texts.items()}
