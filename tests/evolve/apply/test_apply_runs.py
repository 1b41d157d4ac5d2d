"""Applying and reverting runs: what is refused, what happens to the working tree, what is kept."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from apply_builders import (
    MIRRORS,
    NOW,
    RUN,
    Asked,
    Made,
    change_of,
    commit,
    make_project,
    make_run,
    promote,
    skill_text,
    snapshot,
    temporaries,
    tools,
)
from msgspec import structs

from bench.config import conf_folder
from bench.digest import canonical_json, digest_bytes, digest_json
from bench.errors import RunError, UserError
from bench.project import RunFolder, find_run
from evolve.apply import ApplySummary, Step, apply_run, apply_schemas, read_records, revert_run
from evolve.errors import ApplyError
from evolve.gate import CampaignState, promotion_document, read_promotion, write_promotion

BEFORE, AFTER = skill_text("code-review"), skill_text("code-review", "Look three times.")
PLACES = (".claude/skills", *MIRRORS)
SECOND = "20260601T110000Z-aaaaaa-0002"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return make_project(tmp_path / "project")


def applied(made: Made, run: RunFolder, **changes: Any) -> ApplySummary:
    return apply_run(made.root, run, tools(**changes))


def refused(made: Made, run: RunFolder, **changes: Any) -> str:
    """The message of a refusal, which has changed nothing."""
    before = snapshot(made.root)
    with pytest.raises(UserError) as error:
        applied(made, run, **changes)
    assert snapshot(made.root) == before
    return str(error.value)


def held(made: Made, skill: str = "code-review", places: tuple[str, ...] = PLACES) -> set[bytes]:
    return {made.path(skill, place=place).read_bytes() for place in places}


def git(made: Made, *words: str) -> str:
    return subprocess.run(("git", *words), cwd=made.root, capture_output=True, text=True, check=True).stdout


def edit(path: Path, change: Callable[[Any], object]) -> None:
    """Change a JSON file and write it in its canonical form, so that nothing but the change is wrong."""
    document = json.loads(path.read_bytes())
    change(document)
    path.write_bytes(canonical_json(document) + b"\n")


def overwrite(path: Path, content: bytes) -> None:
    """Change a file of a frozen overlay."""
    path.chmod(0o600)
    path.write_bytes(content)


# What an apply does


def test_the_skill_and_every_mirror_get_the_promoted_bytes_as_an_ordinary_diff(made: Made) -> None:
    summary = applied(made, promote(made))
    assert summary.outcome == "applied"
    assert held(made) == {AFTER}
    paths = [f"{place}/code-review/SKILL.md" for place in PLACES]
    assert [each.path for each in summary.files] == paths
    assert git(made, "status", "--porcelain").splitlines() == [f" M {path}" for path in paths]
    assert git(made, "log", "--oneline").count("\n") == 1
    assert temporaries(made.root) == []


def test_an_apply_is_recorded_in_a_line_that_fits_its_schema(made: Made) -> None:
    run = promote(made)
    applied(made, run)
    (line,) = (run.path / "applied.jsonl").read_bytes().splitlines()
    record = json.loads(line)
    jsonschema.Draft202012Validator(apply_schemas()["apply-record"]).validate(record)
    assert record["action"] == "apply"
    assert record["time"] == "2026-06-01T12:00:00Z"
    assert {each["path"]: (each["before"], each["after"]) for each in record["files"]} == {
        f"{place}/code-review/SKILL.md": (digest_bytes(BEFORE), digest_bytes(AFTER)) for place in PLACES
    }


def test_applying_twice_says_so_and_changes_nothing(made: Made) -> None:
    run = promote(made)
    applied(made, run)
    before = snapshot(made.root)
    assert applied(made, run).outcome == "already-applied"
    assert applied(made, run, now=NOW + timedelta(days=400)).outcome == "already-applied"
    assert snapshot(made.root) == before


def test_a_dry_run_shows_a_diff_of_every_place_that_git_accepts_and_touches_nothing(made: Made) -> None:
    run = promote(made)
    before, steps = snapshot(made.root), list[Step]()
    summary = apply_run(made.root, run, tools(steps.append), dry_run=True)
    assert summary.outcome == "dry-run"
    assert snapshot(made.root) == before
    assert steps == []
    assert summary.diff is not None
    subprocess.run(("git", "apply"), cwd=made.root, input=summary.diff, text=True, check=True)
    assert held(made) == {AFTER}


@pytest.mark.parametrize(
    ("old", "new"), [(b"# R\n", b"# R"), (b"# R", b"# R\n"), (b"# R\r\n\x0c", b"# R\r\nx\xe2\x80\xa8y\n")]
)
def test_the_diff_of_files_without_a_last_line_end_is_one_that_git_accepts(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    made = make_project(tmp_path / "project", mirrors=())
    made.path(file="rules.md").write_bytes(old)
    commit(made.root)
    run = promote(made, {f"{PLACES[0]}/code-review/rules.md": new})
    diff = apply_run(made.root, run, tools(), dry_run=True).diff
    subprocess.run(("git", "apply"), cwd=made.root, input=str(diff).encode(), check=True)
    assert made.path(file="rules.md").read_bytes() == new


def test_two_skills_in_one_overlay_are_applied_together(tmp_path: Path) -> None:
    made = make_project(tmp_path / "project", skills=("code-review", "planning"))
    run = promote(made, change_of() | change_of("planning") | change_of("planning", "rules.md", "plan first"))
    assert len(applied(made, run).files) == 9
    assert held(made) == {AFTER}
    assert held(made, "planning") == {skill_text("planning", "Look three times.")}
    assert made.path("planning", "rules.md", MIRRORS[1]).read_bytes() == b"# Rules\n\n* plan first\n"
    assert made.path("code-review", "rules.md").read_bytes() == b"# Rules\n\n* be kind\n"


def test_if_one_of_two_skills_cannot_be_applied_neither_is(tmp_path: Path) -> None:
    made = make_project(tmp_path / "project", skills=("code-review", "planning"))
    run = promote(made, change_of() | change_of("planning"))
    made.path("planning", place=MIRRORS[0]).write_bytes(b"drifted\n")
    assert "cursor/skills/planning/SKILL.md is not equal to .claude/skills/planning/SKILL.md" in refused(
        made, run
    )


def test_the_stack_of_all_promoted_generations_is_applied_and_what_was_kept_is_not(made: Made) -> None:
    run = make_run(
        made,
        Asked(files=change_of()),
        Asked(files=change_of(file="rules.md", body="never merged"), promote=False),
        Asked(files=change_of(file="rules.md", body="be quick")),
        Asked(files=change_of(body="Look four times.")),
    )
    assert len(applied(made, run).files) == 6
    assert held(made) == {skill_text("code-review", "Look four times.")}
    assert made.path(file="rules.md").read_bytes() == b"# Rules\n\n* be quick\n"


def test_a_run_in_which_a_cell_was_tried_twice_is_applied(made: Made) -> None:
    assert applied(made, promote(made, retried=True)).outcome == "applied"


def test_permissions_stay(made: Made) -> None:
    made.path().chmod(0o600)
    applied(made, promote(made))
    assert made.path().stat().st_mode & 0o777 == 0o600


def test_a_skill_without_mirrors_is_applied_in_its_one_place(tmp_path: Path) -> None:
    made = make_project(tmp_path / "project", mirrors=())
    assert [each.path for each in applied(made, promote(made)).files] == [
        ".claude/skills/code-review/SKILL.md"
    ]


# Which run is meant


def test_a_run_is_named_by_id_by_a_unique_beginning_or_by_its_folder(made: Made, monkeypatch: Any) -> None:
    run = promote(made)
    make_run(made, Asked(files=change_of()), id=SECOND)
    for name in (RUN, RUN[:11], str(run.path), f"runs/{RUN}", f"runs/{RUN}/"):
        assert find_run(made.root, name).id == RUN
    monkeypatch.chdir(run.path)
    assert find_run(made.root, ".").id == RUN
    with pytest.raises(RunError, match=f"2 runs begin with '2026'.*\n  {RUN}\n  {SECOND}"):
        find_run(made.root, "2026")
    with pytest.raises(RunError, match="no run 'elsewhere'"):
        find_run(made.root, "elsewhere")
    with pytest.raises(RunError, match="no run"):
        find_run(made.root, "../other/runs/x")


def test_a_run_that_promoted_nothing_says_what_it_decided(made: Made) -> None:
    run = make_run(made, Asked(files=change_of(), promote=False))
    said = refused(made, run)
    assert "promoted nothing" in said
    assert "generation 1: keep_incumbent" in said


def test_a_run_without_a_verdict_is_no_promotion(made: Made) -> None:
    run = promote(made)
    (run.path / "gen-1" / "promotion.json").unlink()
    assert "it was interrupted, or is still at work" in refused(made, run)


# Evidence that was edited


def gen(run: RunFolder, name: str) -> Path:
    return run.path / "gen-1" / name


def raise_scores(run: RunFolder) -> None:
    edit(
        gen(run, "promotion.json"),
        lambda data: data["evidence"]["pairs"][0]["tasks"][0]["candidate"]["aggregate"].update(
            weighted_f1=0.99
        ),
    )


def edit_row(run: RunFolder) -> None:
    path = gen(run, "results.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"turns":3', b'"turns":4', 1))


def drop_row(run: RunFolder) -> None:
    path = gen(run, "results.jsonl")
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])


def swap_configuration(run: RunFolder) -> None:
    """Another configuration, with a digest that is right for it."""
    document = json.loads((run.path / "config.json").read_bytes())
    document["config"]["repeats"] = 9
    document["digest"] = digest_json(document["config"])
    (run.path / "config.json").write_bytes(canonical_json(document))


EDITS: dict[str, tuple[Callable[[RunFolder], object], str]] = {
    "a decision": (
        lambda run: edit(gen(run, "promotion.json"), lambda data: data["verdict"]["reasons"].append("fine")),
        "does not follow from its own evidence: reasons differ",
    ),
    "a score": (raise_scores, "does not follow from its own evidence"),
    "a policy": (
        lambda run: edit(
            gen(run, "promotion.json"), lambda data: data["verdict"]["parameters"].update(min_improvement=0.5)
        ),
        "does not follow from its own evidence",
    ),
    "the layout": (
        lambda run: gen(run, "promotion.json").write_bytes(gen(run, "promotion.json").read_bytes() + b" "),
        "is not as it was written",
    ),
    "the run": (
        lambda run: edit(gen(run, "promotion.json"), lambda data: data["metadata"].update(run="other")),
        'metadata.run: promotion.json says "other"',
    ),
    "the generation": (
        lambda run: edit(gen(run, "promotion.json"), lambda data: data["metadata"].update(generation=7)),
        "metadata.generation: promotion.json says 7, the run's files say 1",
    ),
    "the skills it is about": (
        lambda run: edit(gen(run, "promotion.json"), lambda data: data["metadata"]["base_skills"].clear()),
        "metadata.base_skills.code-review: promotion.json says nothing",
    ),
    "the base": (
        lambda run: edit(
            gen(run, "promotion.json"),
            lambda data: data["metadata"]["base_skills"].update({"code-review": "0" * 64}),
        ),
        'metadata.base_skills.code-review: promotion.json says "0000',
    ),
    "the model": (
        lambda run: edit(gen(run, "promotion.json"), lambda data: data["evidence"].update(model="other/1")),
        'evidence.model: promotion.json says "other/1", the run\'s files say "rulebook/1"',
    ),
    "the split": (
        lambda run: edit(gen(run, "promotion.json"), lambda data: data["evidence"].update(split="train")),
        'evidence.split: promotion.json says "train"',
    ),
    "a task's class": (
        lambda run: edit(
            gen(run, "promotion.json"),
            lambda data: data["evidence"]["pairs"][0]["tasks"][0].update(task_class="review-clean"),
        ),
        r"evidence.pairs\[candidate_review\].tasks\[cart\].task_class: promotion.json says \"review-clean\"",
    ),
    "a task left out": (
        lambda run: edit(
            gen(run, "promotion.json"), lambda data: data["evidence"]["pairs"][0]["tasks"].pop()
        ),
        r"evidence.pairs\[candidate_review\].tasks\[quotes\]: promotion.json says nothing",
    ),
    "a value of config.json": (
        lambda run: edit(run.path / "config.json", lambda data: data["config"].update(repeats=9)),
        "was changed after the run wrote it",
    ),
    "config.json as a whole": (swap_configuration, "plan.json belongs to another config.json"),
    "an overlay": (
        lambda run: overwrite(
            gen(run, "overlay") / PLACES[0] / "code-review" / "SKILL.md", skill_text("code-review", "x")
        ),
        "the overlay is not the one that was measured",
    ),
    "the champion": (
        lambda run: (run.path / "champion" / PLACES[0] / "code-review" / "SKILL.md").write_bytes(
            skill_text("code-review", "x")
        ),
        "champion/.claude/skills/code-review/SKILL.md is not what the run promoted",
    ),
    "a file more in the champion": (
        lambda run: (run.path / "champion" / PLACES[0] / "code-review" / "rules.md").write_bytes(b"mine"),
        "champion/.claude/skills/code-review/rules.md is not what the run promoted",
    ),
    "a champion that is none": (
        lambda run: (shutil.rmtree(run.path / "champion"), (run.path / "champion").mkdir()),
        "champion is refused: *\n *it holds no file",
    ),
    "a row": (edit_row, "metadata.rows: promotion.json says"),
    "a row left out": (drop_row, "metadata.rows: promotion.json says"),
    "a torn row": (
        lambda run: gen(run, "results.jsonl").write_bytes(gen(run, "results.jsonl").read_bytes() + b'{"x"'),
        "ends in a torn line",
    ),
    "no rows": (lambda run: gen(run, "results.jsonl").unlink(), "results.jsonl cannot be read"),
    "the plan": (
        lambda run: edit(gen(run, "plan.json"), lambda data: data.update(seed=1)),
        "plan.json is not the one that the rows",
    ),
    "no plan": (lambda run: gen(run, "plan.json").unlink(), "plan.json cannot be read"),
    "a plan that is none": (lambda run: gen(run, "plan.json").write_bytes(b"{}"), "is not a plan"),
}


@pytest.mark.parametrize(("change", "message"), EDITS.values(), ids=EDITS.keys())
def test_a_run_that_was_edited_is_refused(
    made: Made, change: Callable[[RunFolder], object], message: str
) -> None:
    run = promote(made)
    change(run)
    said = refused(made, run)
    assert re.search(message, said), said


def test_a_verdict_over_evidence_that_no_row_supports_is_refused(made: Made) -> None:
    """Evidence, verdict and decision all of one piece: only the rows on the disk say otherwise."""
    run, kept = promote(made), make_run(made, Asked(files=change_of(), promote=False), id=SECOND)
    sound = read_promotion(gen(run, "promotion.json"))
    own = read_promotion(gen(kept, "promotion.json")).metadata
    write_promotion(gen(kept, "promotion.json"), promotion_document(sound.evidence, sound.verdict, own))
    shutil.copytree(run.path / "champion", kept.path / "champion")
    assert "evidence.pairs[candidate_review].tasks[cart].candidate.aggregate.weighted_f1" in refused(
        made, kept
    )


def test_everything_that_is_wrong_is_said_at_once_with_what_to_do(made: Made) -> None:
    run = make_run(made, Asked(files=change_of()), Asked(files=change_of(file="rules.md", body="be quick")))
    raise_scores(run)
    edit(run.path / "gen-2" / "promotion.json", lambda data: data["metadata"].update(run="other"))
    (run.path / "champion" / PLACES[0] / "code-review" / "rules.md").write_bytes(b"mine")
    said = refused(made, run)
    assert said.count("\n  - ") >= 3
    assert said.count("restore the run folder from a copy") == said.count("\n  - ")


# Evidence that may not be applied


def test_evidence_counts_for_ninety_days(made: Made) -> None:
    run = promote(made, generated_at=NOW)
    said = refused(made, run, now=NOW + timedelta(days=90, seconds=1))
    assert "its evidence expired: it is from 2026-06-01" in said
    assert f"proposer.options.overlay=runs/{RUN}/champion" in said
    assert applied(made, run, now=NOW + timedelta(days=90)).outcome == "applied"


def test_evidence_from_the_future_is_refused_but_clocks_may_differ_by_five_minutes(made: Made) -> None:
    run = promote(made, generated_at=NOW + timedelta(minutes=5))
    assert "from the future" in refused(made, run, now=NOW - timedelta(seconds=1))
    assert applied(made, run).outcome == "applied"


def test_one_expired_generation_is_enough(made: Made) -> None:
    run = make_run(
        made,
        Asked(files=change_of(), generated_at=NOW - timedelta(days=91)),
        Asked(files=change_of(file="rules.md", body="be quick")),
    )
    said = refused(made, run)
    assert "gen-1: its evidence expired" in said
    assert "gen-2" not in said


def test_evidence_measured_on_the_host_is_never_applied(tmp_path: Path) -> None:
    plain = make_project(tmp_path / "plain").config
    made = make_project(tmp_path / "project", sandbox=structs.replace(plain.sandbox, name="host", options={}))
    said = refused(made, promote(made))
    assert "measured without containment (sandbox=host)" in said
    assert "never applied" in said


def test_evidence_of_any_other_sandbox_that_does_not_contain_is_never_applied(made: Made) -> None:
    assert "measured without containment (sandbox=bubblewrap)" in refused(
        made, promote(made, contained=False)
    )


@pytest.fixture
def searching(tmp_path: Path) -> Made:
    """A project whose policy tests, and moves the champion only."""
    plain = make_project(tmp_path / "plain").config
    options = yaml.safe_load((conf_folder() / "promotion" / "exact.yaml").read_text("utf-8"))["options"]
    changed = {
        "endpoint": "weighted_f1",
        "tier": "search",
        "search_alpha": 0.5,
        "guards": dict.fromkeys(options["guards"]),
    }
    promotion = structs.replace(plain.promotion, policy="exact", options=options | changed)
    return make_project(tmp_path / "project", promotion=promotion)


def test_a_promotion_that_only_moves_the_champion_is_not_applied(searching: Made) -> None:
    said = refused(searching, promote(searching))
    assert "tier=search, which moves the champion and releases nothing" in said
    assert "evolve experiment=release proposer=manual" in said


def test_a_release_test_that_the_promotion_hides_is_named(searching: Made) -> None:
    run = promote(searching)
    (run.path / "gen-1" / "campaign.json").write_bytes(
        canonical_json(CampaignState(name="weekly", release_test=7, head="0" * 64)) + b"\n"
    )
    said = refused(searching, run)
    assert "evidence.campaign: promotion.json says nothing, the run's files say" in said
    assert "campaigns/weekly.jsonl does not exist, and holds no release test 7" in said


def test_everything_inadmissible_is_said_at_once(tmp_path: Path) -> None:
    plain = make_project(tmp_path / "plain").config
    made = make_project(tmp_path / "project", sandbox=structs.replace(plain.sandbox, name="host", options={}))
    said = refused(made, promote(made, generated_at=NOW - timedelta(days=100)))
    assert all(word in said for word in ("expired", "sandbox=host"))


# A working tree that is not the measured one


def test_each_drifted_file_is_named(made: Made) -> None:
    run = promote(made)
    made.path(file="rules.md").write_bytes(b"# Rules\n\n* mine\n")
    made.path(file="more.md").write_bytes(b"# More\n")
    made.path(place=MIRRORS[0]).write_bytes(b"drifted\n")
    said = refused(made, run)
    assert ".claude/skills/code-review/rules.md was changed since it was measured" in said
    assert ".claude/skills/code-review/more.md was added since it was measured" in said
    assert "cursor/skills/code-review/SKILL.md is not equal to .claude/skills/code-review/SKILL.md" in said
    assert said.count("\n  - ") == 3


def test_drift_is_named_when_it_was_committed_meanwhile_also_from_inside_a_hook(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = promote(made)
    made.path().write_bytes(skill_text("code-review", "Mine."))
    made.path(file="rules.md").unlink()
    commit(made.root, "mine")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    said = refused(made, run)
    assert "SKILL.md was changed since it was measured" in said
    assert "rules.md is missing since it was measured" in said


def test_drift_from_a_state_that_was_never_committed_names_the_skill(made: Made) -> None:
    made.path(file="rules.md").write_bytes(b"uncommitted\n")
    for mirror in MIRRORS:
        shutil.copy(made.path(file="rules.md"), made.path(file="rules.md", place=mirror))
    run = promote(made)
    assert applied(made, run).outcome == "applied"
    made.path(file="rules.md").write_bytes(b"again\n")
    assert (
        "the skill `code-review` in .claude/skills/code-review is not the one that was measured"
        in refused(made, run)
    )


def test_drift_without_a_repository_is_drift_all_the_same(made: Made) -> None:
    run = promote(made)
    shutil.rmtree(made.root / ".git")
    made.path(file="rules.md").write_bytes(b"mine\n")
    assert "cannot be told" in refused(made, run)


def test_every_drifted_mirror_is_named_and_nothing_is_touched(made: Made) -> None:
    run = promote(made)
    for mirror in MIRRORS:
        made.path(place=mirror).write_bytes(b"drifted\n")
    said = refused(made, run)
    assert said.count("a drifted mirror") == 2
    assert "cp .claude/skills/code-review/SKILL.md cursor/skills/code-review/SKILL.md" in said


def test_a_missing_mirror_is_found_before_anything_is_staged(made: Made) -> None:
    run = promote(made)
    made.path(place=MIRRORS[1]).unlink()
    steps: list[Step] = []
    said = refused(made, run, observe=steps.append)
    assert "plugin/skills/code-review/SKILL.md: does not exist" in said
    assert steps == []


@pytest.mark.parametrize("place", PLACES)
def test_a_symbolic_link_on_the_way_to_a_destination_is_refused(made: Made, place: str) -> None:
    run = promote(made)
    folder = made.root / place
    folder.rename(made.root / "real")
    folder.symlink_to(made.root / "real")
    assert f"the folder {place} is a symbolic link" in refused(made, run)


def test_a_destination_that_is_a_link_is_refused(made: Made) -> None:
    run = promote(made)
    mirror = made.path(place=MIRRORS[0])
    mirror.unlink()
    mirror.symlink_to(made.path())
    assert "cursor/skills/code-review/SKILL.md: is a symbolic link" in refused(made, run)


def test_a_promotion_that_was_copied_over_by_hand_without_its_mirrors_is_explained(made: Made) -> None:
    run = promote(made)
    made.path().write_bytes(AFTER)
    said = refused(made, run)
    assert "applied to the skills themselves, but not everywhere" in said
    for mirror in MIRRORS:
        shutil.copy(made.path(), made.path(place=mirror))
    assert applied(made, run).outcome == "already-applied"


def test_an_edit_between_the_check_and_the_exchange_is_kept(made: Made) -> None:
    run = promote(made)

    def observe(step: Step) -> None:
        if step.name == "opened":
            made.path(place=MIRRORS[1]).write_bytes(b"mine\n")

    with pytest.raises(ApplyError, match=r"plugin/skills/code-review/SKILL.md was changed meanwhile"):
        applied(made, run, observe=observe)
    assert held(made, places=PLACES[:2]) == {BEFORE}
    assert made.path(place=MIRRORS[1]).read_bytes() == b"mine\n"
    assert temporaries(made.root) == []
    assert read_records(run) == ()


def test_a_record_that_cannot_be_written_takes_everything_back(made: Made) -> None:
    run = promote(made)
    (run.path / "applied.jsonl").mkdir()
    said = refused_after_storing(made, run)
    assert "applied.jsonl" in said
    assert "nothing was applied" in said
    assert held(made) == {BEFORE}


def refused_after_storing(made: Made, run: RunFolder) -> str:
    with pytest.raises(ApplyError) as error:
        applied(made, run)
    assert temporaries(made.root) == []
    return str(error.value)


# Runs that were built on others


def building(made: Made) -> Made:
    assert made.config.proposer is not None
    proposer = structs.replace(made.config.proposer, unapplied="build_on")
    return Made(made.root, structs.replace(made.config, proposer=proposer))


@pytest.fixture
def chain(made: Made) -> tuple[RunFolder, RunFolder]:
    """A run, and one that was built on it."""
    first = promote(made)
    second = make_run(
        building(made), Asked(files=change_of(file="rules.md", body="be quick")), id=SECOND, start=first
    )
    return first, second


def test_a_run_that_was_built_on_another_is_applied_with_it(
    made: Made, chain: tuple[RunFolder, RunFolder]
) -> None:
    assert len(applied(made, chain[1]).files) == 6
    assert held(made) == {AFTER}
    assert made.path(file="rules.md").read_bytes() == b"# Rules\n\n* be quick\n"


def test_a_run_that_was_built_on_an_applied_one_adds_what_is_missing(
    made: Made, chain: tuple[RunFolder, RunFolder]
) -> None:
    applied(made, chain[0])
    assert {Path(each.path).name for each in applied(made, chain[1]).files} == {"rules.md"}
    assert applied(made, chain[1]).outcome == "already-applied"


def test_the_evidence_of_the_run_that_was_built_on_counts_too(
    made: Made, chain: tuple[RunFolder, RunFolder]
) -> None:
    raise_scores(chain[0])
    assert f"{RUN}/gen-1: promotion.json: the promotion does not follow" in refused(made, chain[1])


def test_an_expired_run_that_was_built_on_is_refused_too(made: Made) -> None:
    first = promote(made, generated_at=NOW - timedelta(days=91))
    second = make_run(
        building(made), Asked(files=change_of(file="rules.md", body="be quick")), id=SECOND, start=first
    )
    assert f"{RUN}/gen-1: its evidence expired" in refused(made, second)


def test_a_champion_with_other_bytes_is_refused_also_when_it_was_built_on_another(
    made: Made, chain: tuple[RunFolder, RunFolder]
) -> None:
    champion = chain[1].path / "champion" / PLACES[0] / "code-review" / "SKILL.md"
    champion.write_bytes(skill_text("code-review", "Smuggled."))
    assert "champion/.claude/skills/code-review/SKILL.md is not what the run promoted" in refused(
        made, chain[1]
    )


def test_what_a_run_was_built_on_cannot_be_changed_either(
    made: Made, chain: tuple[RunFolder, RunFolder]
) -> None:
    shutil.rmtree(chain[1].path / "champion")
    overwrite(
        chain[1].path / "start" / PLACES[0] / "code-review" / "SKILL.md",
        skill_text("code-review", "Smuggled."),
    )
    assert "do not make the champion that was measured" in refused(made, chain[1])


def test_a_run_without_its_copy_of_the_champion_is_applied_from_what_its_generations_froze(
    made: Made, chain: tuple[RunFolder, RunFolder]
) -> None:
    shutil.rmtree(chain[0].path / "champion")
    shutil.rmtree(chain[1].path / "champion")
    assert len(applied(made, chain[1]).files) == 6
    assert held(made) == {AFTER}


# Reverting


def test_a_revert_puts_back_every_byte_and_can_be_applied_again(made: Made) -> None:
    run = promote(made)
    before = snapshot(made.root)
    applied(made, run)
    summary = revert_run(made.root, run, tools())
    assert (summary.outcome, len(summary.files)) == ("reverted", 3)
    after = snapshot(made.root)
    assert {path: after[path] for path in before} == before
    assert revert_run(made.root, run, tools()).outcome == "already-reverted"
    assert applied(made, run).outcome == "applied"
    assert [record.action for record in read_records(run)] == ["apply", "revert", "apply"]


def test_a_revert_works_long_after_the_evidence_expired(made: Made) -> None:
    run = promote(made)
    applied(made, run)
    assert revert_run(made.root, run, tools(now=NOW + timedelta(days=400))).outcome == "reverted"


def test_a_dry_revert_shows_the_way_back_and_touches_nothing(made: Made) -> None:
    run = promote(made)
    applied(made, run)
    before = snapshot(made.root)
    summary = revert_run(made.root, run, tools(), dry_run=True)
    assert snapshot(made.root) == before
    subprocess.run(("git", "apply"), cwd=made.root, input=summary.diff, text=True, check=True)
    assert held(made) == {BEFORE}
    assert revert_run(made.root, run, tools()).outcome == "already-reverted"


def not_reverted(made: Made, run: RunFolder) -> str:
    before = snapshot(made.root)
    with pytest.raises(UserError) as error:
        revert_run(made.root, run, tools())
    assert snapshot(made.root) == before
    return str(error.value)


def test_a_revert_is_refused_and_names_every_file_that_changed_since(made: Made) -> None:
    run = promote(made)
    applied(made, run)
    made.path().write_bytes(b"mine\n")
    made.path(place=MIRRORS[0]).unlink()
    said = not_reverted(made, run)
    assert ".claude/skills/code-review/SKILL.md was changed since it was applied" in said
    assert "cursor/skills/code-review/SKILL.md: does not exist" in said
    assert "plugin/skills" not in said


def test_what_was_never_applied_cannot_be_reverted(made: Made) -> None:
    assert "was never applied" in not_reverted(made, promote(made))


def test_a_revert_that_fails_leaves_the_promotion_in_place(made: Made) -> None:
    run = promote(made)
    applied(made, run)

    def observe(step: Step) -> None:
        if step == Step("exchanged", "cursor/skills/code-review/SKILL.md"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        revert_run(made.root, run, tools(observe))
    assert held(made) == {AFTER}
    assert temporaries(made.root) == []
    assert [record.action for record in read_records(run)] == ["apply"]


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/passwd", "evolve.toml", ".claude/skills/other/SKILL.md"]
)
def test_a_record_that_names_a_file_of_no_skill_is_refused(made: Made, path: str) -> None:
    run = promote(made)
    applied(made, run)
    edit(run.path / "applied.jsonl", lambda data: data["files"][0].update(path=path))
    assert f"applied.jsonl names {path}" in not_reverted(made, run)


def test_bytes_that_the_object_store_lost_cannot_be_put_back(made: Made) -> None:
    run = promote(made)
    applied(made, run)
    digest = digest_bytes(BEFORE)
    (run.objects / digest[:2] / digest[2:]).unlink()
    assert f"object {digest} cannot be read" in not_reverted(made, run)


@pytest.mark.parametrize(
    ("line", "message"), [(b"{}\n", "line 1 is not a record"), (b"\xff\n", "line 1 is not a record")]
)
def test_a_record_that_is_none_is_named(made: Made, line: bytes, message: str) -> None:
    run = promote(made)
    (run.path / "applied.jsonl").write_bytes(line)
    assert message in not_reverted(made, run)


def test_a_record_of_another_version_is_refused(made: Made) -> None:
    run = promote(made)
    applied(made, run)
    edit(run.path / "applied.jsonl", lambda data: data.update(schema_version=2))
    assert "schema_version 2 is not supported" in not_reverted(made, run)
