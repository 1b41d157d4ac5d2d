"""What `evolve verdict` says, as data: schemas/verdict.schema.json."""

from msgspec import Struct

from evolve.gate import Decision, Verdict

REPLAY_VERSION = 1


class Influence(Struct, frozen=True, kw_only=True):
    """What one task has to do with the decision.

    `without` is the decision if it were not there. `cells` is how few of the candidate's cells of this task would have
    to come out the other way round to change the decision, and `then` what it would be; null if no number would.
    """

    task: str
    without: Decision
    flips: bool
    cells: int | None
    then: Decision | None


class Replay(Struct, frozen=True, kw_only=True):
    """A verdict reached again from the stored evidence of a generation. `again` says by what: the policy that decided
    then, whose verdict is equal byte for byte, or another one, which is asked what it would have said.
    """

    schema_version: int
    run: str
    generation: int
    again: bool
    digest: str
    decided: Decision
    verdict: Verdict
    influences: tuple[Influence, ...]


class Difference(Struct, frozen=True, kw_only=True):
    """One thing that two verdicts say differently."""

    what: str
    first: str
    second: str


class Comparison(Struct, frozen=True, kw_only=True):
    """Two verdicts beside each other; `evidence` is whether both were reached from the same."""

    schema_version: int
    first: str
    second: str
    evidence: bool
    differences: tuple[Difference, ...]
