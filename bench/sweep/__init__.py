"""Plan, schedule, execute."""

from bench.sweep.again import Measured, arms_again, differences, find_cell, open_measured
from bench.sweep.bases import refuse_solved
from bench.sweep.breaker import Breaker
from bench.sweep.generation_files import judge_canaries, read_reused, write_sealed
from bench.sweep.ground import (
    Ground,
    canonical_skills,
    make_arms,
    measure_plan,
    open_ground,
    open_workbench,
    seal_plan,
)
from bench.sweep.model import PLAN_VERSION, Plan, Sealed
from bench.sweep.plan import check_cells, make_plan, works_on
from bench.sweep.pool import run_ordered
from bench.sweep.reporting import sweep_report
from bench.sweep.reusing import with_reuse
from bench.sweep.scratch import open_scratch
from bench.sweep.sweep import SweepResult, run_sweep

__all__ = [
    "PLAN_VERSION",
    "Breaker",
    "Ground",
    "Measured",
    "Plan",
    "Sealed",
    "SweepResult",
    "arms_again",
    "canonical_skills",
    "check_cells",
    "differences",
    "find_cell",
    "judge_canaries",
    "make_arms",
    "make_plan",
    "measure_plan",
    "open_ground",
    "open_measured",
    "open_scratch",
    "open_workbench",
    "read_reused",
    "refuse_solved",
    "run_ordered",
    "run_sweep",
    "seal_plan",
    "sweep_report",
    "with_reuse",
    "works_on",
    "write_sealed",
]
