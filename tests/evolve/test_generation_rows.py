"""A generation decides on the rows of its own plan only; anything else is a bug, and nothing is decided on it."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

import bench
from bench.arms import Cell
from bench.config import load_config
from bench.digest import digest_json
from bench.results import Row
from bench.sweep import Declared, Plan, SweepResult
from evolve.gate import Evidence
from evolve.generation import Conditions, _evidence

sys.path.insert(0, str(Path(__file__).parents[1] / "bench" / "results"))
from row_builders import make_row, score

STARTER = Path(bench.__file__).parent / "starter" / "project"
CONFIG = load_config([], root=STARTER)[0]
ARMS = ("review", "candidate_review")
CELLS = tuple(
    Cell(index=index, task="a", arm=arm, role=CONFIG.arms[arm].role, repeat=0)
    for index, arm in enumerate(ARMS)
)
PLAN = Plan(
    schema_version=1, generation=1, suite="s", overlay="o", configuration="c", seed=CONFIG.seed,
    declared=Declared(
        suite="s", agent="rulebook/1", model="rulebook/1", deterministic=True, contained=True, critical=()
    ),
    proposed=None, arms=ARMS, tasks=("a",), cells=CELLS, left_out={},
)  # fmt: skip


def row(arm: str, **changes: Any) -> Row:
    made = make_row("a", arm, scored=score())
    planned = {"plan": digest_json(PLAN), "seed": CONFIG.seed, "model": CONFIG.model.id}
    identity = structs.replace(made.identity, **(planned | changes))
    overlay = "o" if arm == "candidate_review" else None
    return structs.replace(
        made, identity=identity, provenance=structs.replace(made.provenance, overlay=overlay)
    )


def decide_on(*rows: Row, pairs_repeats: bool = False, stopped: str | None = None) -> Evidence:
    ground = SimpleNamespace(
        config=CONFIG,
        tasks=[SimpleNamespace(id="a", class_="review-defect", split="train", critical=False)],
        measured_model="rulebook/1",
        agent=SimpleNamespace(deterministic=True, calls_model=False),
    )
    conditions: Any = Conditions(
        ground=ground,
        policy=SimpleNamespace(pairs_repeats=pairs_repeats),
        run=None,
        watcher=None,
        cancellation=None,
    )
    return _evidence(conditions, PLAN, SweepResult(rows, stopped))


def test_the_rows_of_the_plan_are_the_evidence() -> None:
    assert len(decide_on(*map(row, ARMS)).pairs) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [({"plan": "q"}, "another plan"), ({"effort": "high"}, "another effort"), ({"repeat": 7}, "not planned")],
)
def test_a_row_that_the_sweep_cannot_have_measured_is_a_bug(change: dict[str, Any], said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        decide_on(row("review"), row("candidate_review", **change))


def test_a_policy_that_pairs_repeats_gets_them_in_pairs_unless_the_sweep_was_cut_short() -> None:
    with pytest.raises(RuntimeError, match="not paired"):
        decide_on(row("review"), pairs_repeats=True)
    assert decide_on(row("review")).pairs
    assert decide_on(row("review"), pairs_repeats=True, stopped="deadline").pairs
