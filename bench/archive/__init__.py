"""What runs leave in the object store: verified, collected, and moved from one project to another."""

from bench.archive.collect import REMOVED, STAGING, collect_garbage
from bench.archive.export import export_run
from bench.archive.facts import ROWS, CellId, RowFacts, read_facts, row_facts, row_files
from bench.archive.importing import MOST, import_run
from bench.archive.manifest import Manifest
from bench.archive.model import (
    BrokenObject,
    CollectReport,
    ExportReport,
    ImportReport,
    StoreReport,
    UnreadableRun,
)
from bench.archive.references import artifacts_of, files_of
from bench.archive.verify import verify_store
from bench.archive.words import collect_lines, export_lines, import_lines, size_text, verify_lines

__all__ = [
    "MOST",
    "REMOVED",
    "ROWS",
    "STAGING",
    "BrokenObject",
    "CellId",
    "CollectReport",
    "ExportReport",
    "ImportReport",
    "Manifest",
    "RowFacts",
    "StoreReport",
    "UnreadableRun",
    "artifacts_of",
    "collect_garbage",
    "collect_lines",
    "export_lines",
    "export_run",
    "files_of",
    "import_lines",
    "import_run",
    "read_facts",
    "row_facts",
    "row_files",
    "size_text",
    "verify_lines",
    "verify_store",
]
