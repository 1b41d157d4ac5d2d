"""Sanitized templates, private working copies, what changed, patches."""

from bench.workspace.protocol import Change, Entry, Template, WorkingCopy, Workspaces

__all__ = ["Change", "Entry", "Template", "WorkingCopy", "Workspaces"]
