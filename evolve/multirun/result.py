"""What a multirun of `evolve` came to: a joint verdict on each overlay, and what each point decided."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from bench.digest import digest_json
from bench.multirun import Dot, Reached, SweepPoint
from bench.project import RunFolder
from bench.results import Row, latest_attempts, read_rows
from evolve.errors import PromotionError
from evolve.gate import Promotion
from evolve.multirun.joint import JointVerdict, PointEvidence, Question, Seen, judge_together
from evolve.promoted import read_promotions
from evolve.words import SENTENCES

MOST_REASONS = 20


class EvolveSweep(Struct, frozen=True, kw_only=True):
    """`sweep.json` of `evolve -m` (schemas/sweep.schema.json). `joint` is one verdict for each overlay, the first one
    first; `most` is how many points there are before any is excluded or found to be another one, and `points` are
    those that something became of.
    """

    schema_version: int
    sweep: str
    folder: str
    command: str
    most: int
    joint: tuple[JointVerdict, ...]
    points: tuple[SweepPoint, ...]
    dots: tuple[Dot, ...]
    report: str
    picture: str
    at_most: float | None
    usd: float
    code: int


class Judged(Struct, frozen=True):
    """One generation of a point: what was decided, and its rows."""

    point: SweepPoint
    promotion: Promotion
    rows: tuple[Row, ...]


def judged(found: Sequence[Reached]) -> Iterator[Judged]:
    """Every decided generation of every point. PromotionError for a decision that cannot be read."""
    for each in found:
        if each.folder is None:
            continue
        for _, path, promotion in read_promotions(RunFolder(each.folder)):
            if not isinstance(promotion, Promotion):
                raise PromotionError(str(promotion))
            yield Judged(each.point, promotion, read_rows(path.parent / "results.jsonl")[0])


def joint_verdicts(known: Sequence[Judged], points: Sequence[SweepPoint]) -> tuple[JointVerdict, ...]:
    """One verdict for each overlay that a point was decided on, in the order in which they came up."""
    fresh = {_measurement(row) for each in known for row in each.rows if row.reuse is None}
    overlays = list(dict.fromkeys(each.promotion.metadata.overlay for each in known))
    different = [each for each in points if each.same_as is None]
    return tuple(
        judge_together(_question(overlay, known, different, frozenset(fresh))) for overlay in overlays
    )


def with_decisions(points: Sequence[SweepPoint], known: Sequence[Judged]) -> tuple[SweepPoint, ...]:
    """The points with what they decided on the first overlay."""
    first = {each.point.number: each.promotion.decision for each in reversed(known)}
    return tuple(structs.replace(each, decision=first.get(each.number)) for each in points)


def joint_lines(joint: Sequence[JointVerdict]) -> Iterator[str]:
    """The joint verdicts for people."""
    for verdict in joint:
        yield f"joint verdict on idea {verdict.idea!r}: {SENTENCES[verdict.decision]}"
        yield from (f"  - {reason}" for reason in verdict.reasons[:MOST_REASONS])
        if len(verdict.reasons) > MOST_REASONS:
            yield f"  ({len(verdict.reasons) - MOST_REASONS} more reasons in sweep.json)"
        yield ""


def _question(
    overlay: str, known: Sequence[Judged], points: Sequence[SweepPoint], fresh: frozenset[str]
) -> Question:
    about = {each.point.number: each for each in known if each.promotion.metadata.overlay == overlay}
    return Question(
        overlay=overlay,
        idea=next(each.promotion.metadata.idea for each in about.values()),
        points=tuple(_evidence(each, fresh) for _, each in sorted(about.items())),
        missing=tuple((each.number, each.label) for each in points if each.number not in about),
    )


def _evidence(each: Judged, fresh: frozenset[str]) -> PointEvidence:
    verdict = each.promotion.verdict
    alpha = verdict.parameters.get("alpha")
    names = {digest_json(row): _measurement(row) for row in latest_attempts(each.rows)}
    return PointEvidence(
        point=each.point.number,
        label=each.point.label,
        decision=verdict.decision,
        metric=verdict.metric,
        alpha=float(alpha) if isinstance(alpha, int | float) else None,
        evidence=each.promotion.evidence,
        seen={digest: Seen(name, name in fresh) for digest, name in names.items()},
    )


def _measurement(row: Row) -> str:
    """What tells one measurement from another, through any chain of reuse."""
    known = row.identity
    return digest_json([known.agent, known.model, known.effort, *row.key, row.measured_at.isoformat()])
