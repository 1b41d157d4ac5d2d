"""A project on disk: the embedded starter, and the folders of its runs."""

from bench.project.finding import find_run, split_generation
from bench.project.runs import RUNS, RunFolder, create_run, list_runs, objects_of, removed_if_refused
from bench.project.starter import STARTER_TAG, unpack_starter

__all__ = [
    "RUNS",
    "STARTER_TAG",
    "RunFolder",
    "create_run",
    "find_run",
    "list_runs",
    "objects_of",
    "removed_if_refused",
    "split_generation",
    "unpack_starter",
]
