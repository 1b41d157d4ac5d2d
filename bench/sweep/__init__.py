"""Plan, schedule, execute."""

from bench.sweep.affording import limits_now, refuse_unaffordable, refuse_unfinishable, shortfalls
from bench.sweep.again import Measured, arms_again, differences, find_cell, open_measured
from bench.sweep.bases import refuse_solved
from bench.sweep.breaker import Breaker
from bench.sweep.costs import Costs, expect_costs
from bench.sweep.errand import Assignment, Messenger, open_messenger, run_errand
from bench.sweep.generation_files import judge_canaries, read_drift, read_reused, read_sealed, write_sealed
from bench.sweep.ground import (
    CASSETTES,
    Ground,
    canonical_skills,
    counting_work,
    make_arms,
    measure_plan,
    open_ground,
    open_workbench,
    seal_plan,
    sweep_on,
)
from bench.sweep.live_files import tools_digest
from bench.sweep.looks import Extent, extent
from bench.sweep.model import (
    Declared,
    Look,
    LookRule,
    Plan,
    Proposed,
    Sealed,
    Stopping,
    with_concurrent,
)
from bench.sweep.modelling import check_model
from bench.sweep.paying import Means, paying_campaign, read_means
from bench.sweep.plan import make_plan, works_on
from bench.sweep.pool import run_ordered
from bench.sweep.reading import read_plan
from bench.sweep.reporting import sweep_report
from bench.sweep.resuming import refuse_changed
from bench.sweep.reusing import with_reuse
from bench.sweep.scratch import open_scratch
from bench.sweep.standing import Standing
from bench.sweep.sweep import SweepResult, run_sweep

__all__ = [
    "CASSETTES",
    "Assignment",
    "Breaker",
    "Costs",
    "Declared",
    "Extent",
    "Ground",
    "Look",
    "LookRule",
    "Means",
    "Measured",
    "Messenger",
    "Plan",
    "Proposed",
    "Sealed",
    "Standing",
    "Stopping",
    "SweepResult",
    "arms_again",
    "canonical_skills",
    "check_model",
    "counting_work",
    "differences",
    "expect_costs",
    "extent",
    "find_cell",
    "judge_canaries",
    "limits_now",
    "make_arms",
    "make_plan",
    "measure_plan",
    "open_ground",
    "open_measured",
    "open_messenger",
    "open_scratch",
    "open_workbench",
    "paying_campaign",
    "read_drift",
    "read_means",
    "read_plan",
    "read_reused",
    "read_sealed",
    "refuse_changed",
    "refuse_solved",
    "refuse_unaffordable",
    "refuse_unfinishable",
    "run_errand",
    "run_ordered",
    "run_sweep",
    "seal_plan",
    "shortfalls",
    "sweep_on",
    "sweep_report",
    "tools_digest",
    "with_concurrent",
    "with_reuse",
    "works_on",
    "write_sealed",
]
