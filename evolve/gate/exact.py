"""`exact`: an exact paired test at a level that is shared over looks and release tests (design: docs/gate-exact.md)."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from evolve.gate.judging import Answer
from evolve.gate.model import Policy
from evolve.gate.parameters import ExactParameters
from evolve.gate.power import conditional_power, expected_differing, share_found
from evolve.gate.primary import exact_finding
from evolve.gate.samples import differences
from evolve.gate.spending import as_fraction
from evolve.gate.testing import TestingPolicy
from evolve.gate.thresholds import Reason, options_schema, read_options

NAME = "exact"


class Exact(TestingPolicy):
    """Promotes what an exact test shows to be better, if no guard breaks. Pure, and monotone in success."""

    name = NAME

    def __init__(self, parameters: ExactParameters) -> None:
        super().__init__(parameters, exact_finding, betting=False)
        self._options = parameters

    def ends(self, found: Answer) -> bool:
        """Whether going on is futile, at a look before the last one, even if all that is unknown were won."""
        return not found.best.finding.promote and futility(found, self._options) is not None

    def notes(self, found: Answer) -> Iterator[Reason]:
        """That it is, in words."""
        power = None if found.best.finding.promote else futility(found, self._options)
        if power is not None:
            yield Reason(
                "note",
                f"futile: a candidate with the effect that this design finds with a power of "
                f"{100 * self._options.futility_power:g} % would still pass with a chance of {100 * float(power):.1f} % only",
            )


class ExactFactory:
    """What the entry point `exact` names."""

    options_schema: Mapping[str, Any] = options_schema(ExactParameters)

    def create(self, options: Mapping[str, Any]) -> Policy:
        """The policy with these options; ConfigError names the first that is missing, unknown or out of range."""
        return Exact(read_options(NAME, options, ExactParameters))


EXACT = ExactFactory()


def futility(found: Answer, parameters: ExactParameters) -> Fraction | None:
    """The chance that the rest of the sweep still passes, if that is too small to go on; None if it is not, if
    nothing is left, and for what no sign test compares.
    """
    question = found.question
    if question.endpoint.kind != "binary" or found.worst.finding.look >= len(question.schedule):
        return None
    values = differences(question.samples, "best")
    repeats = max((pair.repeat + 1 for each in question.samples for pair in each.pairs), default=0)
    share, differing = Fraction(repeats, question.schedule[-1]), sum(value != 0 for value in values)
    supposed = share_found(
        expected_differing(differing, share), question.level, as_fraction(parameters.futility_power)
    )
    wins = sum(value > 0 for value in values)
    power = conditional_power(wins, differing, share, question.level, supposed)
    return power if power < as_fraction(parameters.futility) else None
