"""A project on disk: the embedded starter, and the folders of its runs."""

from bench.project.finding import find_project, find_run, split_generation
from bench.project.lock import (
    LOCK,
    Hold,
    Holder,
    claim_run,
    hold_run,
    keep_store,
    own_store,
    read_holder,
    refuse_in_progress,
    start_run,
    use_store,
)
from bench.project.remembered import recall, remember
from bench.project.runs import (
    RUNS,
    RunFolder,
    create_run,
    list_runs,
    objects_of,
    remove_folder,
    removed_if_refused,
    run_folder,
)
from bench.project.starter import STARTER_TAG, unpack_starter

__all__ = [
    "LOCK",
    "RUNS",
    "STARTER_TAG",
    "Hold",
    "Holder",
    "RunFolder",
    "claim_run",
    "create_run",
    "find_project",
    "find_run",
    "hold_run",
    "keep_store",
    "list_runs",
    "objects_of",
    "own_store",
    "read_holder",
    "recall",
    "refuse_in_progress",
    "remember",
    "remove_folder",
    "removed_if_refused",
    "run_folder",
    "split_generation",
    "start_run",
    "unpack_starter",
    "use_store",
]
