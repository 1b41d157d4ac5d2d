"""The main job: a stranger's first commands, and what the gate does with candidates that should not pass."""

import json
import re
import shlex
from pathlib import Path

from bench.results import read_rows
from evolve.gate import read_promotion, recompute
from tests.e2e.commands import overlay_of, run, starter_root


def test_the_first_run_promotes_with_reasons_a_table_and_the_next_command(tmp_path: Path) -> None:
    done = run("evolve", folder=tmp_path)
    assert done.code == 0, done.err
    assert "unpacked the starter project" in done.err
    assert "PROMOTE" in done.out
    assert "weighted_f1" in done.out
    assert "mean over holdout" in done.out
    assert "next:" in done.out


def test_what_the_first_run_found_ships_by_the_commands_that_are_named(tmp_path: Path) -> None:
    found = run("evolve", folder=tmp_path)
    (release,) = re.findall(r"^  evolve (experiment=release .*)$", found.out, re.MULTILINE)
    searched = json.loads(run("evolve", "--json", folder=tmp_path).out)["run"]
    refused = run("evolve", "apply", searched, folder=tmp_path)
    assert refused.code == 2
    assert f"test it for release: evolve {release}" in refused.err

    released = run("evolve", *shlex.split(release), folder=tmp_path)
    assert released.code == 0, released.err
    assert "PROMOTE" in released.out
    assert " train " not in released.out
    (apply,) = re.findall(r"^next: .*: evolve (apply \S+)$", released.out, re.MULTILINE)
    applied = run("evolve", *shlex.split(apply), folder=tmp_path)
    assert applied.code == 0, applied.err
    skill = starter_root(tmp_path) / ".claude" / "skills" / "code-review" / "SKILL.md"
    assert "### swallowed-exception" in skill.read_text()


def test_the_next_run_offers_the_promotion_before_it_proposes_anything_new(tmp_path: Path) -> None:
    first = run("evolve", "--json", folder=tmp_path).json
    runs = starter_root(tmp_path) / "runs"
    before = sorted(runs.iterdir())
    second = run("evolve", folder=tmp_path)
    assert second.code == 0
    assert first["run"] in second.out
    assert "it is not applied" in second.out
    assert sorted(runs.iterdir()) == before


def test_a_run_can_build_on_the_unapplied_promotion_or_ignore_it(tmp_path: Path) -> None:
    first = run("evolve", "--json", folder=tmp_path).json
    built = run("evolve", "--json", "proposer.unapplied=build_on", folder=tmp_path).json
    ignored = run("evolve", "--json", "proposer.unapplied=ignore", folder=tmp_path).json
    ideas = [done["generations"][0]["idea"] for done in (first, built, ignored)]
    assert len(set(ideas)) == len(ideas), "an idea that was judged on these skills is not proposed again"


def test_a_decision_can_be_reached_again_from_promotion_json_alone(tmp_path: Path) -> None:
    done = run("evolve", "--json", folder=tmp_path).json
    promotion = read_promotion(Path(done["generations"][0]["promotion"]))
    assert recompute(promotion) == promotion.verdict


def test_several_generations_stack_what_they_promote_and_keep_out_what_harms(tmp_path: Path) -> None:
    done = run("evolve", "--json", "generations=6", folder=tmp_path)
    assert done.code == 0, done.err
    decisions = {each["idea"]: each["decision"] for each in done.json["generations"]}
    assert decisions["swallowed-exception"] == "promote"
    assert decisions["findings-in-order"] == "keep_incumbent"
    assert decisions["money-as-float"] == "keep_incumbent"
    assert decisions["eager-log-text"] == "keep_incumbent"
    assert sum(decision == "promote" for decision in decisions.values()) >= 2
    champion = Path(done.json["champion"]) / ".claude" / "skills" / "code-review" / "SKILL.md"
    text = champion.read_text()
    assert all((f"### {idea}" in text) == (decision == "promote") for idea, decision in decisions.items())


def test_a_candidate_identical_to_the_incumbent_is_refused_before_anything_is_measured(project: Path) -> None:
    overlay = overlay_of(starter_root(project), project, lambda text: text)
    done = run("evolve", "proposer=manual", f"proposer.options.overlay={overlay}", folder=project)
    assert done.code == 2
    assert "identical to the incumbent" in done.err
    assert not list((starter_root(project) / "runs").glob("*/gen-1/results.jsonl"))


def test_a_candidate_that_differs_only_in_prose_is_never_promoted(project: Path) -> None:
    overlay = overlay_of(starter_root(project), project, lambda text: text + "\nRead every change twice.\n")
    done = run("evolve", "--json", "proposer=manual", f"proposer.options.overlay={overlay}", folder=project)
    assert done.code == 0, done.err
    assert done.json["decision"] == "keep_incumbent"


def test_a_candidate_with_a_malformed_rule_is_insufficient_and_says_which(project: Path) -> None:
    rule = "\n```yaml\nid: broken\nlanguage: nonsense\nrule: {pattern: $A}\n```\n"
    overlay = overlay_of(starter_root(project), project, lambda text: text + rule)
    done = run("evolve", "--json", "proposer=manual", f"proposer.options.overlay={overlay}", folder=project)
    assert done.code == 0, done.err
    assert done.json["decision"] == "insufficient_evidence"
    rows, _ = read_rows(Path(done.json["folder"]) / "gen-1" / "results.jsonl")
    broken = [row for row in rows if row.identity.role == "candidate"]
    assert {row.outcome.kind for row in broken} == {"session-error"}
    assert all("broken" in row.outcome.detail for row in broken)


def test_bench_measures_the_arms_without_evolving(project: Path) -> None:
    done = run("bench", "--json", "suite=starter", folder=project)
    assert done.code == 0, done.err
    rows, torn = read_rows(Path(done.json["folder"]) / "results.jsonl")
    assert not torn
    assert {row.identity.arm for row in rows} == {"no_skill", "review"}
    assert len(rows) == done.json["cells"]
    report = Path(done.json["report"]).read_text()
    assert "no_skill" in report
    assert "Provenance" in report


def test_the_same_configuration_measures_the_same_scores(project: Path) -> None:
    scores = []
    for _ in range(2):
        done = run("bench", "--json", "tasks.split=holdout", "reuse=none", folder=project)
        rows, _ = read_rows(Path(done.json["folder"]) / "results.jsonl")
        scores.append([(row.key, row.score, row.outcome, row.provenance) for row in rows])
    assert scores[0] == scores[1]


def test_the_plan_writes_nothing(project: Path) -> None:
    done = run("evolve", "plan", "--json", folder=project)
    assert done.code == 0, done.err
    assert done.json["cells"] > 0
    assert not (starter_root(project) / "runs").exists()


def test_events_are_a_stream_of_json_lines_from_start_to_end(project: Path) -> None:
    done = run("bench", "--events", str(project / "events"), "tasks.split=holdout", folder=project)
    assert done.code == 0, done.err
    events = [json.loads(line) for line in (project / "events").read_text().splitlines()]
    names = [event["event"] for event in events]
    assert (names[0], names[-1]) == ("run-started", "run-finished")
    assert names.count("cell-finished") == names.count("cell-started") == events[1]["cells"]
