"""One verdict over all points of a multirun, because one skill file ships for all of them. Pure.

Gain: the exact sign-flip test (binary endpoints: the sign test, which is the same test) on the paired differences of
all points together. Under the hypothesis that the candidate is no better anywhere, the two arms of every pair are
exchangeable, whichever point the pair is of: so the 2ⁿ flips of the united pairs are equally likely, and
p = P(S ≥ Σ d) over them is exact. Source: Fisher 1935 (The Design of Experiments, §21), stratified as in Mantel 1963
(JASA 58): strata add to one sum, and only signs within a pair are exchanged. Several candidate arms must each show
it (intersection-union test, Berger 1982, Technometrics 24), so that α holds for the whole without a correction.

Harm: the same test the other way round, at every point by itself and at the same α, on the endpoint and on
`resolved`. Each further point can only keep a candidate from being promoted; that needs no correction either.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import UNSET, Struct

from evolve.gate import (
    Decision,
    Endpoint,
    Evidence,
    PairEvidence,
    Pairing,
    Side,
    TaskSample,
    compared_values,
    endpoint_named,
    gain_level,
    loss_level,
    paired_samples,
)

BINARY = "resolved"
_SIDES: tuple[Side, Side] = ("worst", "best")


class Seen(Struct, frozen=True):
    """A measurement behind a row, whatever run took the row over: its identity, and whether this multirun made it."""

    measurement: str
    own: bool


class PointEvidence(Struct, frozen=True, kw_only=True):
    """What a point knows: its verdict's evidence, the endpoint that its policy decides on, its level (null where the
    policy has none), its own decision, and what stands behind each row by the row's digest.
    """

    point: int
    label: str
    decision: Decision
    metric: str
    alpha: float | None
    evidence: Evidence
    seen: Mapping[str, Seen]


class JointArm(Struct, frozen=True, kw_only=True):
    """The combined test of one candidate arm: `pairs` entered it, `wins` and `losses` of them differ; `shared` did not,
    because another point has the same measurement, or it was made before this multirun. `p` is with what is not
    known at its worst, `best` with that at its best.
    """

    arm: str
    pairs: int
    wins: int
    losses: int
    shared: int
    unknown: int
    p: float
    best: float
    gain: bool


class JointPoint(Struct, frozen=True, kw_only=True):
    """What one point says of harm: the smallest p-value of its tests for a loss, and of which endpoint that is."""

    point: int
    label: str
    decision: Decision | None
    harm: bool | None
    p_harm: float | None
    endpoint: str | None
    reason: str | None = None


class JointVerdict(Struct, frozen=True, kw_only=True):
    """The decision on one overlay over all points: `promote` only if no point shows harm and the points together show
    gain, at one `alpha`.
    """

    overlay: str
    idea: str
    decision: Decision
    endpoint: str | None
    alpha: float
    arms: tuple[JointArm, ...]
    points: tuple[JointPoint, ...]
    reasons: tuple[str, ...]


class Question(Struct, frozen=True, kw_only=True):
    """What is judged: an overlay, the points that measured it, and the labels of those that should have and did not."""

    overlay: str
    idea: str
    points: tuple[PointEvidence, ...]
    missing: tuple[tuple[int, str], ...] = ()


DEFAULT_ALPHA = 0.05


def judge_together(question: Question) -> JointVerdict:
    """The joint verdict. The order of points means nothing but for which of two shared measurements is named."""
    points = sorted(question.points, key=lambda each: each.point)
    alpha = min([each.alpha for each in points if each.alpha is not None], default=DEFAULT_ALPHA)
    level = Fraction(str(alpha))
    lacking = [*_lacking(points), *(f"{label}: nothing was decided" for _, label in question.missing)]
    metrics = sorted({each.metric for each in points})
    told = [_harm(each, metrics[0], level) for each in points] if len(metrics) == 1 else []
    arms = tuple(_arms(points, endpoint_named(metrics[0]), level)) if len(metrics) == 1 else ()
    unknown = [
        f"{each.label}: whether it harms hangs on cells that are not known"
        for each in told
        if each.harm is None
    ]
    harmed = [
        f"{each.label}: harm, {each.endpoint} is lower (p = {each.p_harm:.3g})" for each in told if each.harm
    ]
    missing = [
        JointPoint(
            point=number,
            label=label,
            decision=None,
            harm=None,
            p_harm=None,
            endpoint=None,
            reason="nothing was decided",
        )
        for number, label in question.missing
    ]
    decision, reasons = _decide([*lacking, *unknown], harmed, arms, alpha)
    return JointVerdict(
        overlay=question.overlay,
        idea=question.idea,
        decision=decision,
        endpoint=metrics[0] if len(metrics) == 1 else None,
        alpha=alpha,
        arms=arms,
        points=tuple(sorted([*told, *missing], key=lambda each: each.point)),
        reasons=tuple(reasons),
    )


def _decide(
    lacking: Sequence[str], harmed: Sequence[str], arms: Sequence[JointArm], alpha: float
) -> tuple[Decision, list[str]]:
    """Harm that is shown keeps the incumbent whatever else is not known; nothing promotes on missing evidence."""
    tests = [_arm_words(arm, alpha) for arm in arms]
    hanging = [
        f"{arm.arm}: whether it gains hangs on {arm.unknown} pairs that are not known"
        for arm in arms
        if not arm.gain and arm.best <= alpha
    ]
    reasons = [*harmed, *lacking, *hanging, *tests]
    if harmed:
        return "keep_incumbent", reasons
    if lacking or hanging or not arms:
        return "insufficient_evidence", reasons
    if all(arm.gain for arm in arms):
        return "promote", ["no point shows harm", *reasons]
    return "keep_incumbent", ["no point shows harm", *reasons]


def _arm_words(arm: JointArm, alpha: float) -> str:
    shared = f"; {arm.shared} pairs were no measurement of their own" if arm.shared else ""
    unknown = f"; {arm.unknown} of them are not known and count as losses" if arm.unknown else ""
    return (
        f"{arm.arm}: all points together show {'a' if arm.gain else 'no'} gain, p = {arm.p:.3g} at α = {alpha:g} "
        f"({arm.wins} wins, {arm.losses} losses in {arm.pairs} pairs{unknown}{shared})"
    )


def _lacking(points: Sequence[PointEvidence]) -> Iterator[str]:
    """What makes the evidence of points unusable, in sentences."""
    metrics = sorted({each.metric for each in points})
    if len(metrics) > 1:
        yield f"the points are decided on {' and '.join(metrics)}: one verdict needs one endpoint"
    for each in points:
        evidence = each.evidence
        if evidence.stopped is not None:
            yield f"{each.label}: the sweep did not complete ({evidence.stopped})"
        if evidence.looks is not UNSET and len(evidence.looks) > 1:
            yield f"{each.label}: its policy may stop early, so that the joint test would not hold α (promotion.options.looks=1)"
        if evidence.drift is not None:
            yield f"{each.label}: reused rows are not what would be measured now: {evidence.drift}"
        if evidence.model is None:
            yield f"{each.label}: no model is named"
        if not evidence.pairs:
            yield f"{each.label}: no candidate arm was measured"


def _arms(points: Sequence[PointEvidence], endpoint: Endpoint, level: Fraction) -> Iterator[JointArm]:
    """The combined test of each candidate arm; one that a point lacks is tested on the others."""
    names = {(pair.candidate_arm, pair.incumbent_arm) for each in points for pair in each.evidence.pairs}
    for name in sorted(names):
        united, shared = _united(points, endpoint, name)
        values = {side: compared_values(united, endpoint, side) for side in _SIDES}
        p, best = (gain_level(values[side], endpoint) for side in _SIDES)
        yield JointArm(
            arm=name[0],
            pairs=sum(len(each.pairs) for each in united),
            wins=sum(value > 0 for value in values["worst"]),
            losses=sum(value < 0 for value in values["worst"]),
            shared=shared,
            unknown=sum(bool(pair.cells) for each in united for pair in each.pairs),
            p=float(p),
            best=float(best),
            gain=p <= level,
        )


def _united(
    points: Sequence[PointEvidence], endpoint: Endpoint, name: tuple[str, str]
) -> tuple[list[TaskSample], int]:
    """The pairs of all points, each task of a point a sample of its own, without those that are no measurement of this
    multirun or whose rows another pair holds already; and how many these are.
    """
    used: set[str] = set()
    united: list[TaskSample] = []
    shared = 0

    def is_new(behind: Sequence[Seen]) -> bool:
        new = all(each.own and each.measurement not in used for each in behind)
        used.update(each.measurement for each in behind if new)
        return new

    for point in points:
        for pair in point.evidence.pairs:
            if (pair.candidate_arm, pair.incumbent_arm) != name:
                continue
            for each, keep in _told(point, pair, endpoint, is_new):
                shared += len(each.pairs) - len(keep)
                if keep:
                    united.append(TaskSample(task=each.task, critical=each.critical, pairs=keep))
    return united, shared


def _told(
    point: PointEvidence, pair: PairEvidence, endpoint: Endpoint, is_new: Callable[[Sequence[Seen]], bool]
) -> Iterator[tuple[TaskSample, tuple[Pairing, ...]]]:
    """Each task of a pair of arms with those of its pairings that count."""
    rows = {task.task: task for task in pair.tasks}
    for each in paired_samples(pair, endpoint, point.evidence):
        task = rows[each.task]
        sides = [
            {row.repeat: point.seen[row.row] for row in arm.rows}
            for arm in (task.incumbent, task.candidate)
            if arm is not None
        ]
        yield (
            each,
            tuple(
                pairing
                for pairing in each.pairs
                if is_new([side[pairing.repeat] for side in sides if pairing.repeat in side])
            ),
        )


def _harm(point: PointEvidence, metric: str, level: Fraction) -> JointPoint:
    """The gravest sign of a loss at one point; None where unknown cells decide whether there is one."""
    found = [
        (loss_level(compared_values(samples, endpoint, side), endpoint), endpoint.name, side)
        for pair in point.evidence.pairs
        for endpoint in (endpoint_named(name) for name in dict.fromkeys((metric, BINARY)))
        for samples in [paired_samples(pair, endpoint, point.evidence)]
        for side in _SIDES
    ]
    certain = [(p, name) for p, name, side in found if side == "best"]
    possible = [p for p, _, side in found if side == "worst"]
    p, name = min(certain, default=(Fraction(1), metric))
    harm = True if p <= level else None if min(possible, default=Fraction(1)) <= level else False
    return JointPoint(
        point=point.point,
        label=point.label,
        decision=point.decision,
        harm=harm,
        p_harm=float(p),
        endpoint=name,
    )
