"""What the runs of a campaign have spent together, and that no two of them spend at once."""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.config import BudgetConfig, Config, read_saved_config
from bench.digest import digest_json
from bench.errors import BudgetSpent, RunError, UserError
from bench.line_file import complete_lines
from bench.project import RUNS, RunFolder, list_runs, recall, remember
from bench.spend.journal import JOURNAL, read_journal
from bench.spend.ledger import Caps, Ledger, Limit, limits_of, replay
from bench.spend.model import NOTHING, Amounts, Reserved, Unit, shown
from bench.spend.terms import Terms, campaign_caps

_ROWS = "results.jsonl"
_MOST_NAMED = 5
PRUNED_SPEND = "pruned-spend"


class RunSpend(Struct, frozen=True, kw_only=True):
    """What one run of a campaign has spent; what may still be running in it counts at its ceilings."""

    run: str
    amounts: Amounts


class PrunedSpend(Struct, frozen=True, kw_only=True):
    """What a run that was removed has spent of its campaign, and how many of its sessions do not know their part."""

    campaign: str
    settled: Amounts
    unknown: dict[Unit, int]


class _Named(Struct, frozen=True):
    campaign: str | None


class _Saved(Struct, frozen=True):
    config: _Named


class _Measured(Struct, frozen=True):
    sessions: dict[str, msgspec.Raw] = {}
    reuse: dict[str, Any] | None = None


def has_caps(budget: BudgetConfig) -> bool:
    """Whether something limits the campaign."""
    return campaign_caps(budget) != Caps()


def campaign_runs(
    root: Path, config: Config, terms: Terms, without: str | None = None
) -> tuple[RunSpend, ...]:
    """What each run of the project that names this campaign has spent; nothing is read where nothing limits it.

    A session of unknown cost counts as the most that a session of this run may use.
    """
    if config.campaign is None or not has_caps(config.budget):
        return ()
    there = (
        RunSpend(run=run.id, amounts=_spent(run, terms))
        for run in list_runs(root)
        if run.id != without and _campaign_of(run) == config.campaign
    )
    removed = (
        RunSpend(run=f"{run} (removed)", amounts=_counted(spend.settled, spend.unknown, terms))
        for run, spend in recall(root, PRUNED_SPEND, PrunedSpend)
        if spend.campaign == config.campaign
    )
    return (*removed, *there)


def keep_spend(root: Path, run: RunFolder) -> None:
    """Keep what a run that is about to be removed has spent of its campaign. RunError if that cannot be told."""
    path = run.path / JOURNAL
    campaign = _campaign_of(run) if path.exists() else None
    if campaign is not None:
        ledger = read_ledger(path)
        spent = PrunedSpend(campaign=campaign, settled=ledger.settled, unknown=dict(ledger.unknown))
        remember(root, PRUNED_SPEND, run.id, spent)


def siblings_spent(root: Path, siblings: Sequence[str], terms: Terms) -> Amounts:
    """What the other points of a multirun have spent. RunError if one that spent was removed since."""
    amounts = NOTHING
    for run in siblings:
        folder = RunFolder(root / RUNS / run)
        if not folder.path.is_dir():
            raise RunError(
                f"run {run} of this multirun was removed: nobody can tell what it spent of the shared budget\n"
                "  restore it from a copy, or start again: rows that still hold are reused"
            )
        amounts = amounts.plus(_spent(folder, terms))
    return amounts


def total(runs: Sequence[RunSpend]) -> Amounts:
    """The sum."""
    amounts = NOTHING
    for run in runs:
        amounts = amounts.plus(run.amounts)
    return amounts


def refuse_spent_campaign(config: Config, runs: Sequence[RunSpend]) -> None:
    """BudgetSpent if nothing more may start under one of the campaign's limits; it names the runs that used it."""
    for limit in limits_of(Caps(), campaign_caps(config.budget), total(runs)):
        if limit.before < limit.most:
            continue
        raise BudgetSpent(
            f"the campaign {config.campaign!r} has spent its {limit.key}: {shown(limit.unit, limit.before)} of "
            f"{shown(limit.unit, limit.most)}, by\n{_by(limit, runs)}\n  raise {limit.key}, or name another campaign"
        )


@contextmanager
def hold_campaign(root: Path, config: Config) -> Iterator[None]:
    """Keep other runs of the campaign away while one with a limit is at work: each would count without the other.

    RunError if there is one. Runs without a limit do not disturb each other.
    """
    if config.campaign is None:
        yield
        return
    folder = root / RUNS / "campaigns"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / f"{config.campaign}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise RunError(f"the campaign's lock below {folder} cannot be opened: {error.strerror}") from error
    try:
        _lock(descriptor, config)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, config: Config) -> None:
    shared = fcntl.LOCK_EX if has_caps(config.budget) else fcntl.LOCK_SH
    try:
        fcntl.flock(descriptor, shared | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(
            f"another run of the campaign {config.campaign!r} is at work, and a limit holds for both together\n"
            f"  wait until it has ended, or name another campaign"
        ) from None


def _by(limit: Limit, runs: Sequence[RunSpend]) -> str:
    spenders = sorted(
        (run for run in runs if run.amounts.of(limit.unit)), key=lambda run: -run.amounts.of(limit.unit)
    )
    lines = [
        f"    {run.run}: {shown(limit.unit, run.amounts.of(limit.unit))}" for run in spenders[:_MOST_NAMED]
    ]
    if len(spenders) > _MOST_NAMED:
        lines.append(f"    and {len(spenders) - _MOST_NAMED} more runs")
    return "\n".join(lines)


def _campaign_of(run: RunFolder) -> str | None:
    """The campaign that a run's saved configuration names. RunError for a run that spent and cannot be told apart."""
    path = run.path / "config.json"
    try:
        content = path.read_bytes()
        campaign = msgspec.json.decode(content, type=_Saved).config.campaign
        _refuse_edited(path, content)
    except (OSError, UserError, msgspec.DecodeError, UnicodeDecodeError) as error:
        if not (run.path / JOURNAL).exists():
            return None
        raise RunError(
            f"{path} cannot be relied on, so that nobody can tell whether {run.id} spent this campaign's money: {error}"
        ) from error
    return campaign


def _refuse_edited(path: Path, content: bytes) -> None:
    """ConfigError for values that are not those of the digest beside them; those of another version are."""
    saved = msgspec.json.decode(content)
    if digest_json(saved["config"]) != saved.get("digest"):
        read_saved_config(path)


def _spent(run: RunFolder, terms: Terms) -> Amounts:
    """RunError where the journal lacks sessions that rows were paid with: their money would be spent again."""
    path = run.path / JOURNAL
    known = sum(isinstance(entry, Reserved) for entry in read_journal(path))
    paid = sum(map(_sessions_behind, (run.path / _ROWS, *run.path.glob(f"gen-*/{_ROWS}"))))
    if known < paid:
        raise RunError(
            f"{path} holds {known} sessions, the rows {paid}, so that nobody can tell what {run.id} spent\n"
            "  restore it from a copy; or name another campaign, if what was spent is not to count"
        )
    ledger = read_ledger(run.path / JOURNAL)
    return _counted(ledger.settled, ledger.unknown, terms)


def _sessions_behind(rows: Path) -> int:
    """How many sessions rows were paid with; those that were taken over from an earlier run are not."""
    if not rows.exists():
        return 0
    try:
        found = [msgspec.json.decode(line, type=_Measured) for _, line in complete_lines(rows)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(
            f"{rows} cannot be read, so that nobody can tell what was spent on it: {error}"
        ) from error
    return sum(len(row.sessions) for row in found if row.reuse is None)


def _counted(settled: Amounts, unknown: Mapping[Unit, int], terms: Terms) -> Amounts:
    usd = max(terms.usd or 0, terms.unpriced or 0) * unknown.get("usd", 0)
    tokens = (terms.tokens or 0) * unknown.get("tokens", 0)
    return settled.plus(Amounts(picodollars=usd, tokens=tokens))


def read_ledger(path: Path, limits: Sequence[Limit] = ()) -> Ledger:
    """What a journal adds up to. RunError for one that contradicts itself."""
    try:
        return replay(read_journal(path), limits)
    except ValueError as error:
        raise RunError(f"{path} contradicts itself: {error}\n  restore it from a copy") from error
