"""A starter project with two models, and a program whose reviews are as good and as dear as model and effort make them.

It knows the answers; of each task it gives them or approves, by the digest of the task's name: the same in every cell.
"""

import json
import re
from pathlib import Path

from tests.e2e.commands import agent_program, overlay_of, starter_root, with_program

# of 16 shares of the tasks, how many have their defects found without and with the candidate's sentence; dollars a cell
SKILLED = {
    ("small", "low"): 2, ("small", "mid"): 4, ("small", "high"): 6,
    ("large", "low"): 7, ("large", "mid"): 9, ("large", "high"): 12,
}  # fmt: skip
COST = {
    ("small", "low"): 0.01, ("small", "mid"): 0.05, ("small", "high"): 0.08,
    ("large", "low"): 0.04, ("large", "mid"): 0.1, ("large", "high"): 0.2,
}  # fmt: skip
GAIN = 4
SENTENCE = "Look at it a second time."

_BODY = """
import hashlib, subprocess
known, skilled, cost, gain, sentence, broken = json.loads({data!r})
place = session["paths"]["workspace"]
said = subprocess.run(["git", "-c", "safe.directory=*", "status", "--porcelain", "-uall"], cwd=place,
                      capture_output=True, text=True, check=True).stdout
changed = sorted(line[3:] for line in said.splitlines())
key = "/".join([session["model"], session["effort"]])
taught = any(sentence in open(os.path.join(skill["path"], "SKILL.md")).read() for skill in session["skills"])
share = hashlib.sha256(repr(changed).encode()).digest()[0] % 16
if key == broken:
    sys.exit(3)
found = known.get(repr(changed), []) if share < skilled[key] + (gain if taught else 0) else []
review("request_changes" if any(each["blocking"] for each in found) else "comment" if found else "approve", found)
say(type="usage", turns=1, cost_usd=cost[key])
"""

# what every sweep of these tests is about
WORDS = (
    "proposer=manual", "repeats=1", "workers=2", "promotion=threshold_review", "promotion.options.min_runs=1", "budget.confirm=false", "breaker=3",
)  # fmt: skip


class Rig:
    """The project, and the words that put the program and the candidate in its cells."""

    def __init__(self, folder: Path, broken: str = "") -> None:
        self.folder, self.root = folder, starter_root(folder)
        for name in ("small", "large"):
            built_in = (Path(__file__).parents[2] / "conf" / "model" / "none.yaml").read_text()
            path = self.root / "conf" / "model" / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                built_in.replace("name: none", f"name: {name}").replace("id: null", f"id: {name}")
            )
        data = json.dumps([self._answers(), _by_name(SKILLED), _by_name(COST), GAIN, SENTENCE, broken])
        program = agent_program(folder, _BODY.format(data=data))
        overlay = overlay_of(self.root, folder, lambda text: f"{text}\n{SENTENCE}\n")
        self.words = (*WORDS, *with_program(program), f"proposer.options.overlay={overlay}")

    @property
    def sweeps(self) -> Path:
        return self.root / "runs" / "sweeps"

    def _answers(self) -> dict[str, list[dict[str, object]]]:
        """The findings that meet a task's labels, by the files that its change touches."""
        suite = self.root / "suites" / "starter"
        known = {}
        for labels in (suite / "labels").glob("*.json"):
            patch = (suite / "changes" / f"{labels.stem}.patch").read_text()
            changed = sorted(set(re.findall(r"^\+\+\+ b/(\S+)", patch, re.MULTILINE)))
            known[repr(changed)] = [_finding(each) for each in json.loads(labels.read_text())["findings"]]
        return known


def _finding(label: dict[str, object]) -> dict[str, object]:
    blocking = label["severity"] in ("critical", "high")
    text = "It goes wrong."
    lines = {"line": label["line_start"], "end_line": label["line_end"]}
    named = {name: label[name] for name in ("id", "severity", "path", "category")}
    return named | lines | {"scenario": text, "evidence": text, "recommendation": text, "blocking": blocking}


def _by_name(table: dict[tuple[str, str], object]) -> dict[str, object]:
    return {"/".join(key): value for key, value in table.items()}
