"""Tasks, hidden oracles, labels, digests; what prepares a suite."""

from bench.suite.model import (
    Asset,
    CommandOracle,
    Label,
    LabelOracle,
    Oracle,
    OracleFile,
    RepositorySource,
    Severity,
    Source,
    Split,
    Suite,
    Task,
    TreeSource,
)

__all__ = [
    "Asset",
    "CommandOracle",
    "Label",
    "LabelOracle",
    "Oracle",
    "OracleFile",
    "RepositorySource",
    "Severity",
    "Source",
    "Split",
    "Suite",
    "Task",
    "TreeSource",
]
