"""Reuse as a stranger meets it: a second generation pays for little, explains itself, and notices a model that drifts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.results import read_rows
from evolve.gate import read_promotion, recompute
from tests.e2e.commands import Done, agent_program, overlay_of, run, starter_root, with_program

FEW = "tasks.split=train"


def evolve(folder: Path, number: int, *more: str) -> Done:
    """A generation of a useless idea, another one for each number."""
    root = starter_root(folder)
    place = folder / f"idea-{number}"
    place.mkdir()
    overlay = overlay_of(root, place, lambda text: f"{text}\nRead it {number} times.\n")
    done = run(
        "evolve", "--json", "proposer=manual", f"proposer.options.overlay={overlay}", *more, folder=folder
    )
    assert done.code == 0, done.err
    return done


def sources(done: Done) -> list[dict[str, Any]]:
    plan = json.loads((Path(done.json["folder"]) / "gen-1" / "plan.json").read_bytes())
    found: list[dict[str, Any]] = plan["sources"]
    return found


def test_a_second_generation_pays_for_the_candidate_and_the_canaries(project: Path) -> None:
    first, second = (evolve(project, number, FEW).json["generations"][0] for number in (1, 2))
    assert first["reused"] == 0
    assert second["paid"] + second["reused"] == first["paid"]
    assert second["reused"] / first["paid"] > 0.45
    assert second["decision"] == "keep_incumbent"
    promotion = read_promotion(Path(second["promotion"]))
    assert recompute(promotion) == promotion.verdict


def test_a_generation_on_its_own_rows_decides_as_one_that_was_measured(project: Path) -> None:
    evolve(project, 1, FEW)
    reused = evolve(project, 2, FEW).json["generations"][0]
    measured = evolve(project, 3, FEW, "reuse=none").json["generations"][0]
    tables = [read_promotion(Path(each["promotion"])).verdict.pairs for each in (reused, measured)]
    assert [pair.tasks for pair in tables[0]] == [pair.tasks for pair in tables[1]]


def test_the_plan_says_what_could_be_reused_and_why_the_rest_not(project: Path) -> None:
    before = run("evolve", "plan", FEW, folder=project)
    assert "there is no earlier generation to reuse from" in before.out
    evolve(project, 1, FEW)
    forecast = run("evolve", "plan", "--json", FEW, folder=project).json
    assert forecast["reusable"] == forecast["cells"] * 2 // 3
    assert forecast["misses"] == {"differs: provenance.skill": forecast["cells"] // 3}
    said = run("evolve", "plan", FEW, folder=project).out
    assert f"{forecast['reusable']} cells have a row in " in said
    assert f"{forecast['cells'] // 3}: the skill is another one" in said
    (rows,) = starter_root(project).glob("runs/*/gen-1/results.jsonl")
    rows.write_bytes(b"nonsense\n" + rows.read_bytes())
    without = run("evolve", "plan", FEW, folder=project)
    assert f"note: not reused: {rows}, line 1 is not a row" in without.out
    (rows.parent / "drift.json").write_text("{")
    assert (
        f"note: {rows.parent / 'drift.json'} cannot be read" in run("evolve", "plan", FEW, folder=project).out
    )


def test_the_plan_says_what_a_test_can_reach_at_the_level_of_its_campaign(project: Path) -> None:
    gate = ("experiment=release", "promotion.options.endpoint=verdict_right", "campaign=weekly")
    few = run("evolve", "plan", "--json", "tasks.id=review-backup-command", *gate, folder=project).json
    assert few["test"]["reach"]["exploratory"]
    assert few["test"]["reach"]["smallest"] > few["test"]["reach"]["level"] == pytest.approx(0.0304, abs=1e-4)
    assert few["test"]["no_effect"] == {"cells": few["cells"], "cost_usd": 0.0} == few["test"]["target"]
    said = run("evolve", "plan", *gate, folder=project).out
    assert "smallest p" in said
    assert "if the candidate is no better" in said


def test_explain_names_for_each_cell_its_row_or_the_first_field_with_both_values(project: Path) -> None:
    first = evolve(project, 1, FEW).json
    second = evolve(project, 2, FEW).json
    told = run("evolve", "reuse", "explain", second["run"], "--json", folder=project).json
    assert told["reuse_from"] == f"{first['run']}/gen-1"
    rows, _ = read_rows(Path(second["folder"]) / "gen-1" / "results.jsonl")
    kinds = {cell["cell"]: cell["kind"] for cell in told["cells"]}
    assert {"/".join(map(str, row.key)): row.reuse is not None for row in rows} == {
        cell: kind == "reused" for cell, kind in kinds.items()
    }
    candidate = next(cell for cell in told["cells"] if "/candidate_review/" in cell["cell"])
    assert candidate["field"] == "provenance.skill"
    said = run(
        "evolve", "reuse", "explain", f"{second['run']}/gen-1", "--cell", candidate["cell"], folder=project
    )
    assert f"provenance.skill was {candidate['before']}, is {candidate['now']}" in said.out
    assert re.search(
        r"/no_skill/0: (reused: row|measured again)",
        run("evolve", "reuse", "explain", second["run"], folder=project).out,
    )


def test_explain_refuses_what_it_cannot_find(project: Path) -> None:
    done = evolve(project, 1, FEW).json
    for arguments in ((done["run"], "--cell", "none/such/0"), ("20990101T",), (f"{done['run']}/gen-9",)):
        refused = run("evolve", "reuse", "explain", *arguments, folder=project)
        assert refused.code == 2
        assert "error: " in refused.err
        assert "Traceback" not in refused.err


class Moody:
    """A model behind one id: its answers change with a file on the machine that no provenance can cover."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mood = folder / "mood"
        self.answer("approve")
        self.program(f"review(open({str(self._mood)!r}).read())\n")

    def answer(self, verdict: str) -> None:
        self._mood.write_text(verdict)

    def program(self, body: str) -> None:
        self._program = agent_program(self._folder, body)

    def evolve(self, number: int, *more: str) -> Done:
        """A generation on the clean controls; without containment, where an agent can read the file."""
        return evolve(
            self._folder,
            number,
            *with_program(self._program),
            *("tasks.class=review-clean", "reuse.canaries=0.5"),
            *("sandbox=host", "sandbox.accept_no_containment=true"),
            *more,
        )


@pytest.fixture
def moody(project: Path) -> Moody:
    return Moody(project)


def of_first(done: Done) -> Any:
    return done.json["generations"][0]


def test_a_model_that_changed_behind_its_id_is_drift_and_its_rows_are_never_reused_again(
    project: Path, moody: Moody
) -> None:
    moody.evolve(1)
    quiet = of_first(moody.evolve(2))
    assert quiet["drift"] is None
    assert quiet["reused"] > 0

    moody.answer("comment")
    found = moody.evolve(3)
    drifted = of_first(found)
    assert re.search(r"\d+ got worse and 0 better", drifted["drift"])
    assert "drift: " in found.err
    assert drifted["decision"] == "insufficient_evidence"
    assert any("not what would be measured now" in reason for reason in drifted["reasons"])
    assert "**Drift.**" in Path(drifted["report"]).read_text()
    promotion = read_promotion(Path(drifted["promotion"]))
    assert recompute(promotion) == promotion.verdict
    told = run("evolve", "reuse", "explain", found.json["run"], folder=project)
    assert "drift: " in told.out

    after = moody.evolve(4)
    assert of_first(after)["reused"] == 0
    assert {source["reason"] for source in sources(after)} == {"differs", "retired"}
    assert "drift was found after the measurement" in after.err
    again = moody.evolve(5)
    assert of_first(again)["reused"] > 0
    assert of_first(again)["drift"] is None


def test_one_other_answer_of_an_agent_that_calls_itself_deterministic_is_drift(moody: Moody) -> None:
    moody.evolve(1, "agent.options.deterministic=true")
    moody.answer("comment")
    drifted = of_first(moody.evolve(2, "agent.options.deterministic=true", "reuse.canaries=0.1"))
    assert "declares itself deterministic" in drifted["drift"]
    assert drifted["decision"] == "insufficient_evidence"


def test_a_changed_version_or_program_is_a_miss_and_no_drift(moody: Moody) -> None:
    moody.evolve(1)
    moody.answer("comment")
    version = moody.evolve(2, "agent.options.version='2'")
    assert {source["field"] for source in sources(version)} == {"identity.agent_version"}
    moody.program("review('approve')\n")
    binary = moody.evolve(3, "agent.options.version='2'")
    assert {source["field"] for source in sources(binary)} == {"provenance.skill", "provenance.agent"}
    assert [of_first(done)["drift"] for done in (version, binary)] == [None, None]
