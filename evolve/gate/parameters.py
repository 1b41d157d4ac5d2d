"""The options of the policies that test; none has a default outside conf/promotion."""

from fractions import Fraction
from typing import Annotated, Literal

from msgspec import Meta, Struct

from evolve.gate.guards import Guards
from evolve.gate.spending import as_fraction, release_level

Tier = Literal["search", "release"]
EndpointName = Literal["resolved", "verdict_right", "weighted_f1", "cost_usd", "seconds", "turns", "output"]
Level = Annotated[float, Meta(gt=0, lt=1)]


class TestingParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What `exact` and `anytime` have in common. Only `looks` may be left out: verdicts from before there were any do."""

    endpoint: Annotated[
        EndpointName,
        Meta(
            description="The number that is compared: outcomes (resolved, verdict_right), scores (weighted_f1), or what work takes."
        ),
    ]
    tier: Annotated[
        Tier,
        Meta(
            description="search: the champion may move, on search_alpha; release: on alpha, shared by all release tests of the campaign."
        ),
    ]
    alpha: Annotated[
        Level,
        Meta(description="The chance that a candidate no better than the incumbent is ever released."),
    ]
    search_alpha: Annotated[
        Level, Meta(description="The same for one move of the champion, which ships nothing.")
    ]
    alpha_guard: Annotated[Level, Meta(description="The chance that a guard breaks without any harm.")]
    min_runs: Annotated[
        int, Meta(ge=2, description="Pairs that each task needs; one of a deterministic agent is enough.")
    ]
    target: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="The effect worth finding, in points or as the relative saving: power is told for it.",
        ),
    ]
    guards: Annotated[Guards, Meta(description="What may not get worse meanwhile.")]

    looks: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="How often a sweep is looked at, the end included: after so many equal parts of its repeats.",
        ),
    ] = 1

    def level(self, release_test: int | None) -> Fraction:
        """What one test may spend."""
        if self.tier == "search":
            return as_fraction(self.search_alpha)
        return release_level(as_fraction(self.alpha), release_test or 1)


class ExactParameters(
    TestingParameters, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The options of `exact`."""

    futility: Annotated[
        Level,
        Meta(
            description="Below this conditional power an early look calls the rest futile, and the sweep ends. It never binds the test."
        ),
    ]
    futility_power: Annotated[
        Level,
        Meta(
            description="That reckoning supposes the effect that the whole design would find with this power."
        ),
    ]
