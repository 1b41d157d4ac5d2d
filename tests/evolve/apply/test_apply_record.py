"""promotion.json of a run must be what follows from its other files: an edit of any field is refused by its name."""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from apply_builders import NOW, STARTER, Asked, Made, change_of, make_project, make_run, promote, tools
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from bench.config import load_config
from bench.digest import canonical_json
from bench.errors import UserError
from bench.project import RunFolder
from evolve.apply import apply_run, offer_refusal, promoted_overlay
from evolve.gate import (
    Promotion,
    PromotionMetadata,
    RowEvidence,
    policy_named,
    promotion_document,
    read_promotion,
    write_promotion,
)
from evolve.history import read_history
from evolve.promoted.differences import differences


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return make_project(tmp_path / "project")


def file_of(run: RunFolder) -> Path:
    return run.path / "gen-1" / "promotion.json"


def decided_again(data: Any) -> Promotion:
    """A document that is sound in itself: the verdict is the one that its policy reaches on its evidence."""
    edited = msgspec.convert(json.loads(canonical_json(data)), Promotion)
    verdict = policy_named(edited.verdict.policy, edited.verdict.parameters).decide(edited.evidence)
    return promotion_document(edited.evidence, verdict, edited.metadata)


def edit(run: RunFolder, change: Callable[[Any], object]) -> None:
    """Edit promotion.json and reach its decision again, as somebody would who wants it to be taken."""
    data = json.loads(file_of(run).read_bytes())
    change(data)
    document = decided_again(data)
    assert document.decision == "promote", document.verdict.reasons
    write_promotion(file_of(run), document)


def refused(made: Made, run: RunFolder) -> str:
    with pytest.raises(UserError) as error:
        apply_run(made.root, run, tools())
    return str(error.value)


def task(data: Any, name: str = "cart") -> Any:
    return next(each for each in data["evidence"]["pairs"][0]["tasks"] if each["task"] == name)


def row(data: Any) -> Any:
    return task(data)["candidate"]["rows"][0]


CART = "evidence.pairs[candidate_review].tasks[cart]"
PARAMETERS: dict[str, Any] = {"min_runs": 1, "min_improvement": 0.001, "verdict": "always_right"}
METADATA: dict[str, Any] = {
    "run": "20260601T100000Z-aaaaaa-0009", "generation": 2, "idea": "a better idea", "idea_digest": "0" * 64,
    "suite": "wild", "suite_digest": "0" * 64, "overlay": "0" * 64, "agent": "rulebook/2", "contained": False,
    "configuration": "0" * 64, "rows": "0" * 64, "exit_code": 1,
}  # fmt: skip
FACTS: dict[str, Any] = {"task_class": "review-clean", "split": "holdout", "critical": True}
ROW: dict[str, Any] = {
    "row": "0" * 64, "repeat": 9, "fresh": False, "resolved": True, "skill_invoked": False, "score": None,
    "cost_usd": 0.01, "turns": 1, "seconds": 0.5, "output": 7,
}  # fmt: skip
AGGREGATE: dict[str, Any] = {
    "resolved": 3, "skill_not_invoked": 1, "weighted_f1": 0.99, "false_positives": -1.0, "blocker_recall": 2.0,
    "clean_pass": True, "cost_usd": 0.01, "turns": 1.0, "seconds": 0.5, "output": 7.0,
}  # fmt: skip
FIELDS: dict[str, Callable[[Any], object]] = (
    {
        f"metadata.{name}": lambda data, name=name, value=value: data["metadata"].update({name: value})
        for name, value in METADATA.items()
    }
    | {
        f"metadata.{name}.code-review": lambda data, name=name: data["metadata"][name].update(
            {"code-review": "0" * 64}
        )
        for name in ("base_skills", "result_skills")
    }
    | {
        f"verdict.parameters.{name}": lambda data, name=name, value=value: data["verdict"][
            "parameters"
        ].update({name: value})
        for name, value in PARAMETERS.items()
    }
    | {
        f"{CART}.{name}": lambda data, name=name, value=value: task(data).update({name: value})
        for name, value in FACTS.items()
    }
    | {
        f"{CART}.candidate.rows[0].{name}".replace(
            "rows[0].repeat", "rows["
        ): lambda data, name=name, value=value: row(data).update({name: value})
        for name, value in ROW.items()
    }
    | {
        f"{CART}.candidate.aggregate.{name}": lambda data, name=name, value=value: task(data)["candidate"][
            "aggregate"
        ].update({name: value})
        for name, value in AGGREGATE.items()
    }
    | {
        "evidence.model": lambda data: data["evidence"].update(model="gpt"),
        "evidence.deterministic": lambda data: data["evidence"].update(deterministic=True),
        "evidence.split": lambda data: data["evidence"].update(split="train"),
        CART: lambda data: data["evidence"]["pairs"][0]["tasks"].remove(task(data)),
        "evidence.pairs[candidate_review].tasks[quotes].critical": lambda data: task(data, "quotes").update(
            critical=False
        ),
        "evidence.pairs[candidate_review].incumbent_arm": lambda data: data["evidence"]["pairs"][0].update(
            incumbent_arm="no_skill"
        ),
        "evidence.pairs[candidate_review]": lambda data: data["evidence"]["pairs"][0].update(
            candidate_arm="candidate_other"
        ),
        "evidence.pairs[candidate_second]": lambda data: data["evidence"]["pairs"].append(
            data["evidence"]["pairs"][0] | {"candidate_arm": "candidate_second"}
        ),
        "evidence.pairs[candidate_review].tasks[extra]": lambda data: data["evidence"]["pairs"][0][
            "tasks"
        ].append(task(data) | {"task": "extra"}),
    }
)


@pytest.mark.parametrize(("field", "change"), FIELDS.items(), ids=FIELDS.keys())
def test_a_field_that_was_edited_is_refused_by_name_also_after_deciding_again(
    made: Made, field: str, change: Callable[[Any], object]
) -> None:
    run = promote(made)
    edit(run, change)
    said = refused(made, run)
    assert f"promotion.json: {field}" in said, said
    assert "the run's files say" in said
    history = read_history(made.root)
    assert history.judgements == ()
    (line,) = history.skipped
    assert str(file_of(run)) in line
    assert field in line
    with pytest.raises(UserError, match="cannot be built on"):
        promoted_overlay(run)


def test_every_field_of_the_metadata_and_of_the_facts_is_edited_above() -> None:
    def edited(place: str) -> set[str]:
        return {name.removeprefix(place).split(".")[0] for name in FIELDS if name.startswith(place)}

    assert edited("metadata.") | {"generated_at"} == set(PromotionMetadata.__struct_fields__)
    assert edited(f"{CART}.") - {"candidate"} == {"task_class", "split", "critical"}
    assert edited(f"{CART}.candidate.rows[0].") | {"repeat"} == set(RowEvidence.__struct_fields__)
    assert edited("verdict.parameters.") == set(SAMPLE.verdict.parameters)


def test_a_task_that_is_there_twice_is_a_difference(made: Made) -> None:
    run = promote(made)
    edit(run, lambda data: data["evidence"]["pairs"][0]["tasks"].insert(0, task(data)))
    assert "promotion.json: evidence.pairs[candidate_review].tasks[" in refused(made, run)


def test_another_policy_that_would_have_promoted_is_refused_by_name(tmp_path: Path) -> None:
    cost = load_config(["promotion=threshold_cost", "promotion.options.metric=turns"], root=STARTER)[
        0
    ].promotion
    promoting = promote(make_project(tmp_path / "promoting"))
    made = make_project(tmp_path / "project", promotion=cost)
    run = make_run(made, Asked(files=change_of(), better=True, promote=False))
    stated = read_promotion(file_of(run))
    verdict = policy_named("threshold_review", read_promotion(file_of(promoting)).verdict.parameters)
    write_promotion(
        file_of(run), promotion_document(stated.evidence, verdict.decide(stated.evidence), stated.metadata)
    )
    assert read_promotion(file_of(run)).decision == "promote"
    said = refused(made, run)
    assert (
        'verdict.policy: promotion.json says "threshold_review", the run\'s files say "threshold_cost"'
        in said
    )


def test_a_verdict_from_before_its_last_row_is_refused_by_the_name_of_the_time(made: Made) -> None:
    run = promote(made)
    early = (NOW - timedelta(hours=1, seconds=1)).isoformat().replace("+00:00", "Z")
    edit(run, lambda data: data["metadata"].update(generated_at=early))
    assert "metadata.generated_at: it says 2026-06-01T10:59:59+00:00, but the last row" in refused(made, run)
    assert len(read_history(made.root).skipped) == 1


def test_a_promotion_that_apply_would_refuse_is_not_offered_and_the_reason_is_one_line(made: Made) -> None:
    run, canonical = promote(made), {"code-review": "0" * 64}
    assert offer_refusal(made.root, run, canonical, NOW) is None
    for now, word in ((NOW + timedelta(days=91), "expired"), (NOW - timedelta(days=1), "from the future")):
        said = offer_refusal(made.root, run, canonical, now)
        assert said is not None
        assert word in said
        assert "\n" not in said
    (run.path / "gen-1" / "plan.json").unlink()
    assert "cannot be read" in str(offer_refusal(made.root, run, canonical, NOW))


def test_a_change_of_plan_or_configuration_does_not_make_an_edit_right(made: Made) -> None:
    """Whoever edits the plan too breaks its digest, which every row carries."""
    run = promote(made)
    edit(run, lambda data: task(data, "quotes").update(critical=False))
    path = run.path / "gen-1" / "plan.json"
    plan = json.loads(path.read_bytes())
    plan["declared"]["critical"] = []
    path.write_bytes(canonical_json(plan) + b"\n")
    assert "plan.json is not the one that the rows" in refused(made, run)


def test_a_champion_is_a_copy_that_is_there_whole_or_not_at_all(made: Made) -> None:
    run = promote(made)
    assert not list(run.path.glob(".champion*"))
    shutil.rmtree(run.path / "champion")
    assert apply_run(made.root, run, tools()).outcome == "applied"


@given(st.data())
def test_two_promotions_have_no_difference_exactly_if_they_are_equal(data: st.DataObject) -> None:
    value = st.sampled_from(("a", "b"))
    numbers = st.sampled_from((0, 1))
    first, second = (
        msgspec.structs.replace(
            SAMPLE,
            metadata=structs.replace(SAMPLE.metadata, idea=data.draw(value), exit_code=data.draw(numbers)),
            evidence=structs.replace(SAMPLE.evidence, model=data.draw(st.sampled_from((None, "m")))),
        )
        for _ in range(2)
    )
    found = differences(first, second)
    assert bool(found) == (canonical_json(first) != canonical_json(second))
    assert ("metadata.idea" in " ".join(found)) == (first.metadata.idea != second.metadata.idea)


def _sample() -> Promotion:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        made = make_project(Path(folder) / "project")
        return read_promotion(file_of(promote(made)))


SAMPLE = _sample()
