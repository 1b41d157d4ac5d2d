"""A configured generation, lived through against a scripted model: what would have failed after paying."""

from evolve.rehearse.command import rehearse_command
from evolve.rehearse.findings import Finding, findings_of
from evolve.rehearse.gestures import GESTURES, Gestures
from evolve.rehearse.script import rehearsal_script

__all__ = ["GESTURES", "Finding", "Gestures", "findings_of", "rehearsal_script", "rehearse_command"]
