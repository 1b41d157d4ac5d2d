"""What works on this machine, and how to get what does not."""

from evolve.doctor.command import doctor_command
from evolve.doctor.model import Diagnosis, Finding

__all__ = ["Diagnosis", "Finding", "doctor_command"]
