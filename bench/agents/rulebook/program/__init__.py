"""The program of the built-in agent: its own process in the sandbox, standard library only, nothing else of this project."""

from .session import main

__all__ = ["main"]
