"""What a test found, in words and numbers: "underpowered" is never worded as "no effect"."""

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

from evolve.gate.endpoints import Endpoint
from evolve.gate.judging import Answer, Question
from evolve.gate.model import Statistics
from evolve.gate.parameters import TestingParameters
from evolve.gate.power import power_given
from evolve.gate.primary import flip_values
from evolve.gate.samples import differences, kept, missing_cells
from evolve.gate.signs import share_interval, smallest_trials
from evolve.gate.spending import as_fraction
from evolve.gate.units import LOG_UNITS

DIGITS = 6
MOST_NAMED = 5


def statistics_of(found: Answer, parameters: TestingParameters, *, betting: bool) -> Statistics:
    """The numbers of a verdict. The effect and its interval are of the known pairs, without correction for looks."""
    question = found.question
    known = kept(question.samples, lambda pair: not pair.cells)
    values = differences(known, "worst")
    wins, losses = sum(value > 0 for value in values), sum(value < 0 for value in values)
    worst, best = (
        _number(found.worst.finding.value, up=not betting),
        _number(found.best.finding.value, up=not betting),
    )
    target = as_fraction(parameters.target)
    power = (
        power_given(wins + losses, len(values), target, question.level)
        if question.endpoint.kind == "binary"
        else None
    )
    return Statistics(
        endpoint=question.endpoint.name,
        unit=question.endpoint.unit,
        pairs=len(values),
        differing=wins + losses,
        wins=wins,
        missing=len(missing_cells(question.samples)),
        level=_number(question.level, up=False),
        spent=_number(found.worst.finding.allowed, up=True),
        look=found.worst.finding.look,
        looks=len(question.schedule),
        p=None if betting else worst,
        e=worst if betting else None,
        worst=worst,
        best=best,
        effect=_told(Fraction(sum(values), max(len(values), 1)), question.endpoint),
        interval=_interval(question.endpoint, values, wins, losses, question.level),
        confidence=round(1 - 2 * float(question.level), DIGITS),
        target=parameters.target,
        power=None if power is None else _number(power, up=False),
        candidates=1,
    )


def finding_words(numbers: Statistics, *, shown: bool) -> str:
    """The one sentence that a decision rests on."""
    unit = f" % less {numbers.endpoint}" if numbers.unit == "percent" else f" {numbers.unit}"
    bounds = numbers.interval
    effect = f"effect {numbers.effect:+.3g}{unit}"
    if bounds is not None:
        effect += f" ({100 * numbers.confidence:.4g} % interval {bounds[0]:+.3g} … {bounds[1]:+.3g})"
    pairs = f"{numbers.differing} of {numbers.pairs} pairs differ, {numbers.wins} for the candidate"
    test = (
        f"p = {numbers.p:.3g}, allowed {numbers.level:.3g}"
        if numbers.e is None
        else f"e = {numbers.e:.4g}, needed {1 / numbers.level:.4g}"
    )
    look = f", look {numbers.look} of {numbers.looks}, spent {numbers.spent:.3g}" if numbers.looks > 1 else ""
    return f"{'shown to be better' if shown else 'not shown to be better'}: {effect}; {pairs}; {test}{look}"


def power_words(numbers: Statistics) -> str:
    """What a verdict that shows nothing leaves open."""
    if numbers.differing == 0:
        return (
            "no pair differs: that is indeterminate, and no proof that the two arms are equally good; "
            f"{_more_pairs(numbers)}"
        )
    if numbers.power is None:
        return (
            "not shown is not absent: how small an effect this many pairs find depends on how much they vary"
        )
    target = f"an effect of {100 * numbers.target:.3g} points"
    if numbers.power < 0.8:  # noqa: PLR2004
        return (
            f"underpowered: {target} would be found with a power of {100 * numbers.power:.0f} % only, so this says "
            f"little against one; {_more_pairs(numbers)}"
        )
    return f"{target} would have been found with a power of {100 * numbers.power:.0f} %"


def cells_words(cells: Sequence[str]) -> str:
    """The first few cells, and how many more there are."""
    more = f" and {len(cells) - MOST_NAMED} more" if len(cells) > MOST_NAMED else ""
    return ", ".join(cells[:MOST_NAMED]) + more


def reachable(question: Question) -> Fraction:
    """The smallest p that the known pairs of this design could have."""
    return Fraction(1, 2 ** len(flip_values(question.samples, question.endpoint, "best")))


def _more_pairs(numbers: Statistics) -> str:
    least = smallest_trials(Fraction(repr(numbers.level)))
    missing = least - numbers.differing
    if missing > 0:
        return (
            f"even if all go to the candidate, {missing} more pairs must differ to reach {numbers.level:.3g}"
        )
    return "more tasks or repeats narrow the interval"


def _interval(
    endpoint: Endpoint, values: Sequence[int], wins: int, losses: int, level: Fraction
) -> tuple[float, float] | None:
    """Of a mean difference of outcomes, from the share of wins (Clopper and Pearson); None for other numbers."""
    if endpoint.kind != "binary" or not wins + losses:
        return None
    low, high = share_interval(wins, losses, level)
    scale = Fraction(100 * (wins + losses), len(values))
    return round(float((2 * low - 1) * scale), 3), round(float((2 * high - 1) * scale), 3)


def _told(mean: Fraction, endpoint: Endpoint) -> float:
    """A mean difference in the endpoint's unit."""
    if endpoint.kind == "ratio":
        return round(_percent(mean), 3)
    return round(float(mean / endpoint.scale) * (1 if endpoint.kind == "count" else 100), 3)


def _percent(mean: Fraction) -> float:
    """A mean of log ratios as percent saved."""
    context = Context(prec=30)
    ratio = context.exp(context.divide(Decimal(-mean.numerator), Decimal(mean.denominator * LOG_UNITS)))
    return 100 * (1 - float(ratio))


def _number(value: Fraction, *, up: bool) -> float:
    """A fraction for people, to nine digits; `up` and down so that nothing looks better than it is."""
    if value == 0:
        return 0.0
    digits = 9
    scaled = value
    shift = 0
    while scaled < 10 ** (digits - 1):
        scaled, shift = scaled * 10, shift + 1
    whole = -(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator
    return float(Fraction(whole, 10**shift))
