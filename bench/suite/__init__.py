"""Tasks, hidden oracles, labels, digests; what prepares a suite."""

from bench.suite.copies import CERTIFICATE, MANIFEST, Hidden, hidden_of, open_oracle, to_leave_out
from bench.suite.digests import TaskDigests, environment_digest, frame_digest, task_digest, task_digests
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
    Derived,
    Environment,
    Label,
    LabelOracle,
    Oracle,
    OracleFile,
    RepositorySource,
    Severity,
    Solutions,
    Source,
    Split,
    Suite,
    Task,
    TreeSource,
)
from bench.suite.packages import packages_specification, prepare_packages
from bench.suite.packages_model import PackagesSpec, PreparedSuite, PreparedTask
from bench.suite.pip import pip_said, require_pip, run_pip
from bench.suite.refs import resolve_commit
from bench.suite.select import Selection, select_tasks
from bench.suite.tree import digest_source

__all__ = [
    "CERTIFICATE",
    "MANIFEST",
    "Asset",
    "CommandOracle",
    "Derived",
    "Document",
    "Entry",
    "Environment",
    "Hidden",
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
    "Solutions",
    "Source",
    "Split",
    "Suite",
    "Task",
    "TaskDigests",
    "TreeSource",
    "as_text",
    "check_path",
    "digest_source",
    "environment_digest",
    "frame_digest",
    "hidden_of",
    "list_entries",
    "load_suite",
    "open_oracle",
    "packages_specification",
    "pip_said",
    "prepare_packages",
    "read_file",
    "read_json",
    "read_yaml",
    "require_pip",
    "resolve_commit",
    "run_pip",
    "select_tasks",
    "shown",
    "task_digest",
    "task_digests",
    "to_leave_out",
]
