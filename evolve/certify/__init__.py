"""How often a policy is wrong: enumerated, on the user's own rows, and in worlds where the truth is known."""

from evolve.certify.arms import arm_of, outcome_row
from evolve.certify.enumeration import Design, SizeAt, exact_sizes
from evolve.certify.model import Certificate, Check, Point
from evolve.certify.picture import svg
from evolve.certify.resampling import Measured, measured_pairs, permuted
from evolve.certify.run import certify_command
from evolve.certify.trials import Job, certify
from evolve.certify.worlds import World, draw, evidence_of

__all__ = [
    "Certificate",
    "Check",
    "Design",
    "Job",
    "Measured",
    "Point",
    "SizeAt",
    "World",
    "arm_of",
    "certify",
    "certify_command",
    "draw",
    "evidence_of",
    "exact_sizes",
    "measured_pairs",
    "outcome_row",
    "permuted",
    "svg",
]
