"""Rows for tests: only what a test is about is said, the rest is plausible."""

from datetime import UTC, datetime

from bench.agents import Usage
from bench.results import SCHEMA_VERSION, Identity, Kind, Outcome, Provenance, Row, Timings
from bench.scoring import ReviewScore

ROLES = {"candidate_review": "candidate", "no_skill": "comparator"}
STATUS_OF = {
    "review-invalid": "unusable",
    "boundary-violated": "unusable",
    "session-error": "failed",
    "infra-error": "failed",
    "cleanup-failure": "failed",
    "cancelled": "stopped",
    "breaker": "stopped",
}


def score(
    f1: float = 0.5,
    *,
    clean: bool = False,
    false_positives: int = 0,
    blocker_recall: float = 1.0,
    verdict_right: bool = True,
    clean_pass: bool | None = None,
) -> ReviewScore:
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
    task: str = "review-cart",
    arm: str = "review",
    repeat: int = 0,
    *,
    kind: Kind | None = "oracle-failed",
    attempt: int = 0,
    scored: ReviewScore | None = None,
    cost: float | None = 0.25,
    turns: int | None = 3,
    output: int | None = None,
    seconds: float = 12.5,
    invoked: bool = True,
    generation: int = 1,
    split: str = "train",
    hidden_command: str | None = None,
) -> Row:
    """A row of kind `kind` (None: resolved); scored if it was measured and is not of work with a hidden command."""
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
            oracle_command=hidden_command, assets="h", dependencies="i", skill="j", overlay=None, plugin=None, agent="k",
            harness="l", sandbox="m", configuration="n",
        ),
        outcome=Outcome(status=status, kind=kind, resolved=kind is None, skill_invoked=invoked if measured else None),
        score=(score() if scored is None else scored) if measured and not hidden_command else None,
        usage=Usage(cost_usd=cost, turns=turns, output=output, source="agent"),
        sessions={},
        timings=Timings(sessions=seconds, total=seconds + 1),
        change=None,
        artifacts={},
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        finished_at=datetime(2026, 1, 1, 0, 1, tzinfo=UTC),
    )  # fmt: skip
