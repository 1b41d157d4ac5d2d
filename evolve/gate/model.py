"""What a policy is given and what it says, as data. `promotion.json` embeds both."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from msgspec import UNSET, Struct, UnsetType

from bench.results import Aggregate
from bench.scoring import ReviewScore

Decision = Literal["promote", "keep_incumbent", "insufficient_evidence"]
TaskEffect = Literal["better", "same", "worse", "unknown"]


class RowEvidence(Struct, frozen=True, kw_only=True):
    """One measured row: its digest, its repeat, whether it was measured in this sweep, and what came out."""

    row: str
    repeat: int
    fresh: bool
    resolved: bool
    skill_invoked: bool | None
    score: ReviewScore | None
    cost_usd: float | None
    turns: int | None
    seconds: float
    output: int | None


class ArmEvidence(Struct, frozen=True, kw_only=True):
    """One arm on one task: the aggregate over its measured rows, and those rows."""

    aggregate: Aggregate
    rows: tuple[RowEvidence, ...]


class TaskEvidence(Struct, frozen=True, kw_only=True):
    """One task of a pair of arms; null where an arm has no row at all."""

    task: str
    task_class: str
    split: str
    critical: bool
    incumbent: ArmEvidence | None
    candidate: ArmEvidence | None


class PairEvidence(Struct, frozen=True, kw_only=True):
    """A candidate arm beside its incumbent, over the tasks in id order."""

    incumbent_arm: str
    candidate_arm: str
    tasks: tuple[TaskEvidence, ...]


class CampaignState(Struct, frozen=True, kw_only=True):
    """What a release test may know of its campaign: which test this is (from 1), and the digest of the entry that
    reserved it, the head of the chain at that time.
    """

    name: str
    release_test: int
    head: str


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A policy's whole input. `stopped` is the cause of an incomplete sweep; `model` names what was measured
    (null: nothing pinned); `deterministic` agents are measured once per cell; `drift` is what the sweep's canaries
    showed, where reused rows are among these. `looks` are the numbers of repeats after which the plan allows a look,
    the last one all of them; unset where it looks only at the end. An agent that does not call a model has no prices.
    """

    schema_version: int
    model: str | None
    deterministic: bool
    stopped: str | None
    split: str
    pairs: tuple[PairEvidence, ...]
    drift: str | None = None
    calls_model: bool = True
    looks: tuple[int, ...] | UnsetType = UNSET
    campaign: CampaignState | UnsetType = UNSET

    def sources(self) -> tuple[int, int]:
        """How many of the rows were measured in this sweep, and how many are reused."""
        tasks = [task for pair in self.pairs for task in pair.tasks]
        arms = [arm for task in tasks for arm in (task.incumbent, task.candidate) if arm is not None]
        fresh = [row.fresh for arm in arms for row in arm.rows]
        return (sum(fresh), len(fresh) - sum(fresh))


class TaskVerdict(Struct, frozen=True, kw_only=True):
    """One row of a verdict's table: the ranked numbers of both arms and what the policy saw in them.

    `change` is from incumbent to candidate, in what the verdict's `change_as` says. `…_resolved` are cells
    (resolved, measured), null where the policy does not count them; `ungated` is why a task decides nothing.
    """

    task: str
    task_class: str
    split: str
    incumbent: float | None
    candidate: float | None
    change: float | None
    effect: TaskEffect
    reasons: tuple[str, ...]
    incumbent_resolved: tuple[int, int] | None = None
    candidate_resolved: tuple[int, int] | None = None
    ungated: str | None = None


class Statistics(Struct, frozen=True, kw_only=True):
    """What a test says. `pairs` were compared, `differing` of them differ, `wins` in favour of the candidate.

    `level` is what this test may spend, `spent` what its looks up to now did (the exact size so far), `p` the
    p-value of all pairs at once (null where a policy has an e-value). `effect` is in `unit`, with an interval of
    `confidence`; `power` is that of finding `target` with as many differing pairs, null where it is not known.
    `worst` and `best` are p (or e) with every missing pair at its worst and at its best for the candidate.
    """

    endpoint: str
    unit: str
    pairs: int
    differing: int
    wins: int
    missing: int
    level: float
    spent: float
    look: int
    looks: int
    p: float | None
    e: float | None
    worst: float
    best: float
    effect: float
    interval: tuple[float, float] | None
    confidence: float
    target: float
    power: float | None
    candidates: int


class PairVerdict(Struct, frozen=True, kw_only=True):
    """The decision on one candidate arm, every reason for it, and the table that it rests on.

    `median_change` is over the tasks that are gated, null where a policy does not rank by it. `statistics` are
    those of a policy that tests.
    """

    incumbent_arm: str
    candidate_arm: str
    decision: Decision
    reasons: tuple[str, ...]
    tasks: tuple[TaskVerdict, ...]
    means: Mapping[
        str, tuple[float | None, float | None]
    ]  # split or "all" -> ranked mean of incumbent, candidate
    median_change: float | None = None
    statistics: Statistics | UnsetType = UNSET


class Verdict(Struct, frozen=True, kw_only=True):
    """The decision over all candidate arms; `promote` only if every one of them says so.

    `change_as` says what a change in a table is: the difference of two numbers, or percent of the incumbent's.
    """

    decision: Decision
    reasons: tuple[str, ...]
    policy: str
    parameters: Mapping[str, Any]
    metric: str
    pairs: tuple[PairVerdict, ...]
    change_as: Literal["difference", "percent"] = "difference"


class Policy(Protocol):
    """A gate's rule set. Pure: the same evidence gives the same verdict, in any order of its parts."""

    name: str
    metric: str
    pairs_repeats: bool  # compares the arms repeat by repeat: then both need the same ones

    def decide(self, evidence: Evidence) -> Verdict:
        """The verdict on this evidence."""
        ...

    def detects(self, tasks: int, repeats: int) -> str:
        """What a design of this many tasks with a defect and repeats can find, in a sentence for the forecast."""
        ...


class PolicyFactory(Protocol):
    """What an entry point of `incumbent.policies` names."""

    options_schema: Mapping[str, Any]

    def create(self, options: Mapping[str, Any]) -> Policy:
        """The policy with these parameters."""
        ...
