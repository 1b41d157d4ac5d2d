"""Takes a promotion over into the working tree, all of it or nothing, and takes it back."""

from evolve.apply.applying import apply_run
from evolve.apply.exchange import exchange_entries
from evolve.apply.folders import Folders
from evolve.apply.model import (
    AppliedFile,
    ApplyRecord,
    ApplySummary,
    Change,
    Exchange,
    FileSummary,
    Leftover,
    Observer,
    Purpose,
    Recovery,
    Step,
    Tools,
)
from evolve.apply.offering import offer_refusal, promoted_overlay
from evolve.apply.place import command_line
from evolve.apply.record import read_records
from evolve.apply.reverting import revert_run
from evolve.apply.run import apply_command
from evolve.apply.schema import apply_schemas
from evolve.apply.transaction import publish

__all__ = [
    "AppliedFile",
    "ApplyRecord",
    "ApplySummary",
    "Change",
    "Exchange",
    "FileSummary",
    "Folders",
    "Leftover",
    "Observer",
    "Purpose",
    "Recovery",
    "Step",
    "Tools",
    "apply_command",
    "apply_run",
    "apply_schemas",
    "command_line",
    "exchange_entries",
    "offer_refusal",
    "promoted_overlay",
    "publish",
    "read_records",
    "revert_run",
]
