"""Rows for tests: only what a test is about is said, the rest is plausible."""

from datetime import UTC, datetime

from bench.agents import Usage
from bench.results import SCHEMA_VERSION, Identity, Outcome, Provenance, Row, Timings
from bench.scoring import ReviewScore

ROLES = {"candidate_review": "candidate", "no_skill": "comparator"}
STATUS_OF = {
    "review-invalid": "unusable",
    "boundary-violated": "unusable",
    "session-error": "failed",
    "infra-error": "failed",
    "cancelled": "stopped",
    "breaker": "stopped",
}


def score(f1=0.5, *, clean=False, false_positives=0, blocker_recall=1.0, verdict_right=True, clean_pass=None):
    """A review's score; `f1` None and `clean` True for a clean control."""
    return ReviewScore(
        true_positives=1,
        false_positives=false_positives,
        false_negatives=0,
        precision=None,
        recall=None,
        f1=None if clean else f1,
        weighted_precision=None,
        weighted_recall=None,
        weighted_f1=None if clean else f1,
        blocker_recall=None if clean else blocker_recall,
        severity_accuracy=None,
        category_accuracy=None,
        verdict_right=verdict_right,
        clean_control=clean,
        clean_pass=(false_positives == 0 if clean_pass is None else clean_pass) if clean else None,
    )


def make_row(
    task="review-cart",
    arm="review",
    repeat=0,
    *,
    kind="oracle-failed",
    attempt=0,
    scored=None,
    cost=0.25,
    turns=3,
    seconds=12.5,
    invoked=True,
    generation=1,
    split="train",
):
    """A row of kind `kind` (None: resolved); scored unless it was not measured."""
    status = STATUS_OF.get(kind, "measured")
    measured = status == "measured"
    return Row(
        schema_version=SCHEMA_VERSION,
        identity=Identity(
            task=task, task_class="review-defect", split=split, arm=arm, role=ROLES.get(arm, "incumbent"),
            repeat=repeat, generation=generation, plan="p" * 64, attempt=attempt, agent="rulebook",
            agent_version="1", model=None, effort=None, seed=0,
        ),
        provenance=Provenance(
            base_commit="a", sanitized_commit="b", template="c", prompt="d", setup="e", verify="f", oracle="g",
            oracle_command=None, assets="h", dependencies="i", skill="j", overlay=None, plugin=None, agent="k",
            harness="l", sandbox="m", configuration="n",
        ),
        outcome=Outcome(status=status, kind=kind, resolved=kind is None, skill_invoked=invoked if measured else None),
        score=(score() if scored is None else scored) if measured else None,
        usage=Usage(cost_usd=cost, turns=turns, source="agent"),
        sessions={},
        timings=Timings(sessions=seconds, total=seconds + 1),
        change=None,
        artifacts={},
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        finished_at=datetime(2026, 1, 1, 0, 1, tzinfo=UTC),
    )  # fmt: skip
