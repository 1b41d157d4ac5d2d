"""`anytime`: an e-value that may be looked at after every row, at the price of some power."""

from collections.abc import Mapping
from typing import Any

from evolve.gate.design import Reachability
from evolve.gate.model import Policy
from evolve.gate.parameters import TestingParameters
from evolve.gate.primary import betting_finding
from evolve.gate.testing import TestingPolicy
from evolve.gate.thresholds import options_schema, read_options

NAME = "anytime"


class Anytime(TestingPolicy):
    """Promotes once the e-value reaches one over the level, if no guard breaks. Pure, and monotone in success."""

    name = NAME

    def __init__(self, parameters: TestingParameters) -> None:
        super().__init__(parameters, betting_finding, betting=True)

    def told(self, found: Reachability) -> str:
        """What the exact test of the same design would find: the e-value finds somewhat less."""
        words = super().told(found)
        return words if found.exploratory else f"somewhat less than the exact test at the end: {words}"


class AnytimeFactory:
    """What the entry point `anytime` names."""

    options_schema: Mapping[str, Any] = options_schema(TestingParameters)

    def create(self, options: Mapping[str, Any]) -> Policy:
        """The policy with these options; ConfigError names the first that is missing, unknown or out of range."""
        return Anytime(read_options(NAME, options, TestingParameters))


ANYTIME = AnytimeFactory()
