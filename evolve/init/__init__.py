"""Makes a project of a user's repository, with one task that is known to work."""

from evolve.init.command import ProjectMade, init_command

__all__ = ["ProjectMade", "init_command"]
