"""Running what judges an answer: labels against a review, the visible check and the hidden test of work."""

from collections.abc import Iterable

from msgspec import Struct

from bench.arms.judge import Checks, Finding, review_passed
from bench.arms.places import Place
from bench.arms.session import check_place
from bench.arms.workbench import Workbench
from bench.cancellation import Cancellation
from bench.errors import ReviewInvalid
from bench.scoring import CheckResult, read_review, run_oracle, run_verify, score_review
from bench.suite import CommandOracle, LabelOracle, Task
from bench.workspace import Entry


class Checked(Struct, frozen=True):
    """What the checks of a review found; `finding` if what it left cannot be scored."""

    checks: Checks
    finding: Finding | None = None


def check_review(oracle: LabelOracle, artifact: bytes | None) -> Checked:
    """Score a review's artifact against the hidden labels."""
    try:
        review = read_review(artifact)
    except ReviewInvalid as error:
        return Checked(Checks(), Finding("unusable", "review-invalid", str(error)))
    score = score_review(review, oracle.labels)
    return Checked(Checks(score=score, oracle_passed=review_passed(score)))


def check_visibly(
    bench: Workbench, task: Task, place: Place, cancellation: Cancellation
) -> CheckResult | None:
    """Run the check that the agent could see, on a throw-away layer above what it left."""
    if not task.verify:
        return None
    with bench.cpu:
        return run_verify(
            bench.sandbox,
            check_place(
                bench.config, bench.environments, task, place, place.copy.throwaway(place.layout.workspace)
            ),
            task.verify,
            cancellation,
        )


def check_hidden(
    bench: Workbench,
    task: Task,
    oracle: CommandOracle,
    place: Place,
    changed: Iterable[Entry],
    cancellation: Cancellation,
) -> CheckResult:
    """Run the hidden test on a throw-away layer of its own: nothing that the visible check wrote is there.
    `changed` is what differs in the working copy.
    """
    with bench.cpu:
        view = place.copy.last(place.layout.workspace, changed)
        where = check_place(bench.config, bench.environments, task, place, view)
        return run_oracle(bench.sandbox, where, oracle, cancellation)
