"""The vectorised twin decides as the policies do: on random sweeps, and on both sides of every boundary."""

from random import Random
from typing import Any

import numpy as np
import pytest
import twin
import yaml

from bench.config import conf_folder
from evolve.certify import arm_of, evidence_of, outcome_row
from evolve.gate import ANYTIME, EXACT, Evidence, Policy, TaskEvidence

BOTH = pytest.mark.parametrize("name", ["exact", "anytime"])


def policy(name: str, **changes: Any) -> Policy:
    options = yaml.safe_load((conf_folder() / "promotion" / f"{name}.yaml").read_text("utf-8"))["options"]
    return {"exact": EXACT, "anytime": ANYTIME}[name].create(
        options | {"endpoint": "resolved", "tier": "search", "search_alpha": 0.05} | changes
    )


def as_evidence(sweeps: twin.Sweeps, index: int) -> Evidence:
    """The sweep as a policy sees it: costs that have the twin's log ratios, in whole units."""
    tasks = []
    for number, (before, now, ratio) in enumerate(
        zip(sweeps.incumbent[index], sweeps.candidate[index], sweeps.ratio[index], strict=True)
    ):
        incumbent = [outcome_row(r, resolved=bool(done), cost=1.0) for r, done in enumerate(before)]
        candidate = [
            outcome_row(r, resolved=bool(done), cost=float(np.exp(-units / 1000)))
            for r, (done, units) in enumerate(zip(now, ratio, strict=True))
        ]
        tasks.append(
            TaskEvidence(
                task=f"t{number}", task_class="implementation", split="train", critical=False,
                incumbent=arm_of(incumbent), candidate=arm_of(candidate),
            )
        )  # fmt: skip
    return evidence_of(tasks)


def disagreements(chosen: Policy, sweeps: twin.Sweeps) -> list[int]:
    """The sweeps on which the policy and its twin decide otherwise."""
    return [
        index
        for index, promoted in enumerate(twin.promotes(chosen, sweeps))
        if (chosen.decide(as_evidence(sweeps, index)).decision == "promote") != promoted
    ]


@BOTH
@pytest.mark.slow
def test_the_twin_agrees_on_random_sweeps(name: str) -> None:
    """2,000 for each policy: designs, effects, guards that are easily broken, and both levels."""
    random = Random(0)
    for seed in range(40):
        tasks, repeats = random.choice(((3, 3), (5, 4), (8, 3), (12, 2), (4, 8), (3, 10)))
        guards = {
            each: {"margin": random.choice((0.0, 0.2)), "cap": random.choice((0.05, 0.25))}
            for each in ("resolution", "cost_usd", "seconds")
        } | {"blocker_recall": None, "false_positives": None}
        sweeps = twin.draw_sweeps(
            np.random.default_rng(seed), 50, tasks, repeats, random.choice((0.0, 0.2, 0.4)),
            saving=random.choice((0.0, -0.3)), variation=random.choice((0.1, 0.3)),
        )  # fmt: skip
        chosen = policy(name, guards=guards, search_alpha=random.choice((0.05, 0.2)))
        assert disagreements(chosen, sweeps) == []


@BOTH
def test_the_twin_agrees_on_a_few(name: str) -> None:
    assert disagreements(policy(name), twin.draw_sweeps(np.random.default_rng(1), 40, 6, 3, 0.3)) == []


@BOTH
def test_the_twin_agrees_on_both_sides_of_every_boundary(name: str) -> None:
    """For each number of differing pairs of an 8 x 3 design: one win too few, and just enough."""
    chosen = policy(name)
    for differing in range(1, 25):
        for wins in range(differing + 1):
            order = np.zeros(24, dtype=np.int8)
            order[:wins], order[wins:differing] = 1, -1
            table = order.reshape(3, 8).T[None]
            sweeps = twin.Sweeps(table < 0, table > 0, np.zeros_like(table, dtype=np.int64))
            if wins in (0, differing) or abs(2 * wins - differing) > differing // 3:
                assert disagreements(chosen, sweeps) == []
