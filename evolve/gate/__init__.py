"""Policies, evidence, verdicts."""

from evolve.gate.evidence import TaskFacts, collect_evidence, digest_rows, with_drift
from evolve.gate.mixture import Expected, foreign_faults, unpaired_faults
from evolve.gate.model import (
    ArmEvidence,
    Decision,
    Evidence,
    PairEvidence,
    PairVerdict,
    Policy,
    PolicyFactory,
    RowEvidence,
    TaskEvidence,
    TaskVerdict,
    Verdict,
)
from evolve.gate.policy import load_policy, policy_named
from evolve.gate.schema import promotion_schema
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
    "PROMOTION_VERSION",
    "THRESHOLD_COST",
    "THRESHOLD_REVIEW",
    "ArmEvidence",
    "Decision",
    "Evidence",
    "Expected",
    "PairEvidence",
    "PairVerdict",
    "Policy",
    "PolicyFactory",
    "Promotion",
    "PromotionMetadata",
    "RowEvidence",
    "TaskEvidence",
    "TaskFacts",
    "TaskVerdict",
    "ThresholdCost",
    "ThresholdReview",
    "Verdict",
    "collect_evidence",
    "digest_rows",
    "foreign_faults",
    "load_policy",
    "policy_named",
    "promotion_document",
    "promotion_schema",
    "read_promotion",
    "recompute",
    "unpaired_faults",
    "with_drift",
    "write_promotion",
]
