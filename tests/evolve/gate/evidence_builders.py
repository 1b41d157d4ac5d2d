"""Evidence for tests of policies: numbers of arms on tasks, by hand and by hypothesis."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from bench.results import Aggregate
from evolve.gate import (
    THRESHOLD_REVIEW,
    ArmEvidence,
    Evidence,
    PairEvidence,
    Policy,
    RowEvidence,
    TaskEvidence,
)

OPTIONS = {"min_runs": 3, "min_improvement": 0.01, "verdict": "not_worse"}
RANKS = {"insufficient_evidence": 0, "keep_incumbent": 1, "promote": 2}


def policy(**options: Any) -> Policy:
    return THRESHOLD_REVIEW.create(OPTIONS | options)


def arm(
    f1: float = 0.5,
    *,
    clean: bool = False,
    measured: int = 3,
    excluded: dict[str, int] | None = None,
    **changes: Any,
) -> ArmEvidence:
    """One arm on one task with as many rows as were measured."""
    numbers = {
        "runs": measured + sum((excluded or {}).values()),
        "measured": measured,
        "excluded": excluded or {},
        "resolved": 0,
        "skill_not_invoked": 0,
        "clean_control": clean,
        "weighted_f1": None if clean else f1,
        "false_positives": 0.0,
        "blocker_recall": None if clean else 1.0,
        "verdicts_right": measured,
        "clean_pass": True if clean else None,
        "cost_usd": None,
        "turns": 3.0,
        "seconds": 1.0,
        "output": None,
    }
    return ArmEvidence(
        aggregate=Aggregate(**(numbers | changes)),
        rows=tuple(evidence_row(repeat, f1=None if clean else f1) for repeat in range(measured)),
    )


def evidence_row(repeat: int, *, f1: float | None) -> RowEvidence:
    return RowEvidence(
        row=f"{repeat}/{f1}", repeat=repeat, fresh=True, resolved=False, skill_invoked=True, score=None,
        cost_usd=None, turns=3, seconds=1.0, output=None,
    )  # fmt: skip


def task(
    name: str = "defect",
    incumbent: ArmEvidence | None = None,
    candidate: ArmEvidence | None = None,
    *,
    split: str = "train",
    task_class: str = "review-defect",
) -> TaskEvidence:
    return TaskEvidence(
        task=name,
        task_class=task_class,
        split=split,
        critical=False,
        incumbent=incumbent,
        candidate=candidate,
    )


def better(name: str = "defect", **changes: Any) -> TaskEvidence:
    return task(name, arm(0.5), arm(0.75), **changes)


def same(name: str = "other", **changes: Any) -> TaskEvidence:
    return task(name, arm(0.5), arm(0.5), **changes)


def clean(name: str = "clean", **candidate: Any) -> TaskEvidence:
    return task(name, arm(clean=True), arm(clean=True, **candidate), task_class="review-clean")


def evidence(*tasks: TaskEvidence, **changes: Any) -> Evidence:
    fields = {
        "schema_version": 1,
        "model": "rulebook/1",
        "deterministic": False,
        "stopped": None,
        "split": "all",
        "pairs": (pair(*tasks),),
    }
    return Evidence(**(fields | changes))


def pair(
    *tasks: TaskEvidence, incumbent: str = "review", candidate: str = "candidate_review"
) -> PairEvidence:
    return PairEvidence(incumbent_arm=incumbent, candidate_arm=candidate, tasks=tasks)


def with_candidate(one: TaskEvidence, **changes: Any) -> TaskEvidence:
    """A task whose candidate's numbers are changed."""
    total = msgspec.structs.replace(one.candidate.aggregate, **changes)
    return msgspec.structs.replace(one, candidate=ArmEvidence(aggregate=total, rows=one.candidate.rows))


_f1 = st.sampled_from((0.0, 0.25, 0.5, 0.505, 0.75, 1.0))
_fps = st.sampled_from((0.0, 1.0, 2.5))


@st.composite
def complete_arms(draw: st.DrawFn, is_clean: bool, measured: int) -> ArmEvidence:
    return arm(
        draw(_f1),
        clean=is_clean,
        measured=measured,
        false_positives=draw(_fps),
        blocker_recall=None if is_clean else draw(st.sampled_from((0.0, 0.5, 1.0))),
        verdicts_right=draw(st.integers(0, measured)),
        clean_pass=draw(st.booleans()) if is_clean else None,
    )


@st.composite
def complete_tasks(draw: st.DrawFn, least: int = 1, most: int = 4) -> list[TaskEvidence]:
    """Tasks that nothing is missing of."""
    found = []
    for number in range(draw(st.integers(least, most))):
        is_clean, measured = draw(st.booleans()), draw(st.integers(3, 5))
        found.append(
            task(
                f"t{number}",
                draw(complete_arms(is_clean, measured)),
                draw(complete_arms(is_clean, measured)),
                split=draw(st.sampled_from(("train", "holdout"))),
                task_class="review-clean" if is_clean else "review-defect",
            )
        )
    return found


@st.composite
def any_arms(draw: st.DrawFn) -> ArmEvidence | None:
    """Arms of which anything may be missing."""
    if draw(st.integers(0, 5)) == 0:
        return None
    unknown = draw(
        st.sampled_from(
            (None, "weighted_f1", "false_positives", "verdicts_right", "clean_pass", "clean_control")
        )
    )
    return arm(
        draw(_f1),
        clean=draw(st.booleans()),
        measured=draw(st.integers(0, 4)),
        excluded=draw(st.sampled_from((None, None, {"review-invalid": 1}))),
        **({unknown: None} if unknown else {}),
    )


@st.composite
def any_evidence(draw: st.DrawFn) -> Evidence:
    names = draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4))
    pairs = [
        pair(
            *(
                task(
                    name,
                    draw(any_arms()),
                    draw(any_arms()),
                    split=draw(st.sampled_from(("train", "holdout"))),
                )
                for name in names
            ),
            candidate=candidate,
        )
        for candidate in draw(
            st.lists(st.sampled_from(("candidate_a", "candidate_b")), unique=True, max_size=2)
        )
    ]
    return evidence(
        pairs=tuple(pairs),
        model=draw(st.sampled_from((None, "rulebook/1"))),
        deterministic=draw(st.booleans()),
        stopped=draw(st.sampled_from((None, "deadline"))),
        split=draw(st.sampled_from(("all", "train", "holdout"))),
    )
