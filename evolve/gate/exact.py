"""`exact`: an exact paired test at a level that is shared over looks and release tests (design: docs/gate-exact.md)."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from evolve.gate.judging import Answer
from evolve.gate.model import Policy
from evolve.gate.parameters import ExactParameters
from evolve.gate.power import conditional_power
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

    def notes(self, found: Answer) -> Iterator[Reason]:
        """Whether going on is futile, at a look before the last one."""
        question, finding = found.question, found.worst.finding
        if finding.promote or finding.look >= len(question.schedule):
            return
        power = futility_power(found, self._options)
        if power < as_fraction(self._options.futility):
            yield Reason(
                "note",
                f"futile: a candidate that wins {100 * self._options.futility_win_share:g} % of the differing pairs "
                f"would still pass with a chance of {100 * float(power):.1f} % only",
            )


class ExactFactory:
    """What the entry point `exact` names."""

    options_schema: Mapping[str, Any] = options_schema(ExactParameters)

    def create(self, options: Mapping[str, Any]) -> Policy:
        """The policy with these options; ConfigError names the first that is missing, unknown or out of range."""
        return Exact(read_options(NAME, options, ExactParameters))


EXACT = ExactFactory()


def futility_power(found: Answer, parameters: ExactParameters) -> Fraction:
    """The chance that the rest of the sweep still passes, for the win share that `futility_win_share` supposes."""
    question = found.question
    values = differences(question.samples, "worst")
    repeats = max((pair.repeat + 1 for each in question.samples for pair in each.pairs), default=0)
    return conditional_power(
        sum(value > 0 for value in values),
        sum(value != 0 for value in values),
        Fraction(repeats, question.schedule[-1]),
        question.level,
        as_fraction(parameters.futility_win_share),
    )
