"""The row, the object store, aggregation, health, reports."""

from bench.results.aggregate import Aggregate
from bench.results.row import (
    KINDS_OF_STATUS,
    SCHEMA_VERSION,
    Artifact,
    ChangeSummary,
    Identity,
    Kind,
    Outcome,
    Provenance,
    Row,
    Status,
    Timings,
)

__all__ = [
    "KINDS_OF_STATUS",
    "SCHEMA_VERSION",
    "Aggregate",
    "Artifact",
    "ChangeSummary",
    "Identity",
    "Kind",
    "Outcome",
    "Provenance",
    "Row",
    "Status",
    "Timings",
]
