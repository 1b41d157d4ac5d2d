"""Sanitized templates, private working copies, what changed, patches."""

from bench.workspace.boundary import outside_boundary
from bench.workspace.capturing import capture
from bench.workspace.choosing import choose_workspaces
from bench.workspace.once import Once
from bench.workspace.protocol import Change, Entry, Kept, Leaf, Template, WorkingCopy, Workspaces
from bench.workspace.removal import remove_tree
from bench.workspace.snapshot import files_below, snapshot, write_files
from bench.workspace.start import SetupRunner
from bench.workspace.templates import Templates

__all__ = [
    "Change",
    "Entry",
    "Kept",
    "Leaf",
    "Once",
    "SetupRunner",
    "Template",
    "Templates",
    "WorkingCopy",
    "Workspaces",
    "capture",
    "choose_workspaces",
    "files_below",
    "outside_boundary",
    "remove_tree",
    "snapshot",
    "write_files",
]
