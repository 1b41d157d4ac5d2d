"""The runs of a project: what is there, how far each is, what it takes, and removing old ones."""

from evolve.runs.command import runs_command
from evolve.runs.following import follow
from evolve.runs.model import GenerationState, PrunedRun, PruneReport, RunList, RunState, State
from evolve.runs.pruning import Limits, prune
from evolve.runs.reading import read_run, read_runs

__all__ = [
    "GenerationState",
    "Limits",
    "PruneReport",
    "PrunedRun",
    "RunList",
    "RunState",
    "State",
    "follow",
    "prune",
    "read_run",
    "read_runs",
    "runs_command",
]
