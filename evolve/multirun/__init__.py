"""`evolve` over many points: one proposal, one budget, one joint verdict."""

from evolve.multirun.command import many, plan_many, resume_many
from evolve.multirun.joint import (
    JointArm,
    JointPoint,
    JointVerdict,
    PointEvidence,
    Question,
    Seen,
    judge_together,
)
from evolve.multirun.result import EvolveSweep

__all__ = [
    "EvolveSweep",
    "JointArm",
    "JointPoint",
    "JointVerdict",
    "PointEvidence",
    "Question",
    "Seen",
    "judge_together",
    "many",
    "plan_many",
    "resume_many",
]
