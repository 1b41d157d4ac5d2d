"""Guards: what a candidate may not break while it gets better. They break on evidence of harm, never on mere noise.

A guard of an identical candidate breaks with a chance of at most `alpha_guard` by its tests: a difference and its mirror
image are then equally likely, and a margin of zero or more only makes breaking rarer. Sources: Blackwelder 1982 (Controlled
Clinical Trials 3) for tests against a margin; Holm 1979 (Scandinavian Journal of Statistics 6) for several tests at once.
What a deterministic agent does to a task it would do again: there, harm beyond the margin is evidence without a test.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import median
from typing import Annotated

from msgspec import Meta, Struct, structs

from evolve.gate.endpoints import ENDPOINTS, Endpoint
from evolve.gate.flips import flip_test
from evolve.gate.model import TaskEvidence
from evolve.gate.samples import Pairing, Side, TaskSample, kept, mean_units, sample
from evolve.gate.signs import tail
from evolve.gate.spending import as_fraction
from evolve.gate.units import coarsened

SUITE = "the suite"  # sorts and reads like a task, and no task id holds a blank


class Guard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One guard's options; the unit is that of what it looks at."""

    margin: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="How much worse is no harm: a share (resolution: of the pairs that differ, lost minus won; "
            "cost_usd, seconds: relative increase), or a number of false positives per cell.",
        ),
    ]
    cap: Annotated[
        float,
        Meta(ge=0, description="How much worse the median task may get, whatever a test says. Same unit."),
    ]


class Guards(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The guards; null switches one off."""

    resolution: Annotated[
        Guard | None, Meta(description="Resolved cells: of each critical task, and of the suite.")
    ]
    verdict_right: Annotated[Guard | None, Meta(description="Right verdicts of reviews.")]
    blocker_recall: Annotated[Guard | None, Meta(description="Share of blocking labels found.")]
    false_positives: Annotated[Guard | None, Meta(description="Findings on clean controls.")]
    cost_usd: Annotated[Guard | None, Meta(description="Dollars of a cell.")]
    seconds: Annotated[Guard | None, Meta(description="Seconds of a cell's sessions.")]


class GuardSample(Struct, frozen=True, kw_only=True):
    """What a guard looks at: its tasks, and which of them are tested one by one; `certain` if no chance is in them."""

    name: str
    guard: Guard
    endpoint: Endpoint
    samples: tuple[TaskSample, ...]
    single: tuple[TaskSample, ...]
    certain: bool


def guard_samples(
    guards: Guards,
    tasks: Sequence[TaskEvidence],
    repeats: int,
    is_clean: Callable[[TaskEvidence], bool],
    *,
    deterministic: bool,
) -> tuple[GuardSample, ...]:
    """The guards that are on and have something to look at: no row of an agent that is never billed has a price."""
    defects = [task for task in tasks if not is_clean(task)]
    clean = [task for task in tasks if is_clean(task)]
    places: Mapping[str, tuple[str, Guard | None, Sequence[TaskEvidence]]] = {
        "resolution": ("resolved", guards.resolution, tasks),
        "verdict_right": (
            "verdict_right",
            guards.verdict_right,
            _known(tasks, ENDPOINTS["verdict_right"]),
        ),
        "blocker_recall": (
            "blocker_recall",
            guards.blocker_recall,
            _known(defects, ENDPOINTS["blocker_recall"]),
        ),
        "false_positives": (
            "false_positives",
            guards.false_positives,
            _known(clean, ENDPOINTS["false_positives"]),
        ),
        "cost_usd": ("cost_usd", guards.cost_usd, tasks if _known(tasks, ENDPOINTS["cost_usd"]) else []),
        "seconds": ("seconds", guards.seconds, tasks),
    }
    return tuple(
        _guard_sample(
            (name, guard), sample(counted, ENDPOINTS[endpoint], repeats), ENDPOINTS[endpoint], deterministic
        )
        for name, (endpoint, guard, counted) in places.items()
        if guard is not None and counted
    )


def fresh_only(guard: GuardSample, keep: Callable[[Pairing], bool]) -> GuardSample:
    """The same guard over some of the pairs."""
    return structs.replace(guard, samples=kept(guard.samples, keep), single=kept(guard.single, keep))


def breaks(guard: GuardSample, side: Side, level: Fraction) -> tuple[str, ...]:
    """What breaks this guard, in words; nothing if it holds."""
    harms = harm_levels(guard, side, level)
    broken = holm(harms, level)
    return (
        *(
            f"guard {guard.name}: evidence of harm on {where} (p = {float(harms[where]):.3g}, margin {guard.guard.margin:g})"
            for where in broken
        ),
        *(_certain_harm(guard, side) if guard.certain else ()),
        *_over_cap(guard, side),
    )


def harm_levels(guard: GuardSample, side: Side, level: Fraction) -> dict[str, Fraction]:
    """The p-value of "worse than the margin" for each task that is tested by itself, and for the suite; 1 where it
    is above `level` for certain.
    """
    margin = as_fraction(guard.guard.margin)
    levels = {
        each.task: _harm([pair.at(side) for pair in each.pairs], guard.endpoint, margin, level)
        for each in guard.single
        if each.pairs
    }
    return levels | {SUITE: _harm(_suite(guard, side), guard.endpoint, margin, level)}


def holm(levels: Mapping[str, Fraction], level: Fraction) -> tuple[str, ...]:
    """The names that Holm's step-down procedure rejects, smallest p first (Holm 1979)."""
    rejected: list[str] = []
    for place, name in enumerate(sorted(levels, key=lambda each: (levels[each], each))):
        if levels[name] * (len(levels) - place) > level:
            break
        rejected.append(name)
    return tuple(rejected)


def _harm(values: Sequence[int], endpoint: Endpoint, margin: Fraction, level: Fraction) -> Fraction:
    """Binary: the sign test of the lost pairs against a share of (1 + margin)/2; else the flip test of what the
    differences lie below the margin, exact when the candidate's numbers are the incumbent's, worse by the margin.
    """
    if endpoint.kind == "binary":
        lost, differing = sum(value < 0 for value in values), sum(value != 0 for value in values)
        return tail(differing, lost, (1 + margin) / 2)
    shift = int(endpoint.exact_units(margin))
    against = coarsened([-(value + shift) for value in values])
    as_bad = sum(value <= 0 for value in against)  # flipping any set of these does as well
    return Fraction(1) if Fraction(2**as_bad, 2 ** len(against)) > level else flip_test(against)


def _suite(guard: GuardSample, side: Side) -> list[int]:
    """The suite as one sample: every pair of a binary outcome, else the mean of each task."""
    pairs = [[pair.at(side) for pair in each.pairs] for each in guard.samples if each.pairs]
    if guard.endpoint.kind == "binary":
        return [value for values in pairs for value in values]
    return [mean_units(values) for values in pairs]


def _certain_harm(guard: GuardSample, side: Side) -> Iterator[str]:
    """The tasks of an agent without chance that became worse than the margin."""
    margin = guard.endpoint.exact_units(as_fraction(guard.guard.margin))
    for each in guard.single:
        if sum(-pair.at(side) for pair in each.pairs) > margin * len(each.pairs):
            yield f"guard {guard.name}: {each.task} is worse than the margin of {guard.guard.margin:g}"


def _over_cap(guard: GuardSample, side: Side) -> Iterator[str]:
    means = [
        Fraction(sum(pair.at(side) for pair in each.pairs), len(each.pairs))
        for each in guard.samples
        if each.pairs
    ]
    if means and median(means) < -guard.endpoint.exact_units(as_fraction(guard.guard.cap)):
        yield f"guard {guard.name}: the median task is worse than the cap of {guard.guard.cap:g}"


def _guard_sample(
    named: tuple[str, Guard], samples: tuple[TaskSample, ...], endpoint: Endpoint, deterministic: bool
) -> GuardSample:
    """What work takes varies even where what comes out does not. Outcomes are tested one by one on critical tasks only,
    but for right verdicts without chance in them.
    """
    name, guard = named
    certain = deterministic and endpoint.kind != "ratio"
    outcome = name == "resolution" or (name == "verdict_right" and not certain)
    single = tuple(each for each in samples if each.critical) if outcome else samples
    return GuardSample(
        name=name, guard=guard, endpoint=endpoint, samples=samples, single=single, certain=certain
    )


def _known(tasks: Sequence[TaskEvidence], endpoint: Endpoint) -> list[TaskEvidence]:
    """The tasks of which any row has the number: a task without blocking labels has no blocker recall at all."""
    return [
        task
        for task in tasks
        if any(
            endpoint.read(row) is not None
            for arm in (task.incumbent, task.candidate)
            if arm is not None
            for row in arm.rows
        )
    ]
