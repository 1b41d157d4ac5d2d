"""The row, the object store, aggregation, health, reports."""

from bench.results.aggregate import (
    Aggregate,
    aggregate,
    by_cell,
    known_mean,
    known_median,
    latest_attempts,
)
from bench.results.health import ArmHealth, State, StopCause, exit_code, health
from bench.results.report import Report, ReportSpend, ReportVerdict, SpendLine, render_report
from bench.results.row import (
    KINDS_OF_STATUS,
    SCHEMA_VERSION,
    Artifact,
    ChangeSummary,
    Identity,
    Kind,
    Outcome,
    Provenance,
    Reused,
    Row,
    Status,
    Timings,
    reuse_fields,
    reuse_key,
)
from bench.results.rows import RowFile, read_rows
from bench.results.savings import Saving, median_saving, percent_saved
from bench.results.schema import row_schema
from bench.results.store import Damage, ObjectStore

__all__ = [
    "KINDS_OF_STATUS",
    "SCHEMA_VERSION",
    "Aggregate",
    "ArmHealth",
    "Artifact",
    "ChangeSummary",
    "Damage",
    "Identity",
    "Kind",
    "ObjectStore",
    "Outcome",
    "Provenance",
    "Report",
    "ReportSpend",
    "ReportVerdict",
    "Reused",
    "Row",
    "RowFile",
    "Saving",
    "SpendLine",
    "State",
    "Status",
    "StopCause",
    "Timings",
    "aggregate",
    "by_cell",
    "exit_code",
    "health",
    "known_mean",
    "known_median",
    "latest_attempts",
    "median_saving",
    "percent_saved",
    "read_rows",
    "render_report",
    "reuse_fields",
    "reuse_key",
    "row_schema",
]
