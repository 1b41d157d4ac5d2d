"""A task out of a commit that repaired something: its tests become the hidden oracle, its parent the base."""

from bench.newtask.command import TaskAdded, new_task
from bench.newtask.commit import read_commit, recent_commits, tracked_files
from bench.newtask.model import Asked, Commit, NewTask
from bench.newtask.propose import prepare_project, propose, static_refusals, write_project
from bench.newtask.reasons import refusals
from bench.newtask.writing import suite_files

__all__ = [
    "Asked",
    "Commit",
    "NewTask",
    "TaskAdded",
    "new_task",
    "prepare_project",
    "propose",
    "read_commit",
    "recent_commits",
    "refusals",
    "static_refusals",
    "suite_files",
    "tracked_files",
    "write_project",
]
