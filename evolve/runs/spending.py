"""What a run has spent so far, from its journal of reservations and settlements, also while it is written."""

from pathlib import Path

from bench.spend import Reserved, Settled, read_journal
from evolve.runs.model import SpendState

_PICODOLLARS = 10**12


def read_spend(path: Path) -> SpendState | None:
    """None where there is no journal. RunError if it cannot be read, or is of another version."""
    if not path.exists():
        return None
    entries = read_journal(path)
    settled = {each.id: each for each in entries if isinstance(each, Settled)}
    open_ones = [each for each in entries if isinstance(each, Reserved) and each.id not in settled]
    known = [each.amounts.picodollars for each in settled.values() if "usd" not in each.unknown]
    return SpendState(
        sessions=len(settled),
        cells=sum(each.amounts.cells for each in entries if isinstance(each, Reserved)),
        spent_usd=sum(known) / _PICODOLLARS if len(known) == len(settled) else None,
        open=len(open_ones),
        reserved_usd=sum(each.amounts.picodollars for each in open_ones) / _PICODOLLARS,
    )
