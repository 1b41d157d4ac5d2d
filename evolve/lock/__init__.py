"""Everything a generation depended on, sealed before its first cell, and compared with what there is today."""

from evolve.lock.command import Located, LockVerified, drifts_since, locate, lock_command
from evolve.lock.drift import drift_line, drifts, drifts_of, observed_drifts
from evolve.lock.file import add_observed, finished, read_lock, write_lock
from evolve.lock.model import LOCK, LOCK_VERSION, Drift, GenerationLock, Kind, Observed, Parts, Sealed
from evolve.lock.now import Place, read_now
from evolve.lock.parts import of_proposer
from evolve.lock.sealing import Parent, cassettes_in, lock_of, models_served, observe, seal_generation

__all__ = [
    "LOCK",
    "LOCK_VERSION",
    "Drift",
    "GenerationLock",
    "Kind",
    "Located",
    "LockVerified",
    "Observed",
    "Parent",
    "Parts",
    "Place",
    "Sealed",
    "add_observed",
    "cassettes_in",
    "drift_line",
    "drifts",
    "drifts_of",
    "drifts_since",
    "finished",
    "locate",
    "lock_command",
    "lock_of",
    "models_served",
    "observe",
    "observed_drifts",
    "of_proposer",
    "read_lock",
    "read_now",
    "seal_generation",
    "write_lock",
]
