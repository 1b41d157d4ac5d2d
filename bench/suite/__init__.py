"""Tasks, hidden oracles, labels, digests; what prepares a suite."""

from bench.suite.digests import TaskDigests, task_digests
from bench.suite.documents import Document, read_json, read_yaml
from bench.suite.files import (
    Entry,
    Refused,
    as_text,
    check_path,
    list_entries,
    read_file,
    shown,
)
from bench.suite.load import load_suite
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
from bench.suite.packages import packages_specification, prepare_packages
from bench.suite.packages_model import PackagesSpec, PreparedSuite, PreparedTask
from bench.suite.select import Selection, select_tasks

__all__ = [
    "Asset",
    "CommandOracle",
    "Document",
    "Entry",
    "Label",
    "LabelOracle",
    "Oracle",
    "OracleFile",
    "PackagesSpec",
    "PreparedSuite",
    "PreparedTask",
    "Refused",
    "RepositorySource",
    "Selection",
    "Severity",
    "Source",
    "Split",
    "Suite",
    "Task",
    "TaskDigests",
    "TreeSource",
    "as_text",
    "check_path",
    "list_entries",
    "load_suite",
    "packages_specification",
    "prepare_packages",
    "read_file",
    "read_json",
    "read_yaml",
    "select_tasks",
    "shown",
    "task_digests",
]
