"""A proposer learns nothing of the tasks that are held out: a marker in all that such a task has reaches none of it."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

import evolve.run
from evolve.cli import main
from evolve.propose import Proposal, Proposer, Setting, create_proposer
from tests.bench.cells.cell_project import CellProject

MARKER = "xyzzy"
NOTE = {"skill": "craft", "date": "2026-01-01", "observation": "It was seen."}
TIERS = {
    "search": ["promotion.split=train", "promotion.options.tier=search"],
    "release": ["promotion.split=holdout", "promotion.options.tier=release", "campaign=c", "reuse=none"],
}


class Overhearing:
    """The configured proposer; keeps what it is told, and what it says."""

    def __init__(self, inner: Proposer) -> None:
        self._inner = inner
        self.told: list[Setting] = []
        self.said: list[Proposal] = []

    def propose(self, setting: Setting) -> Proposal | None:
        self.told.append(setting)
        proposal = self._inner.propose(setting)
        self.said += [] if proposal is None else [proposal]
        return proposal

    def remarks(self, loaded: Collection[str]) -> Iterator[str]:
        yield from ()


@pytest.fixture
def project(tmp_path: Path) -> CellProject:
    """One task to learn from, and one that is held out, full of the marker."""
    made = CellProject(tmp_path)
    made.agent('open(paths["workspace"] + "/done.txt", "w").write("done")')
    made.tree({"a.txt": "first\n"})
    made.write("suites/mine/prompts/secret.md", f"Do it, {MARKER}.\n")
    made.write("suites/mine/oracles/secret", f"{MARKER}\n")
    made.task("plain", "test -s done.txt")
    secret = {"source": "oracles/secret", "target": MARKER}
    made.task(f"task-{MARKER}", f"grep -q {MARKER} no-such-file", split="holdout", prompt="prompts/secret.md")
    made.tasks[-1]["oracle"]["files"] = [secret]
    session = {"work": {"kind": "work", "skills": ["craft"]}}
    made.arm("work", session, skills=["craft"])
    made.arm("candidate_work", session, skills=["craft"], role="candidate", candidate_of="work")
    made.skill("craft", "Say all there is to say.")
    return made


def words(project: CellProject, tier: str, *notes: dict[str, Any]) -> list[str]:
    lines = "".join(json.dumps({**NOTE, **note}) + "\n" for note in notes)
    project.write("learnings/mine.jsonl", lines)
    chosen = project.overrides(
        "proposer.queue=learnings/mine.jsonl", "promotion.options.endpoint=resolved", "generations=2",
        "agent.options.deterministic=true", *TIERS[tier],
    )  # fmt: skip
    return [*chosen, "--root", str(project.root), "--quiet"]


@pytest.mark.parametrize("tier", TIERS)
def test_nothing_of_a_task_that_is_held_out_reaches_a_proposer_but_the_decision(
    project: CellProject, tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Overhearing] = []

    def overheard(*given: Any) -> Overhearing:
        heard.append(Overhearing(create_proposer(*given)))
        return heard[-1]

    monkeypatch.setattr(evolve.run, "create_proposer", overheard)
    notes = ({"id": "a", "sentence": "Be brief."}, {"id": "b", "sentence": "Be kind.", "task": "plain"})

    assert main(words(project, tier, *notes)) == 0

    (proposer,) = heard
    reports = [path.read_text() for path in project.root.glob("runs/*/gen-*/report.md")]
    assert len(reports) == len(proposer.told) == 2
    assert all(MARKER in report for report in reports)
    (judged,) = proposer.told[1].judgements
    assert (judged.idea, judged.decision) == ("a", "keep_incumbent")
    assert MARKER not in repr([proposer.told, proposer.said])
    assert not [value for value in _values(judged) if isinstance(value, float | Path)]


def test_a_note_that_was_seen_in_a_task_that_is_held_out_is_refused_before_anything_is_paid(
    project: CellProject, capsys: pytest.CaptureFixture[str]
) -> None:
    note = {"id": "a", "sentence": "Be brief.", "task": f"task-{MARKER}"}

    assert main(words(project, "search", note)) == 2

    assert "holds notes that were seen in a task which is held out: a" in capsys.readouterr().err
    assert not list(project.root.glob("runs/*/gen-*/results.jsonl"))


def _values(struct: Any) -> list[Any]:
    return [getattr(struct, name) for name in struct.__struct_fields__]
