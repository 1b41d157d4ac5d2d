"""Evidence for tests of `threshold_cost`: what arms resolved and took on tasks of work, by hand and by hypothesis."""

from typing import Any

import msgspec
from evidence_builders import evidence, pair, task
from hypothesis import strategies as st

from bench.results import Aggregate
from evolve.gate import THRESHOLD_COST, ArmEvidence, Evidence, Policy, RowEvidence, TaskEvidence

OPTIONS = {
    "metric": "cost_usd",
    "min_runs": 3,
    "min_improvement_pct": 5.0,
    "max_task_regression_pct": 20.0,
    "max_failed_task_regression_pct": 100.0,
    "min_gated_task_ratio": 0.5,
    "resolution_margin": 2,
}


def policy(**options: Any) -> Policy:
    return THRESHOLD_COST.create(OPTIONS | options)


def work(
    cost: float | None = 10.0,
    resolved: int | None = None,
    *,
    measured: int = 3,
    unused: int = 0,
    excluded: dict[str, int] | None = None,
    **changes: Any,
) -> ArmEvidence:
    """One arm on one task: every metric is `cost`, every cell is resolved if not said otherwise."""
    numbers = {
        "runs": measured + sum((excluded or {}).values()),
        "measured": measured,
        "excluded": excluded or {},
        "resolved": measured if resolved is None else resolved,
        "skill_not_invoked": unused,
        "clean_control": None,
        "weighted_f1": None,
        "false_positives": None,
        "blocker_recall": None,
        "verdicts_right": None,
        "clean_pass": None,
        **dict.fromkeys(("cost_usd", "turns", "seconds", "output"), cost),
    }
    return ArmEvidence(
        aggregate=Aggregate(**(numbers | changes)), rows=tuple(work_row(repeat) for repeat in range(measured))
    )


def work_row(repeat: int) -> RowEvidence:
    return RowEvidence(
        row=f"{repeat}", repeat=repeat, fresh=True, resolved=True, skill_invoked=True, score=None,
        cost_usd=10.0, turns=10, seconds=10.0, output=10,
    )  # fmt: skip


def job(
    name: str, incumbent: ArmEvidence | None, candidate: ArmEvidence | None, *, split: str = "train"
) -> TaskEvidence:
    return task(name, incumbent, candidate, split=split, task_class="fix")


def cheaper(name: str = "cheap", **changes: Any) -> TaskEvidence:
    return job(name, work(10.0), work(9.0), **changes)


def equal(name: str = "equal", **changes: Any) -> TaskEvidence:
    return job(name, work(10.0), work(10.0), **changes)


def failed(name: str = "hard", cost: float | None = 10.0) -> TaskEvidence:
    """A task that neither arm resolves, on which the candidate takes `cost` where the incumbent takes 10."""
    return job(name, work(10.0, 0), work(cost, 0))


_costs = st.sampled_from((4.0, 7.9, 9.0, 9.5, 10.0, 12.0, 12.1, 25.0))


@st.composite
def complete_jobs(draw: st.DrawFn, least: int = 1, most: int = 5) -> list[TaskEvidence]:
    """Tasks that nothing is missing of."""
    found = []
    for number in range(draw(st.integers(least, most))):
        measured = draw(st.integers(3, 4))
        arms = []
        for _ in ("incumbent", "candidate"):
            solved = draw(st.sampled_from((0, 0, 1, measured - 1, measured, measured, measured)))
            unused = draw(st.sampled_from((0, 0, 0, measured - solved)))
            arms.append(work(draw(_costs), solved, measured=measured, unused=unused))
        found.append(job(f"t{number}", *arms, split=draw(st.sampled_from(("train", "holdout")))))
    return found


@st.composite
def any_arm(draw: st.DrawFn) -> ArmEvidence | None:
    """Arms of which anything may be missing."""
    if draw(st.integers(0, 7)) == 0:
        return None
    measured = draw(st.sampled_from((0, 1, 2, 3, 3, 3, 3, 4)))
    arm = work(
        draw(st.one_of(_costs, st.sampled_from((None, 0.0, 5e-324, 1e15)))),
        draw(st.integers(0, measured)),
        measured=measured,
        excluded=draw(st.sampled_from((None, None, None, {"cleanup-failure": 1}))),
        unused=draw(st.sampled_from((0, 0, min(1, measured)))),
    )
    return msgspec.structs.replace(arm, rows=arm.rows[1:]) if draw(st.integers(0, 7)) == 0 else arm


@st.composite
def any_jobs(draw: st.DrawFn) -> Evidence:
    names = draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4))
    pairs = [
        pair(
            *(
                job(name, draw(any_arm()), draw(any_arm()), split=draw(st.sampled_from(("train", "holdout"))))
                for name in names
            ),
            incumbent="direct",
            candidate=candidate,
        )
        for candidate in draw(
            st.lists(st.sampled_from(("candidate_a", "candidate_b")), unique=True, max_size=2)
        )
    ]
    return evidence(
        pairs=tuple(pairs),
        model=draw(st.sampled_from((None, "m-1", "m-1"))),
        deterministic=draw(st.booleans()),
        stopped=draw(st.sampled_from((None, None, "deadline"))),
        split=draw(st.sampled_from(("all", "all", "train", "holdout"))),
    )
