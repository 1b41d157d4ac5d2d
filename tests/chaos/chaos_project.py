"""A tiny project of which a whole generation takes seconds: a review, and two pieces of work that are planned first.

Its agent does the same thing every time, and its candidate is promoted where only work is asked for. On the host it
writes down, outside of the run and of everything that is removed, each time that it is started, and it breaks while a
file there says so.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.cells.cell_project import CellProject, skill_text

# two attempts of one session cannot be told apart by what an agent is told: they are counted
_AGENT = """
text = "".join(open(skill["path"] + "/SKILL.md").read() for skill in session["skills"])
brief = "Briefly" in text
if {log!r}:
    with open({log!r}, "a") as file: file.write(json.dumps([session["kind"], brief, session["prompt"]]) + "\\n")
    if os.path.exists({log!r} + ".broken"):
        if open({log!r} + ".broken").read() in ("all", session["kind"] + " brief" * brief): sys.exit(7)
say(type="usage", turns=1 if brief else 4, output_tokens=len(text), input_tokens=10, requests=1)
if session["kind"] == "review":
    answer = json.dumps({{"schema_version": 1, "verdict": "approve", "findings": []}})
    open(paths["artifact"], "w").write(answer)
elif session["kind"] == "plan":
    open(paths["artifact"], "w").write("# The plan\\nAdd a line.\\n")
else:
    open(paths["home"] + "/note", "w").write("mine")
    with open(paths["workspace"] + "/a.txt", "a") as file: file.write("done\\n")
"""
_PATCH = """\
diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1 +1,2 @@
 first
+second
"""
_BOTH = {"order": 1, "boundary": [], "skills": ["craft"]}
_REVIEWED: dict[str, Any] = {"review": {"kind": "review", "prompt": "prompts/review.md", **_BOTH}}
_PLANNED: dict[str, Any] = {
    "plan": {"kind": "plan", "prompt": "prompts/plan.md", **_BOTH},
    "work": {"kind": "work", "prompt": "prompts/work_from_plan.md", **_BOTH, "order": 2, "boundary": ["**"]},
}
_SESSIONS = {"review": _REVIEWED, "work": _PLANNED}


class ChaosProject:
    """The project below a new folder. `words` are the overrides of its one command."""

    def __init__(self, folder: Path, sandbox: str, *, kinds: Sequence[str] = ("review", "work")) -> None:
        made = CellProject(folder)
        self.folder, self.root, self.scratch = folder, made.root, made.scratch
        self.log = folder / "starts" if sandbox == "host" else None
        made.agent(_AGENT.format(log="" if self.log is None else str(self.log)))
        _write_tasks(made, kinds)
        _write_arms(made, kinds)
        made.skill("craft", "Say all there is to say.")
        made.write("proposed/.claude/skills/craft/SKILL.md", skill_text("craft", "Briefly, please."))
        self.words = made.overrides(
            f"sandbox={sandbox}",
            "workers=2",
            "retries=1",
            "proposer=manual",
            "proposer.options.overlay=proposed",
            "promotion=threshold_cost",
            "promotion.options.metric=turns",
            "agent.options.deterministic=true",
        )

    @property
    def run(self) -> Path:
        """The folder of its one run."""
        (run,) = (path.parent for path in self.root.glob("runs/*/config.json"))
        return run

    def begun(self) -> Path | None:
        """The same, or None while there is none that could go on."""
        return next((path.parent for path in self.root.glob("runs/*/config.json")), None)

    def breaks(self, what: str | None) -> None:
        """From now on the agent breaks: `all` sessions, those of a kind, or with ` brief` those of the candidate."""
        flag = self.folder / "starts.broken"
        flag.unlink(missing_ok=True)
        if what is not None:
            flag.write_text(what)

    def starts(self) -> list[str]:
        """What the agent wrote down, a line for each time that it was started."""
        there = self.log is not None and self.log.exists()
        return self.log.read_text().splitlines() if self.log is not None and there else []


def _write_tasks(made: CellProject, kinds: Sequence[str]) -> None:
    made.tree({"a.txt": "first\n"})
    made.write("suites/mine/change.patch", _PATCH)
    made.write("suites/mine/labels.json", json.dumps({"schema_version": 1, "findings": []}))
    if "review" in kinds:
        made.task("review", "", change="change.patch")
        made.tasks[-1] |= {"class": "review-clean", "oracle": {"labels": "labels.json"}}
    for name in ("one", "two") if "work" in kinds else ():
        setup = f"echo {name} > made.txt"
        made.task(name, f"grep -q {name} made.txt && grep -q done a.txt", setup=setup, verify="test -s a.txt")


def _write_arms(made: CellProject, kinds: Sequence[str]) -> None:
    for name in kinds:
        arm = {"sessions": _SESSIONS[name], "skills": ["craft"]}
        made.arm(name, **arm)
        made.arm(f"candidate_{name}", **arm, role="candidate", candidate_of=name)
