"""Removing runs: never one in progress, and none whose promotion nobody took over yet unless it is forced."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from bench.archive import REMOVED
from bench.errors import RunError, UserError
from bench.project import RUNS, RunFolder, claim_run, remove_folder, use_store
from bench.reuse import keep_drift
from bench.spend import keep_spend
from evolve.runs.model import PrunedRun, PruneReport, RunState
from evolve.runs.reading import read_run, read_runs


class Limits(Struct, frozen=True, kw_only=True):
    """Which runs may go: all but the newest `keep`, or those that began before a time; `force` takes promotions, too."""

    keep: int | None = None
    before: datetime | None = None
    force: bool = False


def prune(root: Path, limits: Limits, *, dry_run: bool = False) -> PruneReport:
    """Remove runs. Each is gone from sight in one step, and so never half there."""
    states = read_runs(root).runs
    reasons = keep_reasons(states, limits)
    done = [_one(root, state, reason, limits, dry_run) for state, reason in zip(states, reasons, strict=True)]
    return PruneReport(dry_run=dry_run, runs=tuple(done))


def keep_reasons(states: Sequence[RunState], limits: Limits) -> list[str | None]:
    """Why each run, oldest first, stays; None for those that go. Pure."""
    return [_reason(state, len(states) - index, limits) for index, state in enumerate(states)]


def older_than(now: datetime, days: float) -> datetime:
    """The time that lies so many days back. RunError for a number that is none."""
    try:
        if days < 0:
            raise ValueError
        return now - timedelta(days=days)
    except (ValueError, OverflowError) as error:
        raise RunError(f"--older-than {days} is no number of days that can be counted back from now") from error


def _reason(state: RunState, rank: int, limits: Limits) -> str | None:
    """`rank` 1 is the newest run."""
    if state.state == "running":
        return f"it is in progress ({state.why})"
    if limits.keep is not None and rank <= limits.keep:
        return f"it is one of the newest {limits.keep}"
    if limits.before is not None and (state.started_at is None or state.started_at >= limits.before):
        return "it is not that old" if state.started_at else "its name says no time"
    return None if limits.force else _precious(state)


def _precious(state: RunState) -> str | None:
    if state.unapplied:
        return "its promotion was not applied (--force removes it)"
    if state.state == "refused" and state.command is not None:
        return "it cannot be read, so whether it promoted something is unknown (--force removes it)"
    return None


def _keep(root: Path, run: RunFolder, limits: Limits) -> None:
    """Keep what the project must know of the run once it is gone; by force, it goes if that cannot be read, too."""
    for keep in (keep_drift, keep_spend):
        try:
            keep(root, run)
        except UserError:
            if not limits.force:
                raise


def _one(root: Path, state: RunState, reason: str | None, limits: Limits, dry_run: bool) -> PrunedRun:
    if reason is None and not dry_run:
        reason = _remove(root, RunFolder(Path(state.folder)), limits)
    return PrunedRun(run=state.run, removed=reason is None, why=reason or "", size=state.size)


def _remove(root: Path, run: RunFolder, limits: Limits) -> str | None:
    """Remove it, or say why not: somebody may have begun to work on it since it was looked at, or applied it."""
    if run.path.is_symlink():
        return "it is a link"
    gone = root / RUNS / f"{REMOVED}{run.id}"
    try:
        with use_store(root / RUNS), claim_run(run):
            if read_run(run).unapplied and not limits.force:
                return "its promotion was not applied (--force removes it)"
            _keep(root, run, limits)
            run.path.rename(gone)
            remove_folder(gone)
    except UserError as error:
        return " ".join(str(error).split())
    except OSError as error:
        return f"{error.filename} cannot be removed: {error.strerror}"
    return None
