"""A tiny project whose proposals are written by a program of its own, in the sandbox, as a coding agent would."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.project import remove_folder
from bench.spend import PROPOSER, Reserved, Settled, read_journal
from evolve.cli import main
from tests.bench.cells.cell_project import CellProject, skill_text

SKILL = ".claude/skills/craft/SKILL.md"
MARKER = "only-for-the-holdout-7f3a"
SECRET = "sk-planted-0123456789abcdef"

# Turns count: brief skills are better. What a task asks is in the transcript.
_WORKER = """
text = "".join(open(skill["path"] + "/SKILL.md").read() for skill in session["skills"])
say(type="message", text=session["prompt"])
say(type="usage", turns=1 if "Briefly" in text else 4, output_tokens=len(text), input_tokens=10, requests=1)
with open(paths["workspace"] + "/a.txt", "a") as file: file.write("done\\n")
"""
# It prints all that it can read of what it was given, and then does what `does` says.
_PROPOSER = """
import glob
say(type="message", text=session["prompt"])
for path in sorted(glob.glob(paths["workspace"] + "/**", recursive=True)):
    if os.path.isfile(path): say(type="message", text=path + "\\n" + open(path, errors="replace").read())
out, overlay = paths["output"], paths["output"] + "/overlay/.claude/skills/craft"
incumbent = open(paths["workspace"] + "/incumbent/.claude/skills/craft/SKILL.md").read()
def put(text, name="SKILL.md"):
    os.makedirs(overlay, exist_ok=True)
    open(overlay + "/" + name, "w").write(text)
def argue(text="# Be brief\\n\\nIt talks too much.\\n"): open(out + "/proposal.md", "w").write(text)
{does}
"""
BRIEF = 'put(incumbent + "Briefly, please.\\n"); argue()'


class ProposingProject:
    """The project below a new folder: two tasks to train on, one held out. `words` are the overrides of a run whose
    proposals are paid.
    """

    def __init__(self, folder: Path) -> None:
        made = CellProject(folder)
        self.root = made.root
        made.agent(_WORKER)
        made.tree({"a.txt": "first\n"})
        made.skill("craft", "Say all there is to say.")
        for name in ("one", "two"):
            made.task(name, "grep -q done a.txt")
        made.write("suites/mine/prompts/held.md", f"Do it; {MARKER}.\n")
        made.task("held-out-task", "grep -q done a.txt", split="holdout", prompt="prompts/held.md")
        sessions = {"work": {"kind": "work", "skills": ["craft"]}}
        made.arm("work", sessions, skills=["craft"])
        made.arm("candidate_work", sessions, skills=["craft"], role="candidate", candidate_of="work")
        made.write("worse/.claude/skills/craft/SKILL.md", skill_text("craft", "Say everything twice."))
        made.write("queue.jsonl", "".join(json.dumps(note) + "\n" for note in _NOTES))
        self._made = made
        self.proposes(BRIEF)
        self.plain = made.overrides(
            "promotion=threshold_cost", "promotion.options.metric=turns", "agent.options.deterministic=true",
            "budget.confirm=false",
        )  # fmt: skip

    @property
    def words(self) -> list[str]:
        """A run whose proposals are paid."""
        own = [
            f"proposer.agent.options.program={self.root / 'proposer.py'}",
            "proposer.agent.options.python=true",
        ]
        return [
            *self.plain,
            "proposer=agent",
            "agent@proposer.agent=command",
            *own,
            "proposer.queue=queue.jsonl",
        ]

    def proposes(self, does: str) -> None:
        """What the proposing session does, in Python."""
        worker = (self.root / "agent.py").read_text()
        self._made.agent(_PROPOSER.replace("{does}", does))
        (self.root / "agent.py").rename(self.root / "proposer.py")
        (self.root / "agent.py").write_text(worker)

    def judge_another(self) -> None:
        """A run that judges a worse idea first, and leaves rows of all tasks."""
        assert main([*self.plain, "--quiet", "proposer=manual", "proposer.options.overlay=worse"]) == 0

    def evolve(self, *more: str) -> int:
        """Run it."""
        return main([*self.words, *more])

    @property
    def run(self) -> Path:
        """The folder of the newest run."""
        return max(path.parent for path in self.root.glob("runs/*/config.json"))

    @property
    def proposing(self) -> Path:
        """What the first generation's proposing sessions left."""
        return self.run / "proposing" / "gen-1"

    def forget(self, *, answer: bool) -> None:
        """The run as a process leaves it that is killed before its proposal is settled: also before its `answer`."""
        journal = self.run / "spend.jsonl"
        journal.write_text("".join(f"{line}\n" for line in journal.read_text().splitlines()[:2]))
        (self.run / "lock").unlink()
        remove_folder(self.run / "gen-1")
        if answer:
            (self.proposing / "answer.json").unlink()

    def told(self, attempt: int = 0) -> str:
        """All that the session said of what it saw."""
        lines = (self.proposing / f"transcript-{attempt}.jsonl").read_text().splitlines()
        return "\n".join(json.loads(line).get("text", "") for line in lines)

    def answer(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.proposing / "answer.json").read_text())
        return found

    def paid(self) -> tuple[int, int]:
        """How many proposing sessions were reserved and settled."""
        entries = read_journal(self.run / "spend.jsonl")
        own = {each.id for each in entries if isinstance(each, Reserved) and each.session.arm == PROPOSER}
        return len(own), sum(isinstance(each, Settled) and each.id in own for each in entries)


_NOTES: Sequence[dict[str, str]] = (
    {"id": "a", "skill": "craft", "date": "2026-11-01", "observation": "It rambles.", "sentence": "Stop early.", "task": "one"},
    {"id": "b", "skill": "craft", "date": "2026-11-02", "observation": f"It fails; {MARKER}.", "sentence": "No.", "task": "held-out-task"},
    {"id": "c", "skill": "craft", "date": "2026-11-03", "observation": f"Key {SECRET} seen.", "sentence": "Hide keys."},
    {"id": "d", "skill": "craft", "date": "2026-11-04", "observation": f"held-out-task needs {MARKER}.", "sentence": "Know."},
)  # fmt: skip
