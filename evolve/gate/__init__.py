"""Policies, evidence, verdicts."""

from evolve.gate.anytime import ANYTIME, Anytime
from evolve.gate.combining import compared_values, gain_level, loss_level, paired_samples
from evolve.gate.design import Design, Reachability
from evolve.gate.endpoints import Endpoint, endpoint_named
from evolve.gate.evidence import TaskFacts, collect_evidence, digest_rows, with_drift
from evolve.gate.exact import EXACT, Exact
from evolve.gate.looks import Stand
from evolve.gate.mixture import Expected, foreign_faults, unpaired_faults
from evolve.gate.model import (
    ArmEvidence,
    CampaignState,
    Decision,
    Evidence,
    PairEvidence,
    PairVerdict,
    Policy,
    PolicyFactory,
    RowEvidence,
    Statistics,
    TaskEvidence,
    TaskVerdict,
    Verdict,
)
from evolve.gate.policy import load_policy, policy_named
from evolve.gate.samples import Pairing, Side, TaskSample
from evolve.gate.schema import promotion_schema
from evolve.gate.signs import share_interval
from evolve.gate.testing import TestingPolicy, counts_clean, only_searches, spends, tests_release
from evolve.gate.threshold_cost import THRESHOLD_COST, ThresholdCost
from evolve.gate.threshold_review import THRESHOLD_REVIEW, ThresholdReview
from evolve.gate.verdict import (
    PROMOTION_VERSION,
    Promotion,
    PromotionMetadata,
    promotion_document,
    read_promotion,
    recompute,
    write_promotion,
)

__all__ = [
    "ANYTIME",
    "EXACT",
    "PROMOTION_VERSION",
    "THRESHOLD_COST",
    "THRESHOLD_REVIEW",
    "Anytime",
    "ArmEvidence",
    "CampaignState",
    "Decision",
    "Design",
    "Endpoint",
    "Evidence",
    "Exact",
    "Expected",
    "PairEvidence",
    "PairVerdict",
    "Pairing",
    "Policy",
    "PolicyFactory",
    "Promotion",
    "PromotionMetadata",
    "Reachability",
    "RowEvidence",
    "Side",
    "Stand",
    "Statistics",
    "TaskEvidence",
    "TaskFacts",
    "TaskSample",
    "TaskVerdict",
    "TestingPolicy",
    "ThresholdCost",
    "ThresholdReview",
    "Verdict",
    "collect_evidence",
    "compared_values",
    "counts_clean",
    "digest_rows",
    "endpoint_named",
    "foreign_faults",
    "gain_level",
    "load_policy",
    "loss_level",
    "only_searches",
    "paired_samples",
    "policy_named",
    "promotion_document",
    "promotion_schema",
    "read_promotion",
    "recompute",
    "share_interval",
    "spends",
    "tests_release",
    "unpaired_faults",
    "with_drift",
    "write_promotion",
]
