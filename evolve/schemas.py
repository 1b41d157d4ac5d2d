"""Every JSON Schema that is generated from structs: `python -m evolve.schemas schemas` writes them into that folder."""

import sys
from pathlib import Path
from typing import Any

from bench.archive import CollectReport, ExportReport, ImportReport, Manifest, StoreReport
from bench.certificate import SuiteCertificate
from bench.config import SweepBlock
from bench.gateway import Script
from bench.generated_schema import generated_schema, write_schemas
from bench.multirun import BenchSweep, MultirunPlan, PointEvent
from bench.newtask import TaskAdded
from bench.project import Holder
from bench.results import row_schema
from bench.reuse import DriftFile
from bench.run import BenchSummary
from bench.scoring import review_schema
from bench.spend import Worked, spend_schema
from bench.sweep import Plan
from bench.watch import Event
from evolve.apply import apply_schemas
from evolve.certify import Certificate
from evolve.cli_reuse import ReuseExplanation
from evolve.desk import AnswerFile
from evolve.doctor import Diagnosis
from evolve.forecast import Forecast
from evolve.gate import promotion_schema
from evolve.init import ProjectMade
from evolve.lock import GenerationLock, LockVerified
from evolve.multirun import EvolveSweep
from evolve.replay import Comparison, Replay
from evolve.reproduce import Recipe, Reproduction, RunDifference
from evolve.runs import PruneReport, RunList, RunState
from evolve.summary import RunSummary


def generated_schemas() -> dict[str, dict[str, Any]]:
    """The schemas by the name of their file."""
    return {
        "bench-sweep": generated_schema(BenchSweep, "bench-sweep"),
        "bench-summary": generated_schema(BenchSummary, "bench-summary"),
        "certificate": generated_schema(Certificate, "certificate"),
        "export-manifest": generated_schema(Manifest, "export-manifest"),
        "event": generated_schema(Event, "event"),
        "forecast": generated_schema(Forecast, "forecast"),
        "proposing-answer": generated_schema(AnswerFile, "proposing-answer"),
        "plan": generated_schema(Plan, "plan"),
        "generation-lock": generated_schema(GenerationLock, "generation-lock"),
        "lock-verified": generated_schema(LockVerified, "lock-verified"),
        "promotion": promotion_schema(),
        "reuse-explanation": generated_schema(ReuseExplanation, "reuse-explanation"),
        "drift": generated_schema(DriftFile, "drift"),
        "recipe": generated_schema(Recipe, "recipe"),
        "reproduction": generated_schema(Reproduction, "reproduction"),
        "run-difference": generated_schema(RunDifference, "run-difference"),
        "review": review_schema(),
        "row": row_schema(),
        "verdict": generated_schema(Replay, "verdict"),
        "verdict-comparison": generated_schema(Comparison, "verdict-comparison"),
        "run-summary": generated_schema(RunSummary, "run-summary"),
        "run-list": generated_schema(RunList, "run-list"),
        "run-lock": generated_schema(Holder, "run-lock"),
        "run-state": generated_schema(RunState, "run-state"),
        "runs-pruned": generated_schema(PruneReport, "runs-pruned"),
        "suite-certificate": generated_schema(SuiteCertificate, "suite-certificate"),
        "task-added": generated_schema(TaskAdded, "task-added"),
        "project-made": generated_schema(ProjectMade, "project-made"),
        "diagnosis": generated_schema(Diagnosis, "diagnosis"),
        "store-collected": generated_schema(CollectReport, "store-collected"),
        "store-export": generated_schema(ExportReport, "store-export"),
        "store-import": generated_schema(ImportReport, "store-import"),
        "store-verified": generated_schema(StoreReport, "store-verified"),
        "spend": spend_schema(),
        "worked": generated_schema(Worked, "worked"),
        "script": generated_schema(Script, "script"),
        "multirun-event": generated_schema(PointEvent, "multirun-event"),
        "multirun-plan": generated_schema(MultirunPlan, "multirun-plan"),
        "sweep": generated_schema(EvolveSweep, "sweep"),
        "sweep-block": generated_schema(SweepBlock, "sweep-block"),
        **apply_schemas(),
    }


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]), generated_schemas())
