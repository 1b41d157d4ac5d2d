"""Every JSON Schema that is generated from structs: `python -m evolve.schemas schemas` writes them into that folder."""

import sys
from pathlib import Path
from typing import Any

from bench.generated_schema import generated_schema, write_schemas
from bench.results import row_schema
from bench.run import BenchSummary
from bench.scoring import review_schema
from bench.sweep import Plan
from bench.watch import Event
from evolve.apply import apply_schemas
from evolve.certify import Certificate
from evolve.forecast import Forecast
from evolve.gate import promotion_schema
from evolve.replay import Comparison, Replay
from evolve.summary import RunSummary


def generated_schemas() -> dict[str, dict[str, Any]]:
    """The schemas by the name of their file."""
    return {
        "bench-summary": generated_schema(BenchSummary, "bench-summary"),
        "certificate": generated_schema(Certificate, "certificate"),
        "event": generated_schema(Event, "event"),
        "forecast": generated_schema(Forecast, "forecast"),
        "plan": generated_schema(Plan, "plan"),
        "promotion": promotion_schema(),
        "review": review_schema(),
        "row": row_schema(),
        "verdict": generated_schema(Replay, "verdict"),
        "verdict-comparison": generated_schema(Comparison, "verdict-comparison"),
        "run-summary": generated_schema(RunSummary, "run-summary"),
        **apply_schemas(),
    }


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]), generated_schemas())
